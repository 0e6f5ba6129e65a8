// The page as it was built, and what is inside it.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { Engine } from "../../src/engine/wasm";

export const root = fileURLToPath(new URL("../../..", import.meta.url));
export const pageFile = fileURLToPath(new URL("../../dist/index.html", import.meta.url));

// The engine that the page carries, not one that lies beside it.
export function engineBytes(): Buffer<ArrayBuffer> {
  const element = /<script type="text\/plain" id="engine">([^<]+)</.exec(readFileSync(pageFile, "utf8"));
  if (!element) throw new Error(`${pageFile} carries no engine`);
  return Buffer.from(gunzipSync(Buffer.from(element[1]!, "base64")));
}

export type Ask = <T = Record<string, unknown>>(request: { do: string } & Record<string, unknown>) => T;

// A fresh engine; an answer that is an error throws.
export async function startEngine(): Promise<Ask> {
  const engine = await Engine.load(engineBytes());
  return <T>(request: object) => {
    const answer = JSON.parse(engine.call(JSON.stringify(request))) as { error?: string };
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer as T;
  };
}
