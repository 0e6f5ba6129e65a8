// What someone sees who opens the page for the first time, from wherever it was opened.
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { pageUrl, type Visit } from "../support/browser";
import { heedOutput } from "../support/cli";
import { example, inspector, currentStep, expectShown, freshVisit, onPage, pickExample, grid } from "../support/on_page";
import { root } from "../support/page_file";

const ways = [
  { way: "opened from disk", url: () => pageUrl, name: "i-love-ai", title: "I love AI" },
  { way: "served by heed serve", url: () => inject("servedUrl"), name: "i-love-ai", title: "I love AI" },
  { way: "written by heed page", url: () => inject("mailedUrl"), name: "b-causal", title: "Causal mask" },
];

describe.each(ways)("the page $way", ({ url, name, title }) => {
  const on = (body: Parameters<typeof onPage>[0], expected = /^$/) => () => onPage(body, { url: url(), expected })();

  it(`shows '${title}' solved, with the scores open`, on(async (page) => {
    expect(await page.getByRole("heading", { level: 2 }).first().innerText()).toBe(title);
    expect(await currentStep(page)).toMatch(/scores/i);
    await expectShown(page, example(name), "S");
    await expect.poll(() => inspector(page).innerText()).toContain("S[");
  }));

  it("has a policy that lets no foreign script run", on(async (page) => {
    const policy = (await page.locator("meta[http-equiv=Content-Security-Policy]").getAttribute("content"))!;
    expect(policy).toContain("default-src 'none'");
    expect(policy).toMatch(/script-src 'sha256-[^']+' 'wasm-unsafe-eval'/);
    expect(policy).not.toContain("unsafe-inline");
    expect(policy).not.toMatch(/'unsafe-eval'|https?:|\*/);
    const ran = await page.evaluate(async () => {
      const refused = new Promise((resolve) => document.addEventListener("securitypolicyviolation", () => resolve("refused")));
      const script = document.createElement("script");
      script.textContent = "document.documentElement.dataset.ran = 'yes'";
      document.body.append(script);
      await refused;
      return document.documentElement.dataset.ran ?? "no";
    }).catch((error: Error) => error.message);
    expect(ran).toBe("no");
  }, /Content Security Policy/));
});

describe("a browser that cannot compute is shown one example, worked out beforehand", () => {
  async function expectWorkedExample({ context, page, problems }: Visit) {
    await page.goto(pageUrl);
    const fallback = page.locator("#fallback");
    await fallback.waitFor();
    expect(await fallback.innerText()).toContain("needs JavaScript and WebAssembly");
    expect(await fallback.locator("pre").textContent()).toBe(await heedOutput(["explain", join(root, "examples/i-love-ai.json")]));
    expect(problems).toEqual([]);
    await context.close();
  }

  it("without JavaScript", async () => expectWorkedExample(await freshVisit({ javaScriptEnabled: false })));

  it("without WebAssembly", async () => {
    const visit = await freshVisit();
    await visit.page.addInitScript(() => Reflect.deleteProperty(globalThis, "WebAssembly"));
    await expectWorkedExample(visit);
  });
});

it("asks for nothing but itself", async () => {
  const asked: string[] = [];
  await onPage(async (page) => {
    page.on("request", (request) => asked.push(request.url()));
    await page.reload();
    await page.locator("[aria-current=step]").waitFor();
  }, { url: inject("servedUrl") })();
  expect(asked.filter((url) => !url.startsWith("blob:") && !url.startsWith("data:"))).toEqual([inject("servedUrl")]);
});

it("has every worked example in its menu", onPage(async (page) => {
  await page.getByRole("button", { name: /^examples/ }).click();
  const titles = await page.getByRole("menuitem").allInnerTexts();
  expect(titles.length).toBeGreaterThanOrEqual(7);
  await page.keyboard.press("Escape");
  for (const title of titles) {
    await pickExample(page, title);
    await expect.poll(() => page.getByRole("heading", { level: 2 }).first().innerText(), { timeout: 30_000 }).toBe(title);
    expect(await page.locator("[role=alert]").count()).toBe(0);
    expect(await grid(page, "S").locator("td").count()).toBeGreaterThan(0);
  }
}));
