// Editing a problem file as an object: which matrices it has, and changes that keep their sizes in
// step. Every function returns a new problem; nothing here computes with the numbers.
import type { ProblemFile } from "../engine/types";
import type { Rows } from "./paste";

// Where a matrix of the file is: of one sequence of a batch (or of the problem), of one head.
export interface Path {
  field: string;
  sequence: number | null; // null: a field of the problem itself
  head: number | null; // null: one matrix for all heads
}

export interface MatrixField {
  path: Path;
  id: string; // as the trace calls it: "W_Q"
  label: string; // "W_Q, head 2"
  rows: Rows;
}

type Fields = Record<string, unknown>;

const PER_SEQUENCE = ["x", "context", "q", "k", "v", "bias"];
const WEIGHTS = ["w_q", "b_q", "w_k", "b_k", "w_v", "b_v", "w_o", "b_o"];
const IDS: Record<string, string> = {
  x: "X", context: "X_KV", q: "Q", k: "K", v: "V", bias: "B",
  w_q: "W_Q", w_k: "W_K", w_v: "W_V", w_o: "W_O", b_q: "b_Q", b_k: "b_K", b_v: "b_V", b_o: "b_O",
};

export const isMatrix = (x: unknown): x is Rows =>
  Array.isArray(x) && x.length > 0 && x.every((row) => Array.isArray(row) && row.every((v) => !Array.isArray(v)));
const isHeads = (x: unknown): x is Rows[] => Array.isArray(x) && x.length > 0 && x.every(isMatrix);

export const sequencesOf = (problem: ProblemFile): Fields[] =>
  Array.isArray(problem.batch) ? (problem.batch as Fields[]) : [problem];

const isBatch = (problem: ProblemFile) => Array.isArray(problem.batch);

// All matrices that can be edited, those of sequence `sequence` and the weights.
export function matrixFields(problem: ProblemFile, sequence: number): MatrixField[] {
  const found: MatrixField[] = [];
  const add = (fields: Fields, names: string[], at: number | null) => {
    for (const field of names) {
      const value = fields[field];
      const id = IDS[field]!;
      if (isMatrix(value)) found.push({ path: { field, sequence: at, head: null }, id, label: id, rows: value });
      else if (isHeads(value))
        value.forEach((rows, head) =>
          found.push({ path: { field, sequence: at, head }, id, label: `${id}, head ${head + 1}`, rows }),
        );
    }
  };
  const fields = sequencesOf(problem)[sequence];
  if (fields) add(fields, PER_SEQUENCE, isBatch(problem) ? sequence : null);
  add(problem, WEIGHTS, null);
  return found;
}

function changeFields(problem: ProblemFile, sequence: number | null, change: (fields: Fields) => Fields): ProblemFile {
  if (sequence === null) return change(problem);
  const batch = sequencesOf(problem).map((fields, b) => (b === sequence ? change(fields) : fields));
  return { ...problem, batch };
}

export function setMatrix(problem: ProblemFile, { field, sequence, head }: Path, rows: Rows): ProblemFile {
  return changeFields(withoutOrigin(problem, field), sequence, (fields) => {
    if (head === null) return { ...fields, [field]: rows };
    const heads = (fields[field] as Rows[]).map((old, h) => (h === head ? rows : old));
    return { ...fields, [field]: heads };
  });
}

// Numbers that someone has typed over are no longer "generated".
function withoutOrigin(problem: ProblemFile, field: string): ProblemFile {
  const { inputs_origin, weights_origin, ...rest } = problem;
  return WEIGHTS.includes(field)
    ? { ...rest, ...(inputs_origin === undefined ? {} : { inputs_origin }) }
    : { ...rest, ...(weights_origin === undefined ? {} : { weights_origin }) };
}

export function setField(problem: ProblemFile, field: string, value: unknown): ProblemFile {
  const { [field]: _, ...rest } = problem;
  return value === undefined ? rest : { ...rest, [field]: value };
}

