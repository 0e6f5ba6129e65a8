// Check mode marks as heed check does; compare mode finds what heed diff finds.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, inject, it } from "vitest";
import { heed } from "../support/cli";
import { drop, example, goTo, inspector, onPage, pickExample, plainProblem, pressAtOnce } from "../support/on_page";
import { root } from "../support/page_file";

const problemFile = join(root, "examples/i-love-ai.json");

interface Marks {
  correct: number;
  wrong: number;
  carried: number;
  findings: { mark: string; where: string; written: string; diagnosis?: string; row: number; col: number; id: string }[];
}

async function marksOf(solution: string): Promise<Marks> {
  return JSON.parse((await heed(["check", problemFile, solution, "--json"])).out) as Marks;
}

const verdict = (page: Page) => page.locator("p.verdict").innerText();
const counts = ({ correct, wrong, carried }: Marks) => `✓ ${correct} correct · ✗ ${wrong} wrong · ↷ ${carried} carried`;

describe("check mode", () => {
  it("marks what was filled in as heed check marks it", onPage(async (page) => {
    const rows = [["0", "1", "2"], ["1", "1", "2"]]; // S[I,AI] is 1
    await page.getByRole("button", { name: "check", exact: true }).click();
    const fields = page.locator(".work tbody input");
    for (const [k, entry] of rows.flat().entries()) {
      await fields.nth(k).fill(entry);
      await fields.nth(k).press("Enter");
    }
    await page.getByRole("button", { name: "mark it" }).click();
    const solution = join(inject("scratch"), "filled-in.json");
    writeFileSync(solution, JSON.stringify({ steps: [{ S: rows.slice(0, 1), row: 0 }, { S: rows.slice(1), row: 1 }] }));
    const marks = await marksOf(solution);
    await expect.poll(() => verdict(page)).toContain(counts(marks));
    const first = marks.findings.find(({ mark }) => mark === "wrong")!;
    expect(await verdict(page)).toContain(first.diagnosis);
    const cell = (row: number, col: number) => page.locator(".work tbody tr").nth(row).locator("td").nth(col);
    for (const { mark, row, col } of marks.findings.filter(({ id, mark }) => id === "S" && mark !== "missing"))
      expect(await cell(row, col).getAttribute("class")).toContain(mark);
  }));

  it("takes what is typed faster than anything is drawn, each number in its own cell", onPage(async (page) => {
    await page.getByRole("button", { name: "check", exact: true }).click();
    await page.getByRole("textbox", { name: "S, row I, column I", exact: true }).focus();
    const entries = ["10", "11", "12", "13", "14", "15", "16", "17", "18"];
    await pressAtOnce(page, ...entries.flatMap((entry) => [...entry, "Enter"]));
    const values = () => page.locator(".work tbody input").evaluateAll((inputs) => inputs.map((input) => (input as HTMLInputElement).value));
    expect(await values()).toEqual(entries);
    await expect.poll(() => page.getByText("9 of").innerText()).toContain("9 of");
  }));

  it("marks a dropped solution file as heed check marks it", onPage(async (page) => {
    await drop(page, { name: "i-love-ai.solution.json", text: example("i-love-ai.solution") });
    const marks = await marksOf(join(root, "examples/i-love-ai.solution.json"));
    await expect.poll(() => verdict(page)).toContain(counts(marks));
    const findings = await page.locator(".findings li").allInnerTexts();
    const wrong = marks.findings.filter(({ mark }) => mark === "wrong");
    wrong.forEach(({ where, diagnosis }, k) => {
      expect(findings[k]).toContain(where);
      expect(findings[k]).toContain(diagnosis);
    });
  }));

  it("gives hints one rung at a time", onPage(async (page) => {
    await page.getByRole("button", { name: "check", exact: true }).click();
    await page.getByRole("textbox", { name: "S, row love, column AI", exact: true }).focus();
    const hint = page.getByRole("button", { name: /^hint for S\[love, AI\]/ });
    const rungs = page.locator(".hints .lines .right");
    for (const shown of [1, 2, 3, 4]) {
      await hint.click();
      await expect.poll(() => rungs.count()).toBe(shown);
    }
    expect((await rungs.last().innerText()).trim()).toBe("2");
  }));

  it("says so when nothing is filled in", onPage(async (page) => {
    await page.getByRole("button", { name: "check", exact: true }).click();
    await page.getByRole("button", { name: "mark it" }).click();
    expect(await verdict(page)).toContain("Nothing is filled in yet");
  }));
});

describe("compare mode", () => {
  it("names the first entry that differs, as heed diff does, and selects it in both runs", onPage(async (page) => {
    await page.getByRole("button", { name: "compare", exact: true }).click();
    await page.getByRole("button", { name: "keep a copy of A as B" }).click();
    await page.getByText("No difference").waitFor();
    const cell = page.getByRole("textbox", { name: "W_V, row 1, column 2", exact: true });
    await cell.fill("5");
    await cell.press("Enter");
    const edited = join(inject("scratch"), "edited.json");
    writeFileSync(edited, JSON.stringify({ ...plainProblem("i-love-ai"), w_v: [[1, 5], [0, 1]] }));
    const { differences } = JSON.parse((await heed(["diff", edited, problemFile, "--json"])).out) as { differences: { id: string }[] };
    const first = page.locator(".first").first();
    await expect.poll(() => first.innerText()).toContain(`${differences.length} entries differ`);
    expect(await first.innerText()).toContain(`${differences[0]!.id}[`);
    await goTo(page, "O");
    await page.getByRole("table", { name: "A minus B" }).waitFor();
    const selected = page.locator(".runs td.selected");
    await page.locator(".runs table").first().locator("td[role=gridcell]").last().click();
    await expect.poll(() => selected.count()).toBe(2);
    expect(await inspector(page).locator(".name").innerText()).toBe("O[AI, 2]");
  }));

  it("compares with an example, and says where the shapes differ", onPage(async (page) => {
    await page.getByRole("button", { name: "compare", exact: true }).click();
    await page.getByRole("button", { name: /^example as B/ }).click();
    await page.getByRole("menuitem", { name: "Causal mask" }).click();
    await expect.poll(() => page.locator(".first").count(), { timeout: 10_000 }).toBeGreaterThan(0);
    await pickExample(page, "Causal mask");
    await page.getByText("No difference").waitFor();
  }));
});
