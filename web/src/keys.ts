// Keys of the whole page; grids and fields handle their own first.
import { page } from "./page.svelte";

const VIEWS = ["entry", "row", "column", "outer"] as const;

const isField = (target: EventTarget | null) =>
  target instanceof HTMLElement && target.matches("input:not([type=checkbox], [type=radio]), select, textarea, [contenteditable]");

export function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (isField(event.target) || document.querySelector("dialog[open]")) return;
  const view = VIEWS[Number(event.key) - 1];
  const onButton = event.target instanceof HTMLElement && event.target.matches("button, summary, a, input, label");
  if (event.key === "[") page.walk(-1);
  else if (event.key === "]") page.walk(1);
  else if (event.key === "?") page.dialog = "help";
  else if (event.key === " " && !onButton) page.togglePlay();
  else if (view) page.setView(view);
  else return;
  event.preventDefault();
}
