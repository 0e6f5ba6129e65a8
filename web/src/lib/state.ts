// The state that a link carries, read with suspicion: a link comes from anyone.
import type { ProblemFile, View } from "../engine/types";
import type { Entry } from "./places";

export type Mode = "explore" | "check" | "compare";

export interface LinkState {
  problem: ProblemFile | string; // as an object, or as the text of a file
  step: string;
  batch: number;
  head: number;
  entry: Entry | null;
  view: View | null; // null: whichever suits the step
  mode: Mode;
  written: Record<string, string>;
  other: ProblemFile | string | null;
}

const isObject = (x: unknown): x is Record<string, unknown> =>
  typeof x === "object" && x !== null && !Array.isArray(x);
const index = (x: unknown): number => (Number.isSafeInteger(x) && (x as number) >= 0 ? (x as number) : 0);
const oneOf = <T extends string, O>(x: unknown, names: readonly T[], otherwise: O): T | O =>
  names.includes(x as T) ? (x as T) : otherwise;
const word = (x: unknown, otherwise: string): string =>
  typeof x === "string" && /^\w{1,16}$/.test(x) ? x : otherwise;

function readEntry(x: unknown): Entry | null {
  if (!isObject(x)) return null;
  const id = word(x.id, "");
  return id === ""
    ? null
    : { id, batch: index(x.batch), head: index(x.head), row: index(x.row), col: index(x.col) };
}

function readWritten(x: unknown): Record<string, string> {
  if (!isObject(x)) return {};
  const texts = Object.entries(x).filter(
    (pair): pair is [string, string] =>
      /^\w{1,16}(\/\d{1,6}){4}$/.test(pair[0]) && typeof pair[1] === "string",
  );
  return Object.fromEntries(texts.map(([key, text]) => [key, text.slice(0, 40)]));
}

const isProblem = (x: unknown): x is ProblemFile | string => isObject(x) || typeof x === "string";

// Throws when there is no problem in it; anything else that is odd becomes its default.
export function readState(raw: unknown): LinkState {
  if (!isObject(raw) || !isProblem(raw.problem)) throw new Error("this link holds no problem");
  return {
    problem: raw.problem,
    step: word(raw.step, "S"),
    batch: index(raw.batch),
    head: index(raw.head),
    entry: readEntry(raw.entry),
    view: oneOf(raw.view, ["entry", "row", "column", "outer"] as const, null),
    mode: oneOf(raw.mode, ["explore", "check", "compare"] as const, "explore"),
    written: readWritten(raw.written),
    other: isProblem(raw.other) ? raw.other : null,
  };
}
