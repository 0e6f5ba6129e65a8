// axe finds nothing in any of the main states, light and dark, at desktop and phone width; and
// nothing is wider than the window.
import axe from "axe-core";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { onPage } from "../support/on_page";
import { states } from "../support/states";

interface Violation {
  id: string;
  help: string;
  nodes: { html: string; failureSummary?: string }[];
}

async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const found = await page.evaluate(async () => {
    const { run } = (globalThis as unknown as { axe: { run(): Promise<{ violations: unknown[] }> } }).axe;
    return (await run()).violations;
  });
  return (found as Violation[]).flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${help}\n  ${html.slice(0, 200)}\n  ${failureSummary ?? ""}`));
}

const looks = (["light", "dark"] as const).flatMap((colorScheme) =>
  [1280, 390].map((width) => ({ colorScheme, width })));

// Light or dark and the width change under an open page, as they do on someone's machine.
describe("light and dark, 1280 and 390 px wide", () => {
  it.each(Object.keys(states))("%s", (name) => onPage(async (page) => {
    await states[name]!(page);
    for (const { colorScheme, width } of looks) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 800 });
      await expect.poll(() => page.evaluate(() => document.documentElement.dataset.theme)).toBe(colorScheme);
      expect(await violations(page), `${colorScheme}, ${width} px`).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    }
  }, { reducedMotion: "reduce" })());
});
