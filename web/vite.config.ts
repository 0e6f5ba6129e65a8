import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";
import { oneFile } from "./build/one_file";

const wasm = process.env.HEED_ENGINE ?? "../build-wasm/web/engine.wasm";
const example = "../examples/i-love-ai.json";

export default defineConfig({
  plugins: [svelte(), oneFile({ wasm, example })],
  worker: { format: "iife" },
  build: {
    target: "es2022",
    assetsInlineLimit: Number.MAX_SAFE_INTEGER,
    cssCodeSplit: false,
    modulePreload: false,
    reportCompressedSize: false,
  },
});
