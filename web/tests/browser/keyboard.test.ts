// Everything by keyboard alone, and what a screen reader is told.
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { currentStep, inspector, liveRegion, onPage } from "../support/on_page";

// Tab until something that matches has the focus; the way there must not be endless.
async function tabTo(page: Page, selector: string) {
  for (let press = 0; press < 80; press++) {
    await page.keyboard.press("Tab");
    if (await page.evaluate((wanted) => document.activeElement?.matches(wanted) ?? false, selector)) return;
  }
  throw new Error(`no way by Tab to ${selector}`);
}
const press = async (page: Page, ...keys: string[]) => {
  for (const key of keys) await page.keyboard.press(key);
};

it("walks from the bar through the inputs to an entry, and reads it out", onPage(async (page) => {
  await tabTo(page, "[aria-label='X, row I, column 1']");
  await page.keyboard.type("2");
  await press(page, "Enter");
  await tabTo(page, "table[role=grid][aria-label^='S,'] td");
  await press(page, "Home", "ArrowDown", "End");
  await expect.poll(() => liveRegion(page)).toBe("S, row love, column AI, 2");
  await press(page, "Enter");
  await expect.poll(() => inspector(page).locator(".name").innerText()).toBe("S[love, AI]");
  await press(page, "]");
  expect(await currentStep(page)).toMatch(/scaled/i);
  await expect.poll(() => liveRegion(page)).toContain("Step");
  await press(page, "2");
  await expect.poll(() => liveRegion(page)).toBe("row view");
}));

it("opens menus and dialogs, and Escape leaves them where they were opened", onPage(async (page) => {
  await tabTo(page, "button[aria-haspopup=menu]");
  await press(page, "Enter");
  await page.getByRole("menu").waitFor();
  await press(page, "ArrowDown", "ArrowDown", "Escape");
  expect(await page.getByRole("menu").count()).toBe(0);
  expect(await page.evaluate(() => document.activeElement?.getAttribute("aria-haspopup"))).toBe("menu");
  await press(page, "?");
  await page.getByRole("dialog").waitFor();
  expect(await page.getByRole("dialog").innerText()).toContain("previous and next step");
  await press(page, "Escape");
  await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
}));

it("has one tab stop per grid", onPage(async (page) => {
  const stops = await page.locator("table[role=grid]").evaluateAll((grids) =>
    grids.map((grid) => grid.querySelectorAll("[tabindex='0']").length));
  expect(stops.length).toBeGreaterThan(3);
  expect(new Set(stops)).toEqual(new Set([1]));
}));

it("lies still where motion is unwelcome, also while it plays", onPage(async (page) => {
  const moving = () => page.evaluate(() => document.getAnimations().filter(({ playState }) => playState === "running").length);
  // A step that opens is in its place with the next frame, or has glided there.
  const places = await page.evaluateHandle(() => {
    const seen = new Set<number>();
    document.querySelector(".centre")!.addEventListener("scroll", (event) => seen.add((event.target as Element).scrollTop));
    return seen;
  });
  await press(page, "]", "]", "[");
  expect(await moving()).toBe(0);
  const before = await currentStep(page);
  await page.getByLabel("speed").fill("8");
  await page.getByRole("button", { name: "▶ play" }).click();
  await expect.poll(() => currentStep(page), { timeout: 10_000 }).not.toBe(before);
  expect(await moving()).toBe(0);
  await page.getByRole("button", { name: "⏸ pause" }).click();
  expect(await page.evaluate((seen) => seen.size, places)).toBeLessThanOrEqual(6);
}, { reducedMotion: "reduce" }));
