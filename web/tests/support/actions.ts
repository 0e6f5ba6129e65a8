// What people do on the page, for tests and pictures alike.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { Page } from "playwright-core";
import { root } from "./page_file";

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

// Files of the disk, dragged over the page and let go there, as the browser itself reports it.
export async function dragIn(page: Page, ...paths: string[]): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const send = (type: "dragEnter" | "dragOver" | "drop") =>
    session.send("Input.dispatchDragEvent", { type, x: 600, y: 400, data: { items: [], files: paths, dragOperationsMask: 1 } });
  await send("dragEnter");
  await send("dragOver");
  await page.getByText("Drop a problem file").waitFor();
  await send("drop");
  await page.getByText("Drop a problem file").waitFor({ state: "detached" });
}

// One key after the other, none of them waiting for what the one before it does.
export const pressAtOnce = (page: Page, ...keys: string[]) => Promise.all(keys.map((key) => page.keyboard.press(key)));

export const liveRegion = (page: Page) => page.locator("[role=status]").innerText();
export const alertText = (page: Page) => page.locator("[role=alert]").innerText();
export const inspector = (page: Page) => page.locator("section[aria-label^=Inspector]");
export const currentStep = (page: Page) => page.locator("[aria-current=step]").getAttribute("title");
export const goTo = (page: Page, id: string) => page.locator(`.timeline button[aria-label^="${id},"]`).click();

// The grid of matrix `id` in the open card, of the first sequence where there are several.
export const grid = (page: Page, id: string) => page.locator(`table[role=grid][aria-label^="${id},"]`).first();
export const cellsOf = (page: Page, id: string) => grid(page, id).locator("td[role=gridcell]").allInnerTexts();

export async function download(page: Page, format: string): Promise<string> {
  await page.getByRole("button", { name: /^export/ }).click();
  const saved = page.waitForEvent("download");
  await page.getByRole("menuitem", { name: format, exact: true }).click();
  return text(await (await saved).createReadStream());
}

export async function pickExample(page: Page, title: string): Promise<void> {
  await page.getByRole("button", { name: /^examples/ }).click();
  await page.getByRole("menuitem", { name: title, exact: true }).click();
}
