// A long input with something to see: every query is drawn towards its own key.

// Numbers in [-1, 1) that are the same on every machine.
function* noise(seed: number): Generator<number> {
  for (let state = seed; ; ) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state / 2 ** 31 - 1;
  }
}

export function peaked(tokens: number, dim: number): { q: Float32Array; k: Float32Array } {
  const source = noise(7);
  const next = () => source.next().value as number;
  const k = Float32Array.from({ length: tokens * dim }, () => 2 * next());
  const q = k.map((value) => 0.7 * value + 2 * next());
  return { q, k };
}

// The rows as a .npy file, version 1.0.
export function npy(values: Float32Array, cols: number): Buffer {
  const text = `{'descr': '<f4', 'fortran_order': False, 'shape': (${values.length / cols}, ${cols}), }`;
  const header = text.padEnd(117) + "\n"; // the data begins at a multiple of 64 bytes
  const size = Buffer.alloc(2);
  size.writeUInt16LE(header.length);
  return Buffer.concat([Buffer.from("\x93NUMPY\x01\x00", "latin1"), size, Buffer.from(header), Buffer.from(values.buffer)]);
}
