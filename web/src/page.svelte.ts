// The state of the page, and every way to change it. Components read it and call its methods.
import { Client } from "./engine/client";
import type { Expansion, MatrixView, ProblemFile, Solved, Tensor, View } from "./engine/types";
import { decodeLink, encodeLink } from "./lib/link";
import { findMatrix, samePlace, type Entry } from "./lib/places";
import { readState, type LinkState, type Mode } from "./lib/state";

export interface Settings {
  digits: number;
  theme: "system" | "light" | "dark";
  speed: number; // entries a second while playing
}

export type Dialog = "help" | "settings" | "share" | "new";
// A problem as an object that was edited here, or as the text of a file.
export type Source = ProblemFile | string;

const LONGEST_LINK = 200_000; // characters; mail programs and servers cut longer ones

// A problem that was edited here has no lines that anyone could look up.
const withoutLine = (error: unknown) => message(error).replace(/ \(line \d+\)$/, "");

const isOf = ({ expansion: e }: Expansion, entry: Entry) =>
  samePlace(e, entry) && e.row === entry.row && e.col === entry.col;

export const message = (error: unknown) => (error instanceof Error ? error.message : String(error));

class Page {
  readonly engine = new Client();

  source = $state.raw<Source>({}); // the problem as it was given or last edited
  solved = $state.raw<Solved | null>(null); // the last result
  error = $state<string | null>(null); // what went wrong last
  stale = $state(false); // the result is not that of what was entered last
  notice = $state(""); // what the live region says

  mode = $state<Mode>("explore");
  dialog = $state<Dialog | null>(null);
  step = $state("S");
  batch = $state(0);
  head = $state(0);
  entry = $state.raw<Entry | null>(null);
  expansion = $state.raw<Expansion | null>(null); // of the entry
  chosenView = $state<View | null>(null);
  naive = $state(false);
  playing = $state(false);
  pinned = $state.raw<number[]>([]); // heads shown as A, B, A−B
  settings = $state<Settings>({ digits: 4, theme: "system", speed: 2 });

  written = $state.raw<Record<string, string>>({}); // check mode, by "id/batch/head/row/col"
  solution = $state.raw<string | null>(null); // check mode: a solution file

  otherSource = $state.raw<Source | null>(null); // compare mode: the other run
  other = $state.raw<Solved | null>(null);

  long = $state.raw<(Tensor & { from: string })[] | null>(null); // arrays of a long input

  private edits = 0;
  private linkTimer = 0;
  private playTimer = 0;

  fail(error: unknown, { stale = false } = {}) {
    this.error = message(error);
    this.stale = stale && this.solved !== null;
  }

  get stepIndex() {
    return this.solved?.steps.findIndex((step) => step.id === this.step) ?? -1;
  }

  // An output row is best seen as a mean of value rows; everything else entry by entry.
  get view(): View {
    return this.chosenView ?? (this.step === "O" ? "row" : "entry");
  }

  get current(): MatrixView | undefined {
    return this.solved ? findMatrix(this.solved, this.step, this.batch, this.head) : undefined;
  }

  // The problem that the editors show and change; null when it is too large for that.
  get editable(): ProblemFile | null {
    return typeof this.source === "string" ? null : this.source;
  }

  // ------------------------------------------------------------------------------- the problem

  // `echo`: ask for the problem as an object to edit, in the one form that the editors know.
  private async solve(slot: "main" | "other", source: Source, echo = true): Promise<Solved> {
    const problem = typeof source === "string" ? source : JSON.stringify(source);
    const entry = slot === "main" && this.entry ? { entry: this.entry } : {};
    return this.engine.call<Solved>({ do: "solve", slot, problem, echo, digits: this.settings.digits, ...entry });
  }

  // Computes a problem that the editors changed and, if that works, makes it a step of the history.
  async edit(source: ProblemFile): Promise<boolean> {
    return this.show(source, { echo: false });
  }

