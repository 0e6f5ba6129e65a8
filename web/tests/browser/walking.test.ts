// Walking the steps, the four views, the softmax worked out, playing.
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { cellsOf, currentStep, example, goTo, grid, inspector, matrixOf, onPage, openProblem, pickExample, solve } from "../support/on_page";

const steps = () => solve(example("i-love-ai")).steps.map(({ title }) => title);
const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });

it("goes through every step by buttons, forward and back", onPage(async (page) => {
  await button(page, "First step").click();
  const walked = [await currentStep(page)];
  while (await button(page, "Next step").isEnabled()) {
    await button(page, "Next step").click();
    walked.push(await currentStep(page));
  }
  expect(walked).toEqual(steps());
  await button(page, "Previous step").click();
  expect(await currentStep(page)).toBe(steps().at(-2));
  await button(page, "First step").click();
  await button(page, "Last step").click();
  expect(await currentStep(page)).toBe(steps().at(-1));
}));

it("goes through the steps by keys, and opens a card by its title", onPage(async (page) => {
  const at = steps().indexOf((await currentStep(page))!);
  await page.keyboard.press("]");
  expect(await currentStep(page)).toBe(steps()[at + 1]);
  await page.keyboard.press("[");
  await page.keyboard.press("[");
  expect(await currentStep(page)).toBe(steps()[at - 1]);
  await page.locator(".card h3 button").first().click();
  expect(await currentStep(page)).toBe(steps()[0]);
}));

it("plays entry by entry until it is paused", onPage(async (page) => {
  const before = await inspector(page).locator(".name").innerText();
  await page.getByLabel("speed").fill("8");
  await page.getByLabel("speed").blur();
  await page.keyboard.press("Space");
  await expect.poll(() => inspector(page).locator(".name").innerText()).not.toBe(before);
  await page.getByRole("button", { name: /pause/ }).click();
  await page.getByRole("button", { name: /play/ }).waitFor();
  const paused = await inspector(page).locator(".name").innerText();
  await page.waitForTimeout(400);
  expect(await inspector(page).locator(".name").innerText()).toBe(paused);
}));

it("plays from entry to entry and step to step, and ends by itself at the last", onPage(async (page) => {
  await page.getByLabel("speed").fill("8");
  await goTo(page, "Z");
  await grid(page, "Z").locator("td[role=gridcell]").first().click();
  const names = await page.evaluateHandle(() => {
    const seen: string[] = [];
    const note = () => {
      const name = document.querySelector(".inspector .name")?.textContent ?? "";
      if (name !== seen.at(-1)) seen.push(name);
    };
    new MutationObserver(note).observe(document.body, { subtree: true, childList: true, characterData: true });
    return seen;
  });
  await button(page, "▶ play").click();
  await page.getByRole("button", { name: /pause/ }).waitFor();
  await page.getByRole("button", { name: /▶ play/ }).waitFor();
  expect(await currentStep(page)).toBe(steps().at(-1));
  const tokens = ["I", "love", "AI"];
  const all = (id: string) => tokens.flatMap((row) => tokens.map((col) => `${id}[${row}, ${col}]`));
  expect(await names.jsonValue()).toEqual([...all("Z"), ...all("A"), ...tokens.map((row) => `O[${row}, 1]`)]);
}));

describe("the views of a product", () => {
  const total = (page: Page) => page.locator(".combination .total tbody td").allInnerTexts();

  it("entry: symbols, substitution, products and sum, and where it is used", onPage(async (page) => {
    await grid(page, "S").locator("td[role=gridcell]").nth(8).click();
    await expect.poll(() => inspector(page).locator(".name").innerText()).toBe("S[AI, AI]");
    const products = await inspector(page).locator(".terms tr:not(.sum)").allInnerTexts();
    expect(products.map((text) => text.replace(/\s+/g, " ").trim())).toEqual(["2 · 1 = 2", "+ 1 · 1 = 1"]);
    expect(await inspector(page).locator(".value").innerText()).toBe("3");
    expect(await inspector(page).locator("math").count()).toBeGreaterThan(2);
    await inspector(page).locator(".uses button").first().click();
    expect(await currentStep(page)).toMatch(/scale/i);
  }));

  it.each([
    ["row", "2", "A row is a sum of rows", [3, 4, 5]],
    ["column", "3", "A column is a sum of columns", [2, 5, 8]],
    ["outer", "4", "The whole is a sum of columns times rows", [0, 1, 2, 3, 4, 5, 6, 7, 8]],
  ] as const)("%s: parts that add up to what the grid shows", (view, key, title, places) => onPage(async (page) => {
    await grid(page, "S").locator("td[role=gridcell]").nth(5).click();
    await page.keyboard.press(key);
    await page.getByRole("region", { name: title }).waitFor();
    expect(await page.getByRole("radio", { name: view }).isChecked()).toBe(true);
    const cells = await cellsOf(page, "S");
    expect(await total(page)).toEqual(places.map((k) => cells[k]));
    await page.locator(".views").getByText("entry").click();
    await expect.poll(() => page.locator(".combination").count()).toBe(0);
  })());

  it("an output opens by rows", onPage(async (page) => {
    await goTo(page, "O");
    await page.getByRole("region", { name: "A row is a sum of rows" }).waitFor();
  }));
});

