// Debian's Chromium, headless, for tests and pictures. Nothing may leave the machine: every request
// that is not for a file, a blob or the local server is recorded and refused.
import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { chromium, type Browser, type BrowserContext, type Page } from "playwright-core";
import { pageFile } from "./page_file";

const CANDIDATES = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const options = {
  executablePath: CANDIDATES.find((path) => path && existsSync(path)) ?? "chromium",
  args: ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"],
};

export const pageUrl = pathToFileURL(pageFile).href;
export const launch = (): Promise<Browser> => chromium.launch(options);
export const launchServer = () => chromium.launchServer(options);

export interface Visit {
  context: BrowserContext;
  page: Page;
  problems: string[]; // errors on the console, exceptions, and refused requests
}

export async function visit(browser: Browser, options: Parameters<Browser["newContext"]>[0] = {}): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, acceptDownloads: true, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const problems: string[] = [];
  await context.route(/^https?:\/\/(?!127\.0\.0\.1|localhost)/, (route) => {
    problems.push(`request to ${route.request().url()}`);
    return route.abort();
  });
  page.on("console", (message) => message.type() === "error" && problems.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => problems.push(`exception: ${error.message}`));
  return { context, page, problems };
}
