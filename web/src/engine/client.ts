// The engine as the page sees it: every call is a promise.
import type { Request, Response } from "./worker";
import EngineWorker from "./worker?worker&inline";

interface Waiting {
  resolve(answer: unknown): void;
  reject(error: Error): void;
  progress?: ((done: number) => void) | undefined;
}

type Unnumbered<R> = R extends Request ? Omit<R, "id"> : never;

export class Client {
  private readonly worker: Worker = new EngineWorker();
  private readonly waiting = new Map<number, Waiting>();
  private last = 0;

  constructor() {
    this.worker.onmessage = ({ data }: MessageEvent<Response>) => this.settle(data);
    this.worker.onerror = (event) => this.failAll(new Error(event.message || "the engine failed"));
  }

  // `engine` is the text of the element that carries it: base64 of gzip.
  load(engine: string): Promise<unknown> {
    return this.send({ kind: "load", wasm: engine.trim() });
  }

  call<T>(request: { do: string } & Record<string, unknown>): Promise<T> {
    return this.send({ kind: "call", request }) as Promise<T>;
  }

  file<T>(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<T> {
    return this.send({ kind: "file", name, bytes }, [bytes.buffer]) as Promise<T>;
  }

  // Runs in slices; `signal` ends it between two of them.
  run<T>(
    request: { do: string } & Record<string, unknown>,
    progress: (done: number) => void,
    signal: AbortSignal,
  ): Promise<T> {
    const id = this.last + 1;
    signal.addEventListener("abort", () => this.worker.postMessage({ kind: "cancel", id }));
    return this.send({ kind: "run", request }, [], progress) as Promise<T>;
  }

  private send(
    request: Unnumbered<Request>,
    transfer: Transferable[] = [],
    progress?: (done: number) => void,
  ): Promise<unknown> {
    const id = ++this.last;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject, progress });
      this.worker.postMessage({ ...request, id }, transfer);
    });
  }

  private settle(response: Response): void {
    const waiting = this.waiting.get(response.id);
    if (!waiting) return;
    if ("progress" in response) return waiting.progress?.(response.progress);
    this.waiting.delete(response.id);
    if ("answer" in response) return waiting.resolve(response.answer);
    const answer = "json" in response ? (JSON.parse(response.json) as { error?: string }) : response;
    if (typeof answer.error === "string") waiting.reject(new Error(answer.error));
    else waiting.resolve(answer);
  }

  private failAll(error: Error): void {
    for (const waiting of this.waiting.values()) waiting.reject(error);
    this.waiting.clear();
  }
}
