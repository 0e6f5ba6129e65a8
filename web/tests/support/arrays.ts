// NumPy files made by hand: .npy, and .npz stored or deflated.
import { deflateRawSync } from "node:zlib";

export function npy(rows: number, cols: number, value: (i: number, j: number) => number): Buffer {
  const shape = `{'descr': '<f4', 'fortran_order': False, 'shape': (${rows}, ${cols}), }`;
  const header = shape.padEnd(128 - 10 - 1) + "\n"; // magic, version and length take 10 bytes
  const data = Float32Array.from({ length: rows * cols }, (_, k) => value(Math.floor(k / cols), k % cols));
  const start = Buffer.from([0x93, ...Buffer.from("NUMPY"), 1, 0, header.length & 255, header.length >> 8]);
  return Buffer.concat([start, Buffer.from(header, "latin1"), Buffer.from(data.buffer)]);
}

function crc32(bytes: Uint8Array): number {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

const little = (...fields: [bytes: number, value: number][]) =>
  Buffer.concat(
    fields.map(([bytes, value]) => {
      const field = Buffer.alloc(bytes);
      field.writeUIntLE(value, 0, bytes);
      return field;
    }),
  );

export function npz(members: Record<string, Buffer>, { deflated = false } = {}): Buffer {
  const locals: Buffer[] = [];
  const entries: Buffer[] = [];
  let at = 0;
  for (const [name, data] of Object.entries(members)) {
    const packed = deflated ? deflateRawSync(data) : data;
    const fileName = Buffer.from(`${name}.npy`);
    const common = little([2, 20], [2, 0], [2, deflated ? 8 : 0], [4, 0], [4, crc32(data)], [4, packed.length], [4, data.length], [2, fileName.length], [2, 0]);
    const local = Buffer.concat([little([4, 0x04034b50]), common, fileName, packed]);
    entries.push(Buffer.concat([little([4, 0x02014b50], [2, 20]), common, little([2, 0], [2, 0], [2, 0], [4, 0], [4, at]), fileName]));
    locals.push(local);
    at += local.length;
  }
  const directory = Buffer.concat(entries);
  const count = entries.length;
  const end = little([4, 0x06054b50], [2, 0], [2, 0], [2, count], [2, count], [4, directory.length], [4, at], [2, 0]);
  return Buffer.concat([...locals, directory, end]);
}
