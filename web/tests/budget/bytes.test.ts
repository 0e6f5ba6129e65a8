// What the page may cost over the wire.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { pageFile } from "../support/page_file";

const MOST_BYTES = 400_000; // of page and engine, by gzip -9

it(`page and engine: at most ${MOST_BYTES} bytes by gzip -9`, () => {
  const bytes = gzipSync(readFileSync(pageFile), { level: 9 }).length;
  console.log(`${bytes} bytes`);
  expect(bytes).toBeLessThanOrEqual(MOST_BYTES);
});
