// A test on a fresh page, and what people do on it.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { chromium, type Browser, type Page } from "playwright-core";
import { afterAll, beforeAll, expect, inject } from "vitest";
import type { MatrixView, ProblemFile, Solved } from "../../src/engine/types";
import { pageUrl, visit } from "./browser";
import { root, startEngine, type Ask } from "./page_file";

let browser: Browser;
let ask: Ask;
beforeAll(async () => {
  browser = await chromium.connect(inject("browserEndpoint"));
  ask = await startEngine();
});
afterAll(() => browser.close());

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

export const example = (name: string): string => readFileSync(join(root, "examples", `${name}.json`), "utf8");

export interface Dropped {
  name: string;
  text: string;
}

export async function drop(page: Page, ...files: Dropped[]): Promise<void> {
  await page.evaluate((given) => {
    const dataTransfer = new DataTransfer();
    for (const { name, text } of given) dataTransfer.items.add(new File([text], name));
    document.body.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
  }, files);
}

export async function openProblem(page: Page, text: string): Promise<void> {
  await drop(page, { name: "problem.json", text });
  await expect.poll(() => liveRegion(page)).toBe("opened problem.json");
}

export const liveRegion = (page: Page) => page.locator("[role=status]").innerText();
export const alertText = (page: Page) => page.locator("[role=alert]").innerText();
export const inspector = (page: Page) => page.locator("section[aria-label^=Inspector]");
export const currentStep = (page: Page) => page.locator("[aria-current=step]").getAttribute("title");
export const goTo = (page: Page, id: string) => page.locator(`.timeline button[aria-label^="${id},"]`).click();

// The grid of matrix `id` in the open card: the result when it is one.
export const grid = (page: Page, id: string) => page.locator(`table[role=grid][aria-label^="${id},"]`).last();
export const cellsOf = (page: Page, id: string) => grid(page, id).locator("td[role=gridcell]").allInnerTexts();

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

export async function download(page: Page, format: string): Promise<string> {
  await page.getByRole("button", { name: /^export/ }).click();
  const saved = page.waitForEvent("download");
  await page.getByRole("menuitem", { name: format, exact: true }).click();
  return readFileSync(await (await saved).path(), "utf8");
}

export async function pickExample(page: Page, title: string): Promise<void> {
  await page.getByRole("button", { name: /^examples/ }).click();
  await page.getByRole("menuitem", { name: title, exact: true }).click();
}
