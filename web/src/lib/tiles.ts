// The part of a long attention map that is shown in digits.
import type { LongMap } from "../engine/types";

export interface Corner {
  row: number;
  col: number;
}

export const TILE = { rows: 12, cols: 8 }; // as much as a grid shows whole

type Size = Pick<LongMap, "queries" | "keys">;

const within = (n: number, most: number) => Math.max(0, Math.min(n, most));

// The tile that begins there, or as near to it as the map allows.
export const tileAt = (size: Size, row: number, col: number): Corner => ({
  row: within(row, size.queries - TILE.rows),
  col: within(col, size.keys - TILE.cols),
});

// The tile around a point of the map; x and y from 0 to 1.
export const tileAround = (size: Size, x: number, y: number): Corner =>
  tileAt(size, Math.floor(y * size.queries) - (TILE.rows >> 1), Math.floor(x * size.keys) - (TILE.cols >> 1));

const STEPS: Record<string, [number, number]> = {
  ArrowUp: [-TILE.rows, 0],
  ArrowDown: [TILE.rows, 0],
  ArrowLeft: [0, -TILE.cols],
  ArrowRight: [0, TILE.cols],
};

// The tile beside `from` in the direction of an arrow key; null for any other key.
export function tileBeside(size: Size, from: Corner, key: string): Corner | null {
  const step = STEPS[key];
  return step ? tileAt(size, from.row + step[0], from.col + step[1]) : null;
}