  // What is on screen stays, marked as out of date, until there is a new result.
  private async show(source: Source, { keep = false, echo = true } = {}): Promise<boolean> {
    const edit = ++this.edits;
    if (typeof source !== "string") this.source = source;
    try {
      const solved = await this.solve("main", source, echo);
      if (edit !== this.edits) return false; // a newer edit is on its way
      if (!echo && typeof source !== "string") solved.problem = source;
      this.solved = solved;
      this.source = solved.problem ?? source;
      this.error = null;
      this.stale = false;
      this.settle();
      if (!keep) await this.remember(true);
      return true;
    } catch (error) {
      if (edit === this.edits) this.fail(typeof source === "string" ? error : withoutLine(error), { stale: true });
      return false;
    }
  }

  // What the page begins with; there is nothing to go back to.
  async begin(source: Source): Promise<boolean> {
    return this.show(source, { keep: true });
  }

  // A new problem altogether: begins at the scores, with nothing written or pinned.
  async open(source: Source): Promise<boolean> {
    this.long = null;
    this.stopPlaying();
    const before = [this.step, this.entry, this.batch, this.head] as const;
    this.step = "S";
    this.entry = null;
    this.batch = this.head = 0;
    const opened = await this.show(source);
    if (opened) {
      this.chosenView = null;
      this.written = {};
      this.solution = null;
      this.pinned = [];
    } else [this.step, this.entry, this.batch, this.head] = before;
    return opened;
  }

  // Back to the last result that was valid, and its inputs.
  dismiss() {
    this.error = null;
    this.stale = false;
    if (this.solved?.problem) this.source = this.solved.problem;
  }

  // The same problem with other settings.
  async recompute() {
    if (this.otherSource) this.other = await this.solve("other", this.otherSource);
    await this.show(this.source, { keep: true });
  }

  // Makes step, head and entry exist in the problem at hand.
  private settle() {
    const { steps, sizes } = this.solved!;
    if (!steps.some((step) => step.id === this.step))
      this.step = steps.some((step) => step.id === "S") ? "S" : steps[0]!.id;
    this.batch = Math.min(this.batch, sizes.batch - 1);
    this.head = Math.min(this.head, sizes.heads - 1);
    this.pinned = this.pinned.filter((head) => head < sizes.heads);
    const matrix = this.current!;
    const at = this.entry ?? { row: 1, col: matrix.cols - 1 };
    this.select(matrix, at.row, at.col);
  }

  // ------------------------------------------------------------------------------- walking

  goTo(id: string) {
    this.step = id;
    const matrix = this.current;
    if (!matrix) return;
    this.select(matrix, this.entry?.row ?? 0, this.entry?.col ?? 0);
    this.notice = `Step ${this.solved!.steps[this.stepIndex]?.title ?? id}`;
  }

  walk(by: number) {
    const steps = this.solved?.steps ?? [];
    const next = steps[Math.min(Math.max(this.stepIndex + by, 0), steps.length - 1)];
    if (next && next.id !== this.step) this.goTo(next.id);
  }

  select(matrix: MatrixView, row: number, col: number) {
    const { id, batch, head, rows, cols, batches } = matrix;
    if (batches[1] - batches[0] === 1) this.batch = batch;
    this.entry = { id, batch, head, row: Math.min(row, rows - 1), col: Math.min(col, cols - 1) };
    void this.expand();
    void this.remember(false);
  }

  setView(view: View) {
    this.chosenView = view;
    this.notice = `${view} view`;
    void this.remember(false);
  }

  setMode(mode: Mode) {
    this.mode = mode;
    this.stopPlaying();
    void this.remember(false);
  }

  private async expand() {
    const entry = this.entry;
    const sent = this.solved?.expansion; // with the result itself
    if (entry && sent && isOf(sent, entry)) {
      this.expansion = sent;
      return;
    }
    try {
      const expansion = await this.engine.call<Expansion>({ do: "expand", slot: "main", ...entry });
      if (entry === this.entry) this.expansion = expansion;
    } catch (error) {
      this.notice = message(error);
    }
  }

