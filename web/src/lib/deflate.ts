// The browser's own compression, with a bound on what unpacking may produce: a short link must not
// be able to fill the memory.

type Codec = "gzip" | "deflate-raw";

async function through(bytes: Uint8Array<ArrayBuffer>, codec: GenericTransformStream, limit: number) {
  const reader = new Blob([bytes]).stream().pipeThrough(codec).getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > limit) {
      await reader.cancel();
      throw new Error(`unpacks to more than ${limit} bytes`);
    }
    parts.push(value);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export const pack = (bytes: Uint8Array<ArrayBuffer>, codec: Codec) =>
  through(bytes, new CompressionStream(codec), Number.MAX_SAFE_INTEGER);

export const unpack = (bytes: Uint8Array<ArrayBuffer>, codec: Codec, limit: number) =>
  through(bytes, new DecompressionStream(codec), limit);