describe("the softmax of a row", () => {
  it("shows scores, shifted scores, exponentials and weights", onPage(async (page) => {
    await goTo(page, "A");
    const softmax = page.getByRole("region", { name: /^Softmax of row/ });
    await softmax.waitFor();
    const weights = matrixOf(solve(example("i-love-ai")), "A").cells!.text.slice(3, 6);
    expect(await softmax.locator("tbody tr").last().locator("td:not(.sum)").allInnerTexts()).toEqual(weights);
    await softmax.getByRole("checkbox").check();
    expect(await softmax.locator("tr.naive").count()).toBe(2);
    expect(await softmax.innerText()).toContain("Both ways give the same weights here");
  }));

  it("shows the naive formula fail where scores are large", onPage(async (page) => {
    await openProblem(page, JSON.stringify({ q: [[1000], [1]], k: [[1], [2]], v: [[1], [2]], scale: 1 }));
    await goTo(page, "A");
    await grid(page, "A").locator("td[role=gridcell]").first().click();
    const softmax = page.getByRole("region", { name: /^Softmax of row/ });
    await softmax.getByRole("checkbox").check();
    await expect.poll(() => softmax.innerText()).toContain("The formula as written fails here");
    expect(await softmax.innerText()).toContain("∞");
  }));
});

it("shows two heads as A, B and A − B", onPage(async (page) => {
  await pickExample(page, "Two heads, key size 2, value size 1");
  const heads = page.getByRole("region", { name: "Heads side by side" });
  for (const pin of await heads.getByRole("button", { name: "pin" }).all()) await pin.click();
  await heads.getByRole("table", { name: "difference of the two heads" }).waitFor();
  const solved = solve(example("b-heads"));
  for (const head of [0, 1])
    expect(await heads.getByRole("table", { name: `S of head ${head + 1}` }).locator("td:not(:empty)").allInnerTexts())
      .toEqual(matrixOf(solved, "S", head).cells!.text);
}));

it("lets the rows of the batch-parallel example advance together", onPage(async (page) => {
  await pickExample(page, "Selfish attention, three batch rows");
  const lanes = page.locator(".lane");
  const solved = solve(example("selfish"));
  expect(await lanes.locator("h4").allInnerTexts()).toEqual(["Sequence 1", "Sequence 2", "Sequence 3"]);
  while (await button(page, "Next step").isEnabled()) {
    await button(page, "Next step").click();
    const id = (await page.locator("[aria-current=step]").getAttribute("aria-label"))!.split(",")[0]!;
    for (const batch of [0, 1, 2]) {
      const wanted = solved.matrices.find((m) => m.id === id && m.batch === batch)!.cells!.text;
      expect(await lanes.nth(batch).locator("table").last().locator("td[role=gridcell]").allInnerTexts()).toEqual(wanted);
    }
  }
  await goTo(page, "S");
  await page.getByLabel("speed").fill("8");
  await button(page, "▶ play").click();
  await expect.poll(() => page.locator(".lane td.selected").evaluateAll((cells) => cells.map((cell) => (cell as HTMLTableCellElement).cellIndex)))
    .toEqual([2, 2, 2]);
}));

it("lets the sequences of a batch advance together", onPage(async (page) => {
  const sequence = (x: number) => ({ tokens: ["a", "b"], x: [[x], [2]] });
  await openProblem(page, JSON.stringify({ batch: [sequence(1), sequence(3)], w_q: [[1]], w_k: [[1]], w_v: [[1]] }));
  expect(await page.locator(".lane h4").allInnerTexts()).toEqual(["Sequence 1", "Sequence 2"]);
  await page.keyboard.press("]");
  expect(await page.locator(".lane").count()).toBe(2);
}));
