// The main states of the page, each reached from the first visit: for axe, and for pictures.
import type { Page } from "playwright-core";
import { npz, npy } from "./arrays";
import { drop, example, goTo, pickExample } from "./actions";

// A band of strong weights along the diagonal: something to see on the map.
const LONG = 1024;
const wave = (i: number, j: number) => 3 * Math.cos(((j + 1) * i) / 40);

// By the button, as someone does who does not drag.
export async function importArrays(page: Page, files: Record<string, Buffer>, { fails = false } = {}): Promise<void> {
  const chooser = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "import" }).click();
  const given = Object.entries(files).map(([name, buffer]) => ({ name, mimeType: "application/octet-stream", buffer }));
  await (await chooser).setFiles(given);
  if (!fails) await page.getByRole("button", { name: "work it off" }).waitFor();
}

export const states: Record<string, (page: Page) => Promise<void>> = {
  scores: async () => {},
  softmax: async (page) => {
    await goTo(page, "A");
    await page.getByRole("region", { name: /^Softmax/ }).getByRole("checkbox").check();
  },
  output: async (page) => {
    await goTo(page, "O");
    await page.locator(".combination").waitFor();
  },
  heads: async (page) => {
    await pickExample(page, "Two heads, key size 2, value size 1");
    const heads = page.getByRole("region", { name: "Heads side by side" });
    for (const pin of await heads.getByRole("button", { name: "pin" }).all()) await pin.click();
    await heads.getByRole("table", { name: "difference of the two heads" }).waitFor();
  },
  check: async (page) => {
    await drop(page, { name: "i-love-ai.solution.json", text: example("i-love-ai.solution") });
    await page.locator(".verdict").waitFor();
  },
  compare: async (page) => {
    await page.getByRole("button", { name: "compare", exact: true }).click();
    await page.getByRole("button", { name: "keep a copy of A as B" }).click();
    const cell = page.getByRole("textbox", { name: "W_V, row 1, column 2", exact: true });
    await cell.fill("5");
    await cell.press("Enter");
    await page.getByText("First step that differs").waitFor();
  },
  error: async (page) => {
    const cell = page.getByRole("textbox", { name: "X, row AI, column 2", exact: true });
    await cell.fill("one");
    await cell.press("Enter");
    await page.locator("[role=alert]").waitFor();
  },
  help: async (page) => {
    await page.getByRole("button", { name: "help" }).click();
    await page.getByRole("dialog").waitFor();
  },
  long: async (page) => {
    await importArrays(page, { "long.npz": npz({ q: npy(LONG, 8, wave), k: npy(LONG, 8, wave) }) });
    await page.getByRole("button", { name: "work it off" }).click();
    await page.getByRole("region", { name: "Tile in digits" }).waitFor();
  },
};
