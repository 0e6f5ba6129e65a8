// The C++ core as a WebAssembly module: text in, text out, and bytes lent to it.
//
// The module is built without any JavaScript of its own (web/CMakeLists.txt), so this is all the
// glue there is; the worker and the tests under Node use the same lines.

interface Exports {
  memory: WebAssembly.Memory;
  _initialize(): void;
  malloc(size: number): number;
  free(pointer: number): void;
  heed_call(request: number, length: number): number; // address of {pointer, length}
}

// What the C++ runtime asks of its host. There are no files, no arguments and no clock behind it:
// whatever it asks of them fails as it would on a system without them.
const NO_FILE = 8; // errno EBADF
const NO_CALL = -52; // -ENOSYS
const HOST: Record<string, (...args: number[]) => number> = {
  emscripten_notify_memory_growth: () => 0,
  environ_sizes_get: () => 0,
  environ_get: () => 0,
  proc_exit: (code) => {
    throw new Error(`the engine stopped with code ${code}`);
  },
};

function host(module: WebAssembly.Module): WebAssembly.Imports {
  const imports: Record<string, Record<string, WebAssembly.ImportValue>> = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    const stub = name.startsWith("fd_") ? () => NO_FILE : () => NO_CALL;
    (imports[from] ??= {})[name] = HOST[name] ?? stub;
  }
  return imports;
}

export class Engine {
  private constructor(private readonly core: Exports) {}

  static async load(wasm: BufferSource): Promise<Engine> {
    const module = await WebAssembly.compile(wasm);
    const instance = await WebAssembly.instantiate(module, host(module));
    const core = instance.exports as unknown as Exports;
    core._initialize();
    return new Engine(core);
  }

  // One request, answered by JSON text.
  call(request: string): string {
    const bytes = new TextEncoder().encode(request);
    const pointer = this.lend(bytes);
    try {
      // The call may grow the memory, which replaces its buffer: ask for that afterwards only.
      const result = this.core.heed_call(pointer, bytes.length);
      const [answer, length] = new Uint32Array(this.core.memory.buffer, result, 2) as unknown as [number, number];
      return new TextDecoder().decode(new Uint8Array(this.core.memory.buffer, answer, length));
    } finally {
      this.core.free(pointer);
    }
  }

  // Copies bytes into the engine's memory; the caller of `release` ends that.
  lend(bytes: Uint8Array): number {
    const pointer = this.core.malloc(Math.max(bytes.length, 1));
    if (pointer === 0) throw new Error(`the engine has no room for ${bytes.length} bytes`);
    new Uint8Array(this.core.memory.buffer, pointer, bytes.length).set(bytes);
    return pointer;
  }

  release(pointer: number): void {
    this.core.free(pointer);
  }
}
