// One folder of tests at a time: `vitest run --config tests/vitest.config.ts --dir tests/unit`.
// Tests share the machine with a browser, so files run one after the other.
import { defineConfig } from "vitest/config";

export default defineConfig({
  root: new URL("..", import.meta.url).pathname,
  server: { fs: { allow: ["..", "."] } }, // the examples lie beside web/
  test: {
    include: ["**/*.test.ts"],
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 60_000,
    reporters: ["verbose"],
  },
});