  // Playing goes through the entries of a step, or through its rows where there are many, and on
  // to the next step; it ends at the last.
  togglePlay() {
    if (this.playing) return this.stopPlaying();
    this.playing = true;
    const tick = () => {
      if (!this.advance()) return this.stopPlaying();
      this.playTimer = window.setTimeout(tick, 1000 / this.settings.speed);
    };
    this.playTimer = window.setTimeout(tick, 1000 / this.settings.speed);
  }

  stopPlaying() {
    clearTimeout(this.playTimer);
    this.playing = false;
  }

  private advance(): boolean {
    const matrix = this.current;
    if (!matrix || !this.entry) return false;
    const byRow = this.view === "row" || matrix.rows * matrix.cols > 36;
    const { row, col } = this.entry.id === matrix.id ? this.entry : { row: -1, col: matrix.cols - 1 };
    if (!byRow && col + 1 < matrix.cols) this.select(matrix, row, col + 1);
    else if (row + 1 < matrix.rows) this.select(matrix, row + 1, byRow ? col : 0);
    else if (this.stepIndex + 1 < this.solved!.steps.length) {
      this.walk(1);
      this.select(this.current!, 0, 0);
    } else return false;
    return true;
  }

  // ------------------------------------------------------------------------------- links

  private state(): LinkState {
    return {
      problem: this.source,
      step: this.step,
      batch: this.batch,
      head: this.head,
      entry: this.entry,
      view: this.chosenView,
      mode: this.mode,
      written: this.written,
      other: this.otherSource,
    };
  }

  // Keeps the address in step with the page: a new entry of the history for every change of the
  // problem, so that Back undoes it; walking about only renews the last one.
  async remember(push: boolean) {
    clearTimeout(this.linkTimer);
    if (push) return this.writeLink(true);
    this.linkTimer = window.setTimeout(() => void this.writeLink(false), 250);
  }

  private async writeLink(push: boolean) {
    if (this.error !== null || this.long) return;
    const link = await encodeLink(this.state());
    const address = link.length > LONGEST_LINK ? "#" : link;
    if (push && address !== location.hash) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
  }

  // The link to what is on screen, or null where it would be too long.
  async link(): Promise<string | null> {
    const fragment = await encodeLink(this.state());
    return fragment.length > LONGEST_LINK ? null : location.href.replace(/#.*$/, "") + fragment;
  }

  // What the fragment of the address says, if anything.
  async restore(fragment: string): Promise<boolean> {
    try {
      const raw = await decodeLink(fragment);
      if (raw === null) return false;
      const { problem, other, view, ...rest } = readState(raw);
      this.stopPlaying();
      Object.assign(this, rest);
      this.chosenView = view;
      if (other !== null) await this.compareWith(other);
      return await this.show(problem, { keep: true });
    } catch (error) {
      this.fail(error);
      return false;
    }
  }

  // ------------------------------------------------------------------------------- check, compare, long

  setWritten(key: string, text: string) {
    const { [key]: _, ...rest } = this.written;
    this.written = text.trim() === "" ? rest : { ...rest, [key]: text.trim() };
    this.solution = null;
    void this.remember(false);
  }

  openSolution(text: string) {
    this.solution = text;
    this.written = {};
    this.setMode("check");
  }

  async compareWith(source: Source): Promise<boolean> {
    try {
      this.other = await this.solve("other", source);
      this.otherSource = this.other.problem ?? source;
      void this.remember(false);
      return true;
    } catch (error) {
      this.fail(error);
      return false;
    }
  }

  openLong(tensors: (Tensor & { from: string })[]) {
    this.stopPlaying();
    this.dismiss();
    this.long = tensors;
  }
}

export const page = new Page();
