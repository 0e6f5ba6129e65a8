// Exports are the command line's own files; links carry the state; Back is undo; files are dropped.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, inject, it } from "vitest";
import { heedOutput } from "../support/cli";
import { pageUrl } from "../support/browser";
import { currentStep, download, dragIn, drop, example, expectShown, goTo, grid, inspector, liveRegion, onPage, openProblem, pickExample, plainProblem } from "../support/on_page";
import { root } from "../support/page_file";

const FORMATS: [string, string][] = [
  ["LaTeX", "latex"],
  ["Markdown", "md"],
  ["SVG picture", "svg"],
  ["one HTML file", "html"],
  ["JSON trace", "json"],
];

describe("a saved file is what heed explain writes", () => {
  it.each(FORMATS)("%s", (label, format) => onPage(async (page) => {
    expect(await download(page, label)).toBe(await heedOutput(["explain", join(root, "examples/i-love-ai.json"), "--format", format]));
  })());

  it.each(FORMATS)("%s, of two heads", (label, format) => onPage(async (page) => {
    await pickExample(page, "Two heads, key size 2, value size 1");
    await page.getByRole("region", { name: "Heads side by side" }).waitFor();
    expect(await download(page, label)).toBe(await heedOutput(["explain", join(root, "examples/b-heads.json"), "--format", format]));
  })());

  it("a problem file, which the command line reads", onPage(async (page) => {
    const file = join(inject("scratch"), "saved.json");
    writeFileSync(file, await download(page, "problem file"));
    const trace = await heedOutput(["explain", file, "--format", "json"]);
    expect(trace).toBe(await heedOutput(["explain", join(root, "examples/i-love-ai.json"), "--format", "json"]));
  }));
});

const setEntry = async (page: Page, text: string) => {
  const cell = page.getByRole("textbox", { name: "X, row I, column 1", exact: true });
  await cell.fill(text);
  await cell.press("Enter");
};
const edited = (value: number) => ({ ...plainProblem("i-love-ai"), x: [[value, 0], [0, 1], [1, 1]] });

describe("a link", () => {
  it("opens what was on screen", onPage(async (page) => {
    await setEntry(page, "5");
    await goTo(page, "A");
    await grid(page, "A").locator("td[role=gridcell]").nth(3).click();
    await page.keyboard.press("3");
    await page.getByRole("button", { name: "share" }).click();
    await expect.poll(() => page.getByLabel("link", { exact: true }).inputValue()).toContain("#1.");
    const link = await page.getByLabel("link", { exact: true }).inputValue();
    await onPage(async (other) => {
      expect(await currentStep(other)).toMatch(/weights|softmax/i);
      await expectShown(other, edited(5), "A");
      await expect.poll(() => inspector(other).locator(".name").innerText()).toBe("A[love, I]");
      expect(await other.getByRole("radio", { name: "column" }).isChecked()).toBe(true);
    }, { url: link })();
  }));

  it("keeps up with the page, and Back undoes", onPage(async (page) => {
    await setEntry(page, "5");
    await expectShown(page, edited(5), "S");
    await setEntry(page, "7");
    await expectShown(page, edited(7), "S");
    await expect.poll(() => page.url()).toContain("#1.");
    await page.goBack();
    await expectShown(page, edited(5), "S");
    await page.goBack();
    await expectShown(page, example("i-love-ai"), "S");
    await page.goForward();
    await expectShown(page, edited(5), "S");
  }));
});

describe("a dropped problem file", () => {
  it("is dragged in from the disk", onPage(async (page) => {
    await dragIn(page, join(root, "examples/b-cross-attention.json"));
    await expect.poll(() => liveRegion(page)).toBe("opened b-cross-attention.json");
    await expectShown(page, example("b-cross-attention"), "S");
    expect(page.url()).toContain(pageUrl); // the browser has not gone to the file itself
  }));

  it("with its solution is marked at once", onPage(async (page) => {
    await dragIn(page, join(root, "examples/selfish.json"));
    await expectShown(page, example("selfish"), "S");
    await dragIn(page, join(root, "examples/selfish.solution.json"));
    await expect.poll(() => page.locator("p.verdict").innerText()).toMatch(/\d+ correct · ✗ \d+ wrong/);
  }));

  it("is opened, with comments in it", onPage(async (page) => {
    await openProblem(page, `// my own\n${example("selfish")}`);
    await expectShown(page, example("selfish"), "S");
  }));

  it("that is broken leaves what was there, and the error names the place", onPage(async (page) => {
    await drop(page, { name: "broken.json", text: '{"x": [[1, 2], [3]],\n "w_q": [[1], [1]]}' });
    await expect.poll(() => page.locator("[role=alert]").innerText()).toMatch(/row 2 has 1 value.*expected 2/);
    await expectShown(page, example("i-love-ai"), "S");
  }));
});
