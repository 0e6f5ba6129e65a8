// Who sees whom, as a problem file says it: by a preset, or by a mask drawn by hand.
import type { ProblemFile } from "../engine/types";
import { isMatrix, sequencesOf, setField, setSequenceField, sizesOf, type ProblemSizes } from "./problem";

export type Preset = "none" | "causal" | "padding" | "window";
export type Mask = boolean[][]; // true: attends

export function presetOf(problem: ProblemFile, sequence: number): Preset | "hand" {
  const fields = sequencesOf(problem)[sequence] ?? {};
  if (typeof problem.causal === "string") return "causal";
  if (typeof fields.key_length === "number") return "padding";
  if (problem.window_left !== undefined || problem.window_right !== undefined) return "window";
  return isMatrix(fields.mask) ? "hand" : "none";
}

// Queries are the last of the keys where there are fewer of them.
export const causalFor = ({ queries, keys }: ProblemSizes) => (queries === keys ? "upper_left" : "lower_right");

// Every query sees every key. ALiBi too may need to know where queries stand.
function withoutMask(problem: ProblemFile, sequence: number): ProblemFile {
  let next = problem;
  for (const field of ["causal", "window_left", "window_right"]) next = setField(next, field, undefined);
  if (next.alibi_slopes === undefined) next = setField(next, "query_offset", undefined);
  for (const field of ["mask", "key_length"]) next = setSequenceField(next, sequence, field, undefined);
  return next;
}

export function withPreset(problem: ProblemFile, sequence: number, preset: Preset): ProblemFile {
  const size = sizesOf(problem, sequence);
  const next = withoutMask(problem, sequence);
  switch (preset) {
    case "none":
      return next;
    case "causal":
      return setField(next, "causal", causalFor(size));
    case "padding":
      return setSequenceField(next, sequence, "key_length", Math.max(1, size.keys - 1));
    case "window":
      return { ...next, window_left: 1, window_right: 1, ...(size.queries === size.keys ? {} : { query_offset: 0 }) };
  }
}

// A mask that hides nothing is none.
export function withMask(problem: ProblemFile, sequence: number, mask: Mask): ProblemFile {
  const next = withoutMask(problem, sequence);
  return mask.every((row) => row.every((attends) => attends)) ? next : setSequenceField(next, sequence, "mask", mask);
}

export const painted = (mask: Mask, i: number, j: number, attends: boolean): Mask =>
  mask.map((row, r) => row.map((old, c) => (r === i && c === j ? attends : old)));
