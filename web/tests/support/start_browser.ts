// What all browser tests share: one Chromium, `heed serve`, and a page written by `heed page`.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import type { TestProject } from "vitest/node";
import { launchServer } from "./browser";
import { heedOutput, heedPath } from "./cli";
import { root } from "./page_file";

declare module "vitest" {
  interface ProvidedContext {
    browserEndpoint: string;
    servedUrl: string; // the page as `heed serve` gives it
    mailedUrl: string; // the page as `heed page` writes it, with examples/b-causal.json in it
    scratch: string; // a folder that is removed afterwards
  }
}

export default async function setup(project: TestProject) {
  const scratch = mkdtempSync(join(tmpdir(), "heed-page-"));
  const mailed = join(scratch, "mailed.html");
  await heedOutput(["page", join(root, "examples/b-causal.json"), "-o", mailed]);

  const server = spawn(heedPath, ["serve", "--port", "0"], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(createInterface(server.stdout), "line")) as [string];
  const servedUrl = /http:\S+/.exec(line)?.[0];
  if (!servedUrl) throw new Error(`heed serve said ${line}`);

  const browser = await launchServer();
  project.provide("browserEndpoint", browser.wsEndpoint());
  project.provide("servedUrl", servedUrl);
  project.provide("mailedUrl", pathToFileURL(mailed).href);
  project.provide("scratch", scratch);
  return async () => {
    server.kill();
    await browser.close();
    rmSync(scratch, { recursive: true });
  };
}
