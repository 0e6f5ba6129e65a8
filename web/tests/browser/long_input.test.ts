// Ten thousand tokens from .npy and .npz files: a map, its digits, progress, and an end to it.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, inject, it } from "vitest";
import { npy, npz } from "../support/arrays";
import { dragIn, liveRegion, onPage } from "../support/on_page";
import { importArrays } from "../support/states";

const TOKENS = 10_000;
const DIM = 4;
const q = (i: number, j: number) => Math.sin(i * (j + 1));
const k = (i: number, j: number) => 2 * Math.cos(i + 3 * j);

const tile = (page: Page) => page.getByRole("region", { name: "Tile in digits" });
const digits = (page: Page) => tile(page).locator("td[role=gridcell]");
const start = (page: Page) => page.getByRole("button", { name: "work it off" }).click();

// The weight that query i gives to key j, by the plain formula.
function weight(i: number, j: number): number {
  const row = (f: typeof q, n: number) => Array.from({ length: DIM }, (_, c) => Math.fround(f(n, c)));
  const query = row(q, i);
  const scores = Array.from({ length: TOKENS }, (_, n) => row(k, n).reduce((sum, x, c) => sum + x * query[c]!, 0) / Math.sqrt(DIM));
  const sum = scores.reduce((total, score) => total + Math.exp(score), 0);
  return Math.exp(scores[j]!) / sum;
}

describe("10,000 tokens", () => {
  it("from two .npy files: progress, cancel, the whole map, and digits anywhere in it", onPage(async (page) => {
    await importArrays(page, { "q.npy": npy(TOKENS, DIM, q), "k.npy": npy(TOKENS, DIM, k) });
    await start(page);
    await page.getByRole("progressbar").waitFor();
    await page.getByRole("button", { name: "cancel" }).click();
    await expect.poll(() => liveRegion(page), { timeout: 20_000 }).toBe("cancelled");
    expect(await tile(page).count()).toBe(0);

    await start(page);
    await tile(page).waitFor({ timeout: 120_000 });
    expect(await page.getByRole("region", { name: "Overview" }).innerText()).toMatch(/10.?000 queries × 10.?000 keys/);
    await page.locator(".map").click({ position: { x: 200, y: 120 } });
    await expect.poll(() => digits(page).count()).toBeGreaterThan(50);
    await digits(page).first().click();
    await expect.poll(() => liveRegion(page)).toMatch(/^query \d+, key \d+, weight/);
    const [, row, col, shown] = /query (\d+), key (\d+), weight <?([\d.e−-]+)/.exec(await liveRegion(page))!;
    // The weights of 10,000 keys are small; what is shown is rounded to its last digit, or a bound.
    const exact = weight(Number(row) - 1, Number(col) - 1);
    const decimals = shown!.split(".")[1]?.length ?? 0;
    expect(Math.abs(Number(shown!.replace("−", "-")) - exact)).toBeLessThanOrEqual(10 ** -decimals);
    expect(await tile(page).locator("math").count()).toBeGreaterThan(0);
  }));
});

describe("arrays", () => {
  it("are dragged in from the disk, .npy and .npz", onPage(async (page) => {
    const files = { "q.npy": npy(40, DIM, q), "k.npy": npy(60, DIM, k), "qk.npz": npz({ q: npy(50, DIM, q), k: npy(50, DIM, k) }) };
    const path = (name: string) => join(inject("scratch"), name);
    for (const [name, bytes] of Object.entries(files)) writeFileSync(path(name), bytes);
    for (const [names, sizes] of [[["q.npy", "k.npy"], "40 queries × 60 keys"], [["qk.npz"], "50 queries × 50 keys"]] as const) {
      await dragIn(page, ...names.map(path));
      await start(page);
      await expect.poll(() => page.getByRole("region", { name: "Overview" }).innerText()).toContain(sizes);
      await page.getByRole("button", { name: "back to the small problem" }).click();
    }
  }));

  it.each([false, true])("from one .npz (deflated: %s), with a causal mask", (deflated) => onPage(async (page) => {
    const small = 300;
    await importArrays(page, { "qk.npz": npz({ Q: npy(small, DIM, q), K: npy(small, DIM, k) }, { deflated }) });
    await page.getByLabel("causal mask").check();
    await start(page);
    await tile(page).waitFor();
    expect(await digits(page).first().innerText()).toBe("1.0000");
    expect(await tile(page).locator("td.hidden").count()).toBeGreaterThan(0);
    await page.getByRole("button", { name: "back to the small problem" }).click();
    await page.locator("[aria-current=step]").waitFor();
  })());

  it.each([
    ["cut short", () => npy(100, DIM, q).subarray(0, 500)],
    ["no array at all", () => Buffer.from("hello")],
    ["a shape beyond memory", () => Buffer.from(npy(1, DIM, q).toString("latin1").replace("(1, 4)", "(9999999999, 9999999999)").slice(0, 128), "latin1")],
  ])("%s: an error, and the page as it was", (_, bytes) => onPage(async (page) => {
    await importArrays(page, { "q.npy": bytes() }, { fails: true });
    await page.locator("[role=alert]").waitFor();
    expect(await page.locator("[role=alert]").innerText()).toContain("q.npy");
    expect(await page.locator("[aria-current=step]").count()).toBe(1);
  })());

  it("that do not fit each other are refused with both sizes", onPage(async (page) => {
    await importArrays(page, { "q.npy": npy(20, 3, q), "k.npy": npy(20, 5, k) });
    await start(page);
    await page.locator("[role=alert]").waitFor();
    expect(await page.locator("[role=alert]").innerText()).toMatch(/3.*5/);
  }));
});
