// Files brought to the page: problem files, solutions, arrays. Their bytes go to the core, which
// alone decides what they are.
import type { Tensor } from "./engine/types";
import { page } from "./page.svelte";

const LARGEST = 512 << 20; // bytes
const isArray = (name: string) => /\.(npy|npz|safetensors)$/i.test(name);

export async function dropFiles(files: File[]): Promise<void> {
  try {
    const tooLarge = files.find((file) => file.size > LARGEST);
    if (tooLarge) throw new Error(`${tooLarge.name}: ${tooLarge.size} bytes are more than a page can hold (${LARGEST})`);
    const arrays = files.filter((file) => isArray(file.name));
    if (arrays.length > 0) return await openArrays(arrays);
    if (files[0]) await openText(files[0].name, await files[0].text());
  } catch (error) {
    page.fail(error);
  }
}

// A solution has claimed steps; anything else is a problem or an error of the core's own.
async function openText(name: string, text: string): Promise<void> {
  if (/solution/i.test(name) || /"steps"\s*:/.test(text)) return page.openSolution(text);
  if (page.mode === "compare") await page.compareWith(text);
  else await page.open(text);
  page.notice = `opened ${name}`;
}

async function openArrays(files: File[]): Promise<void> {
  await page.engine.call({ do: "forget-files" });
  const tensors: (Tensor & { from: string })[] = [];
  for (const file of files) {
    const bytes = new Uint8Array(await file.arrayBuffer());
    const answer = await page.engine.file<{ tensors: Tensor[] }>(file.name, bytes);
    tensors.push(...answer.tensors.map((tensor) => ({ ...tensor, from: file.name })));
  }
  page.openLong(tensors);
}

export function chooseFiles(): void {
  const input = document.createElement("input");
  input.type = "file";
  input.multiple = true;
  input.accept = ".json,.jsonc,.npy,.npz,.safetensors";
  input.onchange = () => void dropFiles([...(input.files ?? [])]);
  input.click();
}