export function setSequenceField(problem: ProblemFile, sequence: number, field: string, value: unknown): ProblemFile {
  const change = (fields: Fields) => setField(fields, field, value);
  return changeFields(problem, isBatch(problem) ? sequence : null, change);
}

// ------------------------------------------------------------------------------------- sizes

export function resizeRows<T>(rows: T[][], height: number, width: number, fill: T): T[][] {
  return Array.from({ length: height }, (_, i) =>
    Array.from({ length: width }, (_, j) => rows[i]?.[j] ?? fill),
  );
}

const sizeOf = (rows: Rows | undefined) => ({ rows: rows?.length ?? 0, cols: rows?.[0]?.length ?? 0 });
const firstOf = (value: unknown): Rows | undefined =>
  isMatrix(value) ? value : isHeads(value) ? value[0] : undefined;

export interface ProblemSizes {
  queries: number;
  keys: number;
  dim: number; // columns of X; 0 when q, k, v are given
  contextDim: number;
  keyDim: number;
  valueDim: number; // 0: no values, or the keys serve as values
  heads: number;
  kvHeads: number;
  cross: boolean;
  outDim: number; // 0: no W_O
}

const count = (x: unknown, otherwise: number) => (Number.isSafeInteger(x) ? (x as number) : otherwise);

export function sizesOf(problem: ProblemFile, sequence: number): ProblemSizes {
  const fields = sequencesOf(problem)[sequence] ?? {};
  const x = sizeOf(firstOf(fields.x));
  const q = sizeOf(firstOf(fields.q));
  const k = sizeOf(firstOf(fields.k));
  const context = sizeOf(firstOf(fields.context));
  const cross = context.rows > 0;
  const projected = x.rows > 0;
  const heads = count(problem.heads, 1);
  return {
    queries: projected ? x.rows : q.rows,
    keys: cross ? context.rows : projected ? x.rows : k.rows,
    dim: x.cols,
    contextDim: cross ? context.cols : x.cols,
    keyDim: projected ? sizeOf(firstOf(problem.w_q)).cols : q.cols,
    valueDim: projected ? sizeOf(firstOf(problem.w_v)).cols : sizeOf(firstOf(fields.v)).cols,
    heads,
    kvHeads: count(problem.kv_heads, heads),
    cross,
    outDim: sizeOf(firstOf(problem.w_o)).cols,
  };
}

const each = (value: unknown, change: (rows: Rows) => unknown): unknown =>
  isMatrix(value) ? change(value) : isHeads(value) ? value.map(change) : value;

// One matrix, or the list of one per head; new heads begin as copies of the last.
function withHeads(value: unknown, heads: number): unknown {
  const list = isMatrix(value) ? [value] : isHeads(value) ? value : null;
  if (!list) return value;
  const copies = Array.from({ length: heads }, (_, h) => list[Math.min(h, list.length - 1)]!.map((row) => [...row]));
  return heads === 1 ? copies[0] : copies;
}

const resizeTokens = (tokens: unknown, length: number): unknown =>
  Array.isArray(tokens) ? Array.from({ length }, (_, i) => tokens[i] ?? `token ${i + 1}`) : tokens;

