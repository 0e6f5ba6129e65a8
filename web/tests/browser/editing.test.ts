// Typing, pasting, resizing, masks and options: everything recomputes at once, by the core.
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import type { ProblemFile } from "../../src/engine/types";
import { heedOutput } from "../support/cli";
import { alertText, download, expectShown, goTo, grid, onPage, openProblem, plainProblem, pressAtOnce } from "../support/on_page";

const field = (page: Page, label: string) => page.getByRole("textbox", { name: label, exact: true });
const type = async (page: Page, label: string, text: string) => {
  await field(page, label).fill(text);
  await field(page, label).press("Enter");
};
const paste = (page: Page, label: string, text: string) =>
  field(page, label).evaluate((input, pasted) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", pasted);
    input.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  }, text);

const loveAi = (): ProblemFile => plainProblem("i-love-ai");

it("recomputes every step when an entry of X is typed over", onPage(async (page) => {
  await type(page, "X, row love, column 1", "-3");
  const edited = { ...loveAi(), x: [[1, 0], [-3, 1], [1, 1]] };
  for (const id of ["S", "Q", "A", "O"]) {
    await goTo(page, id);
    await expectShown(page, edited, id);
  }
}));

it("takes what is typed faster than anything is computed, each number in its own cell", onPage(async (page) => {
  await field(page, "X, row I, column 1").focus();
  await pressAtOnce(page, ..."2↵3↵4↵5↵6↵7↵".split("").map((key) => (key === "↵" ? "Enter" : key)));
  await expectShown(page, { ...loveAi(), x: [[2, 5], [3, 6], [4, 7]] }, "S");
}));

it("renames tokens everywhere", onPage(async (page) => {
  await field(page, "token 2").fill("adore");
  await field(page, "token 2").press("Enter");
  await field(page, "token 2").blur();
  await expect.poll(() => grid(page, "S").locator("th[scope=row]").allInnerTexts()).toEqual(["I", "adore", "AI"]);
}));

describe("a matrix is pasted", () => {
  it.each([
    ["from a spreadsheet", "2\t3\n4\t5"],
    ["as CSV", "2,3\n4,5"],
    ["from NumPy", "array([[2., 3.],\n       [4., 5.]])"],
    ["from LaTeX", "\\begin{bmatrix} 2 & 3 \\\\ 4 & 5 \\end{bmatrix}"],
  ])("%s", (_, text) => onPage(async (page) => {
    await paste(page, "W_Q, row 1, column 1", text);
    await expectShown(page, { ...loveAi(), w_q: [[2, 3], [4, 5]] }, "S");
  })());
});

it("takes a sentence as tokens and resizes what depends on them", onPage(async (page) => {
  await page.getByLabel("sentence").fill("we all love AI");
  await page.getByRole("button", { name: "use as tokens" }).click();
  const grown = { ...loveAi(), tokens: ["we", "all", "love", "AI"], x: [[1, 0], [0, 1], [1, 1], [0, 0]] };
  await expectShown(page, grown, "S");
  expect(await grid(page, "S").locator("th[scope=row]").allInnerTexts()).toEqual(grown.tokens);
}));

it("adds a head, side by side with the first", onPage(async (page) => {
  await page.getByLabel("heads T").fill("2");
  await page.getByLabel("heads T").press("Enter");
  await page.getByRole("region", { name: "Heads side by side" }).waitFor();
  expect(await page.getByRole("img", { name: /of head/ }).count()).toBe(2);
  expect(await page.getByRole("textbox", { name: /^W_Q, head 2/ }).count()).toBe(4);
}));

