// A problem file and a link come from anyone: what is wrong with them is said, and nothing in them
// ever runs.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { deflateRawSync } from "node:zlib";
import type { Page } from "playwright-core";
import { describe, expect, inject, it } from "vitest";
import { pageUrl } from "../support/browser";
import { heedOutput } from "../support/cli";
import { alertText, drop, example, expectShown, grid, onPage } from "../support/on_page";

const RUN = "document.documentElement.dataset.ran='yes'";
const tags = [`<img src=x onerror="${RUN}">`, `</script><script>${RUN}</script>`, `"><svg onload=${RUN}>`];
const hostile = {
  title: tags[1],
  tokens: tags,
  x: [[1, 0], [0, 1], [1, 1]],
  w_q: [[1, 0], [1, 1]],
  w_k: [[0, 1], [1, 0]],
  w_v: [[1, 2], [0, 1]],
};
const linkOf = (state: unknown) => `#1.${deflateRawSync(JSON.stringify(state)).toString("base64url")}`;

async function expectHarmless(page: Page) {
  await page.waitForTimeout(200);
  expect(await page.evaluate(() => document.documentElement.dataset.ran ?? "no")).toBe("no");
  expect(await page.locator("img").count()).toBe(0);
}

const expectAsText = async (page: Page) => {
  await expect.poll(() => grid(page, "S").locator("th[scope=row]").allInnerTexts()).toEqual(tags);
  await expectHarmless(page);
};

describe("tags in titles and tokens are text", () => {
  it("in a dropped file", onPage(async (page) => {
    await drop(page, { name: `${tags[0]}.json`, text: JSON.stringify(hostile) });
    await expectAsText(page);
  }));

  it("in a link", () => onPage(expectAsText, { url: pageUrl + linkOf({ problem: hostile, step: "S" }) })());

  it("in a page written by heed page", async () => {
    const page = join(inject("scratch"), "hostile.html");
    writeFileSync(page, await heedOutput(["page", "-"], JSON.stringify(hostile)));
    await onPage(expectAsText, { url: pathToFileURL(page).href })();
  });
});

describe("a link that cannot be read is an error, and the page works on", () => {
  it.each([
    ["of another kind", "#section-2"],
    ["cut short", linkOf({ problem: hostile }).slice(0, 40)],
    ["not base64", "#1.<script>"],
    ["without a problem", linkOf({ step: "S" })],
    ["with a problem that is none", linkOf({ problem: { x: "no matrix" } })],
    ["that unpacks to megabytes", `#1.${deflateRawSync(Buffer.alloc(32 << 20, 32)).toString("base64url")}`],
  ])("%s", (_, fragment) => onPage(async (page) => {
    await page.locator("[role=alert]").waitFor();
    expect((await alertText(page)).length).toBeGreaterThan(10);
    await expectShown(page, example("i-love-ai"), "S");
    await expectHarmless(page);
  }, { url: pageUrl + fragment })());

  it("with odd fields: they become their defaults", () => onPage(async (page) => {
    await expectShown(page, example("i-love-ai"), "S");
    expect(await page.locator("[role=alert]").count()).toBe(0);
  }, {
    url: pageUrl + linkOf({ problem: example("i-love-ai"), step: "no such", view: tags[0], mode: 3, head: 1e300, batch: -1, entry: { id: tags[1] }, written: { "<b>": "1" }, __proto__: null }),
  })());
});

describe("a file that is no problem", () => {
  it.each([
    ["no JSON", "hello"],
    ["nested without end", "[".repeat(50_000)],
    ["sizes beyond memory", '{"generate": {"seed": 1, "dim": 4000000000, "tokens": 4000000000}}'],
    ["a key that is a prototype", '{"__proto__": {"x": [[1]]}, "constructor": 1}'],
    ["numbers that are none", '{"q": [[1e400]], "k": [["NaN"]]}'],
  ])("%s", (_, text) => onPage(async (page) => {
    await drop(page, { name: "file.json", text });
    await page.locator("[role=alert]").waitFor();
    await expectShown(page, example("i-love-ai"), "S");
    await expectHarmless(page);
  })());
});
