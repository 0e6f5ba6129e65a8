// The worker: holds the engine and answers one request after the other, so that the page never
// waits for arithmetic. Long inputs run in slices; between two slices other requests, among them a
// cancellation, are answered.
import { fromBase64 } from "../lib/base64";
import { unpack } from "../lib/deflate";
import { inflateZip } from "../lib/zip";
import { Engine } from "./wasm";

export type Request =
  | { kind: "load"; id: number; wasm: string } // base64 of gzip
  | { kind: "call"; id: number; request: object } // answered by json
  | { kind: "file"; id: number; name: string; bytes: Uint8Array<ArrayBuffer> }
  | { kind: "run"; id: number; request: object } // a long run: slices until done or cancelled
  | { kind: "cancel"; id: number };

export type Response =
  | { id: number; json: string } // of a call, as the engine wrote it: text crosses threads fastest
  | { id: number; answer: unknown }
  | { id: number; error: string }
  | { id: number; progress: number };

const ENGINE_LIMIT = 32 << 20;
const FILE_LIMIT = 512 << 20; // bytes of a compressed file once unpacked

let engine: Promise<Engine>;
const cancelled = new Set<number>();

const post = (response: Response) => self.postMessage(response);

async function ask(request: object): Promise<Record<string, unknown>> {
  const answer = JSON.parse((await engine).call(JSON.stringify(request))) as Record<string, unknown>;
  if (typeof answer.error === "string") throw new Error(answer.error);
  return answer;
}

async function file(name: string, given: Uint8Array<ArrayBuffer>): Promise<unknown> {
  const core = await engine;
  const bytes = await inflateZip(given, FILE_LIMIT).catch((error: Error) => {
    throw new Error(`${name}: ${error.message}`);
  });
  const pointer = core.lend(bytes);
  try {
    return await ask({ do: "file", name, pointer, size: bytes.length });
  } finally {
    core.release(pointer);
  }
}

async function run(id: number, request: object): Promise<unknown> {
  await ask(request);
  for (;;) {
    const { done, answer } = await ask({ do: "long-slice" });
    if (answer) return answer;
    post({ id, progress: done as number });
    await new Promise((resume) => setTimeout(resume, 0)); // lets a cancellation in
    if (cancelled.delete(id)) {
      await ask({ do: "long-end" });
      throw new Error("cancelled");
    }
  }
}

async function handle(message: Exclude<Request, { kind: "call" }>): Promise<unknown> {
  switch (message.kind) {
    case "load":
      engine = unpack(fromBase64(message.wasm), "gzip", ENGINE_LIMIT).then(Engine.load);
      await engine;
      return null;
    case "file":
      return file(message.name, message.bytes);
    case "run":
      return run(message.id, message.request);
    case "cancel":
      cancelled.add(message.id);
      return null;
  }
}

self.onmessage = async ({ data }: MessageEvent<Request>) => {
  try {
    if (data.kind === "call") return post({ id: data.id, json: (await engine).call(JSON.stringify(data.request)) });
    const answer = await handle(data);
    if (data.kind !== "cancel") post({ id: data.id, answer });
  } catch (error) {
    post({ id: data.id, error: error instanceof Error ? error.message : String(error) });
  }
};
