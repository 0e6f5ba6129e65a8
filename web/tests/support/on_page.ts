// A test on a fresh page, and what people do on it.
import { chromium, type Browser, type Page } from "playwright-core";
import { afterAll, beforeAll, expect, inject } from "vitest";
import type { MatrixView, ProblemFile, Solved } from "../../src/engine/types";
import { cellsOf, drop, example, liveRegion } from "./actions";
import { pageUrl, visit } from "./browser";
import { startEngine, type Ask } from "./page_file";

let browser: Browser;
let ask: Ask;
beforeAll(async () => {
  browser = await chromium.connect(inject("browserEndpoint"));
  ask = await startEngine();
});
afterAll(() => browser.close());

export const freshVisit = (options?: Parameters<Browser["newContext"]>[0]) => visit(browser, options);

// `expected`: what the console may say because the test provokes it.
type Options = Parameters<Browser["newContext"]>[0] & { url?: string; expected?: RegExp };

// Opens the page in a context of its own, and ends with the certainty that nothing went wrong in
// it: no error on the console, no exception, no request to anywhere else.
export function onPage(body: (page: Page) => Promise<void>, { url = pageUrl, expected, ...options }: Options = {}) {
  return async () => {
    const { context, page, problems } = await visit(browser, options);
    try {
      await page.goto(url);
      await page.locator("[aria-current=step]").waitFor();
      await body(page);
      expect(problems.filter((problem) => !expected?.test(problem))).toEqual([]);
    } finally {
      await context.close();
    }
  };
}

export * from "./actions";

export async function openProblem(page: Page, text: string): Promise<void> {
  await drop(page, { name: "problem.json", text });
  await expect.poll(() => liveRegion(page)).toBe("opened problem.json");
}

// What the engine says of a problem, to be found on the page.
export function solve(problem: string | ProblemFile): Solved {
  return ask<Solved>({ do: "solve", problem: typeof problem === "string" ? problem : JSON.stringify(problem) });
}
export const matrixOf = (solved: Solved, id: string, head = 0): MatrixView =>
  solved.matrices.find((m) => m.id === id && m.head === head)!;

export async function expectShown(page: Page, problem: string | ProblemFile, id: string): Promise<void> {
  const wanted = matrixOf(solve(problem), id).cells!.text;
  await expect.poll(() => cellsOf(page, id), { timeout: 20_000 }).toEqual(wanted);
}

export const plainProblem = (name: string): ProblemFile => solve(example(name)).problem!;
