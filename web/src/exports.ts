// Saving the working: the core's own renderers write the file, the browser saves it.
import { fileName } from "./lib/file_name";
import { page } from "./page.svelte";

export type ExportFormat = "latex" | "markdown" | "svg" | "html" | "json" | "problem";

export const FORMATS: { format: ExportFormat; label: string; extension: string; type: string }[] = [
  { format: "latex", label: "LaTeX", extension: "tex", type: "application/x-tex" },
  { format: "markdown", label: "Markdown", extension: "md", type: "text/markdown" },
  { format: "svg", label: "SVG picture", extension: "svg", type: "image/svg+xml" },
  { format: "html", label: "one HTML file", extension: "html", type: "text/html" },
  { format: "json", label: "JSON trace", extension: "json", type: "application/json" },
  { format: "problem", label: "problem file", extension: "problem.json", type: "application/json" },
];

async function textOf(format: ExportFormat): Promise<string> {
  if (format === "problem")
    return typeof page.source === "string" ? page.source : JSON.stringify(page.source, null, 1) + "\n";
  return (await page.engine.call<{ text: string }>({ do: "render", slot: "main", format })).text;
}

export async function exportAs(format: ExportFormat): Promise<void> {
  const { extension, type } = FORMATS.find((f) => f.format === format)!;
  try {
    const url = URL.createObjectURL(new Blob([await textOf(format)], { type }));
    const anchor = document.createElement("a");
    anchor.href = url;
    anchor.download = `${fileName(page.solved?.title ?? "")}.${extension}`;
    anchor.click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
    page.notice = `saved ${anchor.download}`;
  } catch (error) {
    page.fail(error);
  }
}
