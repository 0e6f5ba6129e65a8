// What was filled in by hand, as a solution file: {"steps": [{"S": [["0", "1"], [null, "2"]]}]}.
import type { MatrixView, Solved } from "../engine/types";

export type Written = Record<string, string>; // by "id/batch/head/row/col"

export const cellKey = ({ id, batch, head }: MatrixView, row: number, col: number) =>
  `${id}/${batch}/${head}/${row}/${col}`;

// The matrices to be worked: every result of a step.
export const workedMatrices = (solved: Solved): MatrixView[] =>
  solved.matrices.filter((matrix) => matrix.op !== "input");

const rowsOf = (matrix: MatrixView, written: Written): (string | null)[][] =>
  Array.from({ length: matrix.rows }, (_, i) =>
    Array.from({ length: matrix.cols }, (_, j) => written[cellKey(matrix, i, j)] ?? null),
  );

// Null when nothing is written. A row without a single number is left out as a whole.
export function solutionText(solved: Solved, written: Written): string | null {
  const steps = workedMatrices(solved).flatMap((matrix) => {
    const rows = rowsOf(matrix, written);
    return rows.flatMap((row, i) =>
      row.some((cell) => cell !== null)
        ? [{ [matrix.id]: [row.map((cell) => cell?.replaceAll("−", "-") ?? null)], row: i, batch: matrix.batch, head: matrix.heads[0] }]
        : [],
    );
  });
  return steps.length === 0 ? null : JSON.stringify({ steps });
}
