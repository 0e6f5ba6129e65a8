// Focus inside grids that have one tab stop.
import { flushSync } from "svelte";

// Moves the focus to where the tab stop is now. At once, not with the next frame: whoever types fast
// must not have the next key land in the cell just left.
export function focusTabStop(grid: HTMLElement | undefined): void {
  flushSync();
  grid?.querySelector<HTMLElement>("[tabindex='0']")?.focus();
}
