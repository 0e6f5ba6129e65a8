// A matrix as people have it on the clipboard: spreadsheet cells, CSV, NumPy, LaTeX, JSON.
//
//   1  0      1,0       array([[1, 0],       [[1. 0.]      \begin{bmatrix} 1 & 0 \\
//   0  1      0;1              [0, 1]])       [0. 1.]]     0 & 1 \end{bmatrix}

export type Rows = number[][];

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

// One number as written; also with a typographic minus. NaN and infinities are refused: a problem
// has none of them among its inputs.
export function parseNumber(text: string): number | null {
  const plain = text.trim().replace(/^[−–]/, "-");
  if (!NUMBER.test(plain)) return null;
  const value = Number(plain);
  return Number.isFinite(value) ? value : null;
}

const ROW = /\[([^[\]]*)\]/g;
const AROUND_ROWS = /\b(np\.|numpy\.|torch\.)?(array|tensor|matrix)\(|\bdtype=[\w.'"<]+|[\s,();]/g;

// Rows are the innermost brackets; what separates numbers is white space, a comma, or both.
function fromBrackets(text: string): string[][] {
  const rest = text.replace(ROW, "").replace(AROUND_ROWS, "");
  if (/^\[\[[[\]]*\]\]$/.test(rest)) throw new Error("what was pasted is a list of matrices, expected one matrix");
  if (rest !== "" && rest !== "[]") throw new Error(`what was pasted is cut short or no matrix: “${rest.slice(0, 24)}” is left over`);
  const rows = [...text.matchAll(ROW)].map((match) => match[1] ?? "");
  return rows.map((row) => row.split(/[\s,]+/).filter((cell) => cell !== ""));
}

function fromLatex(text: string): string[][] {
  const body = text
    .replace(/\\(begin|end)\{[^}]*\}(\{[^}]*\})?/g, "")
    .replace(/\\(left|right|hline|displaystyle|,|;|!|quad)\s*[[\](){}|.]?/g, " ")
    .replace(/[${}]/g, " ");
  return body
    .split(/\\\\(?:\[[^\]]*\])?/)
    .map((row) => row.split("&").map((cell) => cell.trim()))
    .filter((row) => row.some((cell) => cell !== ""));
}

const SEPARATORS = ["\t", ";", ","];

function fromLines(text: string): string[][] {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== "");
  const separator = SEPARATORS.find((mark) => lines.some((line) => line.includes(mark)));
  // Between white space nothing can be missing; beside a tab or comma an empty cell is one.
  const cells = (line: string) => (separator === undefined ? line.trim().split(/\s+/) : line.split(separator));
  return lines.map((line) => cells(line).map((cell) => cell.trim().replace(/^"(.*)"$/, "$1")));
}

// Throws with the place and what stands there.
export function parseMatrix(text: string): Rows {
  const cells = /\\begin|&/.test(text)
    ? fromLatex(text)
    : text.includes("[")
      ? fromBrackets(text)
      : fromLines(text);
  if (cells.length === 0 || cells[0]?.length === 0) throw new Error("nothing to paste: no numbers in it");
  const columns = cells[0]?.length ?? 0;
  return cells.map((row, i) => {
    if (row.length !== columns)
      throw new Error(`pasted row ${i + 1} has ${row.length} values, expected ${columns}`);
    return row.map((cell, j) => {
      const value = parseNumber(cell);
      if (value === null)
        throw new Error(`pasted row ${i + 1}, column ${j + 1}: "${cell.slice(0, 24)}" is no number`);
      return value;
    });
  });
}