describe("options", () => {
  it("scale, soft-cap and causal", onPage(async (page) => {
    await page.getByRole("combobox", { name: /^scale/ }).selectOption("none");
    await page.getByLabel("soft-cap").fill("2");
    await page.getByLabel("soft-cap").press("Enter");
    await page.getByLabel("causal mask", { exact: true }).check();
    await goTo(page, "A");
    const problem = { ...loveAi(), scale: 1, softcap: 2, causal: "upper_left" };
    await expectShown(page, problem, "A");
    expect(await grid(page, "A").locator("td.hidden").allInnerTexts()).toEqual(["·", "·", "·"]);
  }));

  it("cross-attention looks at a second list of tokens", onPage(async (page) => {
    await page.getByLabel(/cross-attention/).check();
    await type(page, "X_KV, row I, column 2", "7");
    await expectShown(page, { ...loveAi(), context_tokens: ["I", "love", "AI"], context: [[1, 7], [0, 1], [1, 1]] }, "S");
  }));

  it("a mask is drawn by clicking, and by the keyboard", onPage(async (page) => {
    const cell = page.getByRole("gridcell", { name: "I sees AI: yes", exact: true });
    await cell.click();
    const masked = { ...loveAi(), mask: [[true, true, false], [true, true, true], [true, true, true]] };
    await goTo(page, "A");
    await expectShown(page, masked, "A");
    await page.getByRole("gridcell", { name: "I sees AI: no", exact: true }).focus();
    await page.keyboard.press("Space");
    await expectShown(page, loveAi(), "A");
  }));

  it("a mask is drawn faster than it is computed", onPage(async (page) => {
    await page.getByRole("gridcell", { name: "I sees I: yes", exact: true }).focus();
    await pressAtOnce(page, "Space", "ArrowRight", "Space", "ArrowDown", "Space");
    const mask = [[false, false, true], [true, false, true], [true, true, true]];
    await goTo(page, "A");
    await expectShown(page, { ...loveAi(), mask }, "A");
  }));

  it("a mask that hides every key from every query, drawn in one go, goes to the command line and back", onPage(async (page) => {
    const cells = page.getByRole("grid", { name: /^Who sees whom/ }).locator("tbody td");
    await cells.last().scrollIntoViewIfNeeded();
    const centres = await Promise.all(Array.from({ length: 9 }, async (_, k) => {
      const { x, y, width, height } = (await cells.nth(k).boundingBox())!;
      return [x + width / 2, y + height / 2] as const;
    }));
    await page.mouse.move(...centres[0]!);
    await page.mouse.down();
    for (const centre of centres) await page.mouse.move(...centre);
    await page.mouse.up();
    await goTo(page, "A");
    await expect.poll(() => grid(page, "A").locator("td.hidden").count()).toBe(9);
    expect(await page.locator("[role=alert]").count()).toBe(0);
    const saved = await download(page, "problem file");
    expect((JSON.parse(saved) as ProblemFile).mask).toEqual(Array(3).fill([false, false, false]));
    const trace = await heedOutput(["explain", "-", "--format", "json"], saved);
    expect(await download(page, "JSON trace")).toBe(trace);
    await openProblem(page, JSON.stringify((JSON.parse(trace) as { problem: ProblemFile }).problem));
    await goTo(page, "A");
    await expect.poll(() => grid(page, "A").locator("td.hidden").count()).toBe(9);
  }));

  it("a query that sees nothing gets no weights, and the page says so", onPage(async (page) => {
    await openProblem(page, JSON.stringify({ q: [[1], [2]], k: [[1]], v: [[2]] }));
    await page.getByRole("gridcell", { name: "1 sees 1: yes" }).click();
    await goTo(page, "A");
    await grid(page, "A").locator("td[role=gridcell]").first().click();
    await expect.poll(() => page.getByRole("region", { name: /^Softmax/ }).innerText()).toContain("No key is visible");
  }));
});

describe("what cannot be computed", () => {
  it("shapes that do not fit: both matrices are outlined, the last result stays and says so", onPage(async (page) => {
    await paste(page, "W_Q, row 1, column 1", "1 2\n3 4\n5 6");
    await page.locator("[role=alert]").waitFor();
    expect(await alertText(page)).toContain("W_Q");
    expect(await alertText(page)).toContain("out of date");
    expect(await page.locator("fieldset.wrong legend").allInnerTexts()).toHaveLength(2);
    expect(await page.locator("main.stale").count()).toBe(1);
    await page.getByRole("button", { name: "take back" }).click();
    await expectShown(page, loveAi(), "S");
    expect(await page.locator("[role=alert]").count()).toBe(0);
  }));

  it("a text that is no number is named with its place", onPage(async (page) => {
    await type(page, "X, row AI, column 2", "one");
    expect(await alertText(page)).toContain("X: row 3, column 2 says “one”, which is no number");
    await type(page, "X, row AI, column 2", "1");
    await expect.poll(() => page.locator("[role=alert]").count()).toBe(0);
  }));
});
