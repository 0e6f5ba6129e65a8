// Focus and caret inside grids that have one tab stop.
import { flushSync } from "svelte";

// Moves the focus to where the tab stop is now. At once, not with the next frame: whoever types fast
// must not have the next key land in the cell just left.
export function focusTabStop(grid: HTMLElement | undefined): void {
  flushSync();
  grid?.querySelector<HTMLElement>("[tabindex='0']")?.focus();
}

// Whether an arrow key would leave the text of an editable cell. A text that is selected as a whole
// has both ends.
export function caretIn(cell: HTMLElement): { atStart: boolean; atEnd: boolean } {
  const selection = getSelection();
  const length = cell.textContent?.length ?? 0;
  if (!selection || selection.rangeCount === 0 || length === 0) return { atStart: true, atEnd: true };
  const range = selection.getRangeAt(0);
  const before = document.createRange();
  before.selectNodeContents(cell);
  before.setEnd(range.startContainer, range.startOffset);
  const from = before.toString().length;
  const to = from + range.toString().length;
  const whole = from === 0 && to === length;
  return { atStart: whole || to === 0, atEnd: whole || from === length };
}
