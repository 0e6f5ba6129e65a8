// What the engine answers (web/engine/*.cc writes exactly this). Every number that is shown is text
// made by the core; `shade` is where a value lies on its colour scale, -1..1 or 0..1, null for none.

export type View = "entry" | "row" | "column" | "outer";
export type Axis = "query" | "key" | "feature" | "token";

// A rectangle of a matrix, ready to be shown. Row-major.
export interface Cells {
  row: number; // of its first entry, 0-based
  col: number;
  rows: number;
  cols: number;
  text: string[];
  shade: (number | null)[];
  hidden: boolean[] | null; // masked entries, where there are any
}

export interface Scale {
  kind: "diverging" | "weights";
  low: string; // what the ends of the legend say
  high: string;
}

export interface Place {
  id: string;
  batch: number;
  head: number;
}

export interface MatrixView extends Place {
  op: string;
  inputs: Place[];
  batches: [number, number]; // the sequences it serves, first and one past the last
  heads: [number, number]; // the query heads it serves, likewise
  transposed: boolean; // of a product: the second factor is transposed
  rows: number;
  cols: number;
  rowAxis: Axis;
  colAxis: Axis;
  rowLabels: string[];
  colLabels: string[];
  shapes: string; // "3×2 · 2×3 → 3×3"
  rounded: boolean; // some entry is shown rounded
  scale: Scale;
  cells: Cells | null; // null: too large to send whole, ask for a window
}

export interface Step {
  id: string;
  key: string;
  title: string;
  formula: string;
  latex: string;
  why: string;
}

export interface Sizes {
  batch: number;
  heads: number;
  kvHeads: number;
  parameters: string; // "heads 786,432 + W_O 262,144 = 1,048,576"; empty without weights
}

export interface Solved {
  title: string;
  sizes: Sizes;
  steps: Step[];
  matrices: MatrixView[];
  inputs: string; // origin of the inputs, in words
  weights: string;
  problem: ProblemFile | null; // normalised; null when it is too large to edit
  expansion: Expansion | null; // of the entry that the request named, if there is such a one
}

// One line of a working, as text and as LaTeX.
export interface Line {
  relation: "=" | "≈";
  text: string;
  latex: string;
}

// What the core says of one entry, and the same numbers as text.
export interface Expansion {
  expansion: Place & {
    row: number;
    col: number;
    reading: string;
    symbol: { text: string; latex: string };
    lines: Line[];
    note: string;
    used_by: (Place & { where: string })[];
  };
  name: string; // "S[love, AI]"
  terms: { a: string; b: string; product: string }[];
  termsLeftOut: number;
  value: string;
  exactValue: string; // all 17 digits
}

export interface SoftmaxRow {
  labels: string[];
  rowLabel: string;
  hidden: boolean[];
  fullyMasked: boolean;
  rows: { name: "z" | "shifted" | "exps" | "weights"; text: string[]; sum: string }[];
  max: string;
  lse: string;
  sink: string; // empty: none
  naive: { exps: string[]; sum: string; weights: string[]; fails: boolean };
  shade: (number | null)[];
}

export interface MatrixStrip {
  rowLabels: string[];
  colLabels: string[];
  cells: Cells;
}

export interface Part {
  coefficient: string;
  name: string;
  vector: MatrixStrip;
  product: MatrixStrip;
}

export interface Combination {
  view: View;
  name: string;
  parts: Part[];
  leftOut: number; // parts that are not listed because there are too many
  value: MatrixStrip;
}

export interface Finding extends Place {
  mark: "correct" | "wrong" | "carried" | "missing";
  row: number;
  col: number;
  where: string;
  written: string;
  expected: string;
  diagnosis: string;
}

export interface CheckReport {
  findings: Finding[];
  correct: number;
  wrong: number;
  carried: number;
  missing: number;
  firstWrong: number | null;
  summary: string;
}

export interface Difference extends Place {
  row: number;
  col: number;
  a: string;
  b: string;
  where: string;
}

export interface DiffReport {
  shape: string[];
  same: string[];
  first: Difference | null;
  firstStep: Difference | null; // the first that is not an input
  count: number;
  summary: string;
}

// A long input: what is kept of it, and pieces that are recomputed.
export interface Tensor {
  file: number;
  name: string;
  dtype: string;
  shape: number[];
  shapeText: string;
}

export interface LongMap {
  queries: number;
  keys: number;
  dim: number;
  rows: number; // of the map
  cols: number;
  largest: string;
  map: (number | null)[]; // the largest weight of each cell, row-major
}

export interface LongEntry {
  row: number;
  col: number;
  score: Expansion;
  scaled: string;
  lse: string;
  weight: string;
  hidden: boolean;
}

// A problem file (docs/problem-files.md) as an object.
export interface ProblemFile {
  [field: string]: unknown;
}
