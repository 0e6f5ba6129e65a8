// Finding matrices of a solved problem, and naming entries.
import type { MatrixView, Place, Solved, Step } from "../engine/types";

export interface Entry extends Place {
  row: number;
  col: number;
}

const within = (n: number, [first, end]: [number, number]) => n >= first && n < end;

// The matrix `id` as sequence `batch` and query head `head` see it.
export function findMatrix(solved: Solved, id: string, batch: number, head: number) {
  return solved.matrices.find(
    (m) => m.id === id && within(batch, m.batches) && within(head, m.heads),
  );
}

export const inputsOf = (solved: Solved, matrix: MatrixView): MatrixView[] =>
  matrix.inputs.flatMap(
    (place) =>
      solved.matrices.find(
        (m) => m.id === place.id && m.batch === place.batch && m.head === place.head,
      ) ?? [],
  );

export const samePlace = (a: Place | null | undefined, b: Place | null | undefined) =>
  !!a && !!b && a.id === b.id && a.batch === b.batch && a.head === b.head;

export const stepOf = (solved: Solved, id: string): Step | undefined =>
  solved.steps.find((step) => step.id === id);

// The number of a head is said only where there are several.
export function nameOf(solved: Solved, matrix: MatrixView): string {
  const several = matrix.heads[1] - matrix.heads[0] < solved.sizes.heads;
  return several ? `${matrix.id}, head ${matrix.head + 1}` : matrix.id;
}

// What the live region says of an entry: "S, row love, column AI, 3".
export function reading(solved: Solved, matrix: MatrixView, row: number, col: number, text: string) {
  const spoken = text === "·" ? "hidden" : text.replace("−∞", "minus infinity").replace("−", "minus ");
  const column = matrix.colLabels[col] ?? String(col + 1);
  return `${nameOf(solved, matrix)}, row ${matrix.rowLabels[row] ?? row + 1}, column ${column}, ${spoken}`;
}