// The problem with other sizes: what fits is kept, new numbers are 0, new mask entries attend.
export function resize(problem: ProblemFile, sequence: number, wanted: Partial<ProblemSizes>): ProblemFile {
  const old = sizesOf(problem, sequence);
  const size = { ...old, ...wanted };
  if (!old.cross && wanted.queries !== undefined && wanted.keys === undefined && old.queries === old.keys)
    size.keys = size.queries;
  if (!old.cross && wanted.dim !== undefined) size.contextDim = size.dim;
  if (wanted.heads !== undefined) size.kvHeads = wanted.kvHeads ?? size.heads;

  const shapes: Record<string, [number, number]> = {
    x: [size.queries, size.dim],
    context: [size.keys, size.contextDim],
    q: [size.queries, size.keyDim],
    k: [size.keys, size.keyDim],
    v: [size.keys, size.valueDim],
    w_q: [size.dim, size.keyDim],
    w_k: [size.contextDim, size.keyDim],
    w_v: [size.contextDim, size.valueDim],
    b_q: [1, size.keyDim],
    b_k: [1, size.keyDim],
    b_v: [1, size.valueDim],
    w_o: [size.heads * size.valueDim, size.outDim],
    b_o: [1, size.outDim],
  };
  const perHead: Record<string, number> = {
    q: size.heads, w_q: size.heads, b_q: size.heads,
    k: size.kvHeads, w_k: size.kvHeads, b_k: size.kvHeads,
    v: size.kvHeads, w_v: size.kvHeads, b_v: size.kvHeads,
  };
  const resized = (fields: Fields, names: string[]): Fields => {
    const result = { ...fields };
    for (const name of names) {
      const shape = shapes[name];
      if (result[name] === undefined || !shape) continue;
      const headed = perHead[name] === undefined ? result[name] : withHeads(result[name], perHead[name]);
      result[name] = each(headed, (rows) => resizeRows(rows, ...shape, 0));
    }
    return result;
  };

  let result = resized(problem, WEIGHTS);
  result = changeFields(result, isBatch(result) ? sequence : null, (fields) => {
    const next = resized(fields, PER_SEQUENCE);
    next.tokens = resizeTokens(next.tokens, size.queries);
    next.context_tokens = resizeTokens(next.context_tokens, size.keys);
    for (const [field, fill] of [["mask", true], ["bias", 0]] as const)
      next[field] = each(next[field], (rows: unknown[][]) =>
        resizeRows(rows, rows.length === 1 ? 1 : size.queries, size.keys, fill));
    if (count(next.key_length, 0) > size.keys) next.key_length = size.keys;
    return Object.fromEntries(Object.entries(next).filter(([, value]) => value !== undefined));
  });
  if (wanted.heads !== undefined) {
    result = setField(result, "heads", size.heads === 1 ? undefined : size.heads);
    result = setField(result, "kv_heads", size.kvHeads === size.heads ? undefined : size.kvHeads);
  }
  return result;
}

// ------------------------------------------------------------------------------------- new ones

const zeros = (rows: number, cols: number): Rows => resizeRows([], rows, cols, 0);
const numbered = (n: number) => Array.from({ length: n }, (_, i) => `token ${i + 1}`);

export type Template = "self" | "cross" | "heads" | "qkv";

// A blank problem to be filled in.
export function blank(template: Template, tokens: number, dim: number): ProblemFile {
  const weights = { w_q: zeros(dim, dim), w_k: zeros(dim, dim), w_v: zeros(dim, dim) };
  const inputs = { tokens: numbered(tokens), x: zeros(tokens, dim) };
  switch (template) {
    case "self":
      return { title: "My problem", ...inputs, ...weights };
    case "cross":
      return { title: "Cross-attention", ...inputs, context_tokens: numbered(tokens + 1), context: zeros(tokens + 1, dim), ...weights };
    case "heads": {
      const two = (rows: number, cols: number) => [zeros(rows, cols), zeros(rows, cols)];
      return { title: "Two heads", heads: 2, ...inputs, w_q: two(dim, dim), w_k: two(dim, dim), w_v: two(dim, dim), w_o: zeros(2 * dim, dim) };
    }
    case "qkv":
      return { title: "Q, K, V given", tokens: numbered(tokens), q: zeros(tokens, dim), k: zeros(tokens, dim), v: zeros(tokens, dim) };
  }
}

// Keys and values from a second list of tokens, or from the first again.
export function setCross(problem: ProblemFile, sequence: number, on: boolean): ProblemFile {
  const fields = sequencesOf(problem)[sequence] ?? {};
  const x = firstOf(fields.x);
  if (!x) return problem;
  const context = on ? x.map((row) => [...row]) : undefined;
  let result = setSequenceField(problem, sequence, "context", context);
  result = setSequenceField(result, sequence, "context_tokens", on ? (fields.tokens ?? undefined) : undefined);
  return on ? result : resize(setSequenceField(result, sequence, "mask", undefined), sequence, {});
}
