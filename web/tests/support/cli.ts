// The command line tool, to compare the page with.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { root } from "./page_file";

export const heedPath = process.env.HEED ?? join(root, "build/heed");
if (!existsSync(heedPath)) throw new Error(`${heedPath} is not there: build it, or set HEED to the tool`);

export interface Ran {
  code: number | null;
  out: string;
  err: string;
}

export async function heed(args: string[], input = ""): Promise<Ran> {
  const tool = spawn(heedPath, args);
  const ended = new Promise<number | null>((resolve, reject) => tool.once("close", resolve).once("error", reject));
  tool.stdin.on("error", () => {}); // it may refuse before it has read everything
  tool.stdin.end(input);
  const [out, err, code] = await Promise.all([text(tool.stdout), text(tool.stderr), ended]);
  return { code, out, err };
}

// What it prints when all goes well.
export async function heedOutput(args: string[], input = ""): Promise<string> {
  const { code, out, err } = await heed(args, input);
  if (code !== 0) throw new Error(`heed ${args.join(" ")} ended with ${code}: ${err}`);
  return out;
}
