// Pictures of the page's main states, for people to look at: every scene at desktop and phone width,
// light and dark, into build/web-shots; those that docs/page.md shows also into docs/images.
import { copyFileSync, mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { launch, pageUrl, visit } from "../tests/support/browser";
import { npy, peaked } from "./long_input";

const folder = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const OUT = folder("build/web-shots");
const DOCS = folder("docs/images");

const WIDTHS = {
  desktop: { width: 1280, height: 800 },
  phone: { width: 390, height: 844 },
};
type Width = keyof typeof WIDTHS;
type Scheme = "light" | "dark";

interface Scene {
  name: string;
  docs?: `${Width}-${Scheme}`; // the picture that the documentation shows
  act(page: Page): Promise<void>;
}

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });
const step = (page: Page, id: string) => page.getByLabel(new RegExp(`^${id}, `)).and(page.locator("nav .step")).click();

async function example(page: Page, title: RegExp) {
  await button(page, "examples ▾").click();
  await page.getByRole("menuitem", { name: title }).click();
  await page.getByRole("heading", { name: title, level: 2 }).waitFor();
}

const SCENES: Scene[] = [
  { name: "first-visit", docs: "desktop-light", act: async () => {} },
  { name: "phone", docs: "phone-light", act: (page) => step(page, "A") },
  {
    name: "softmax",
    docs: "desktop-light",
    async act(page) {
      await page.getByLabel("X, row AI, column 1", { exact: true }).fill("600");
      await page.keyboard.press("Enter");
      await step(page, "A");
      await page.getByRole("grid", { name: /^A, / }).getByRole("gridcell").last().click();
      await page.getByLabel(/naive/).check();
      await page.getByText(/fails here/).scrollIntoViewIfNeeded();
    },
  },
  { name: "output-by-rows", docs: "desktop-dark", act: (page) => step(page, "O") },
  { name: "columns", act: (page) => page.keyboard.press("3") },
  { name: "outer-products", act: (page) => page.keyboard.press("4") },
  {
    name: "heads",
    docs: "desktop-light",
    async act(page) {
      await example(page, /^Two heads/);
      await step(page, "A");
      for (const k of [0, 1]) await page.getByRole("button", { name: "pin" }).nth(k).click();
      await page.waitForTimeout(700); // the card that was opened comes into view first
      await page.getByText(/^A − B/).scrollIntoViewIfNeeded();
      await page.getByRole("table", { name: "difference of the two heads" }).scrollIntoViewIfNeeded();
    },
  },
  { name: "batch", act: (page) => example(page, /batch rows/) },
  { name: "cross-attention", act: (page) => example(page, /^Cross-attention/) },
  {
    name: "causal",
    async act(page) {
      await example(page, /^Causal/);
      await step(page, "A");
    },
  },
  {
    name: "check",
    docs: "desktop-light",
    async act(page) {
      await button(page, "check").click();
      const written = { "I, column I": "0", "I, column love": "1", "love, column love": "1", "love, column AI": "5" };
      for (const [place, value] of Object.entries(written)) await page.getByLabel(`S, row ${place}`).fill(value);
      await page.keyboard.press("Enter");
      await button(page, "mark it").click();
      await page.getByLabel("S, row love, column AI").focus();
      for (let rung = 0; rung < 2; rung++) await page.getByRole("button", { name: /^hint for/ }).click();
    },
  },
  {
    name: "compare",
    docs: "desktop-light",
    async act(page) {
      await button(page, "compare").click();
      await button(page, "keep a copy of A as B").click();
      await page.getByText(/^No difference/).waitFor();
      await page.getByLabel("W_K, row 1, column 2", { exact: true }).fill("3");
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: /^K\[/ }).click();
    },
  },
  {
    name: "error",
    async act(page) {
      const editor = page.getByLabel("X, row I, column 1", { exact: true });
      await editor.focus();
      await editor.evaluate((input) => {
        const clipboardData = new DataTransfer();
        clipboardData.setData("text/plain", "1 2 3\n4 5 6\n7 8 9");
        input.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
      });
      await page.getByRole("alert").waitFor();
    },
  },
  {
    name: "long-input",
    docs: "desktop-light",
    async act(page) {
      const chosen = page.waitForEvent("filechooser");
      await button(page, "import").click();
      const { q, k } = peaked(10_000, 64);
      const file = (name: string, buffer: Buffer) => ({ name, mimeType: "application/octet-stream", buffer });
      await (await chosen).setFiles([file("q.npy", npy(q, 64)), file("k.npy", npy(k, 64))]);
      await button(page, "work it off").click();
      const map = page.getByRole("application");
      await map.waitFor({ timeout: 120_000 });
      await map.click();
      await page.getByRole("gridcell").nth(60).click();
    },
  },
  { name: "help", act: (page) => page.keyboard.press("?") },
];

mkdirSync(OUT, { recursive: true });
mkdirSync(DOCS, { recursive: true });
const browser = await launch();
for (const scene of SCENES)
  for (const width of ["desktop", "phone"] as const)
    for (const scheme of ["light", "dark"] as const) {
      const { context, page, problems } = await visit(browser, {
        viewport: WIDTHS[width],
        colorScheme: scheme,
        reducedMotion: "reduce",
      });
      await page.goto(pageUrl);
      await page.locator(".inspector h2").waitFor();
      await scene.act(page);
      await page.waitForTimeout(700); // until what was asked of the engine is drawn
      const file = `${OUT}/${scene.name}-${width}-${scheme}.png`;
      await page.screenshot({ path: file });
      if (scene.docs === `${width}-${scheme}`) copyFileSync(file, `${DOCS}/page-${scene.name}.png`);
      if (problems.length > 0) throw new Error(`${scene.name}: ${problems.join("; ")}`);
      await context.close();
    }
await browser.close();
console.log(`${SCENES.length * 4} pictures in build/web-shots`);
