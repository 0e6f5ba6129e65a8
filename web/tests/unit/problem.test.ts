// Editing a problem: sizes stay in step, what fits is kept, nothing is changed in place.
import { describe, expect, it } from "vitest";
import type { ProblemFile } from "../../src/engine/types";
import { blank, matrixFields, resize, sequencesOf, setCross, setField, setMatrix, setSequenceField, sizesOf, type Template } from "../../src/lib/problem";

const problem: ProblemFile = {
  title: "three tokens",
  tokens: ["a", "b", "c"],
  x: [[1, 2], [3, 4], [5, 6]],
  w_q: [[1, 0], [0, 1]],
  w_k: [[1, 0], [0, 1]],
  w_v: [[1, 2, 3], [4, 5, 6]],
  w_o: [[1], [2], [3]],
  mask: [[true, false, true], [true, true, false], [true, true, true]],
};
const heads: ProblemFile = {
  heads: 2,
  x: [[1], [2]],
  w_q: [[[1]], [[2]]],
  w_k: [[[3]], [[4]]],
  w_v: [[[5]], [[6]]],
};
const batch: ProblemFile = {
  batch: [{ tokens: ["a"], x: [[1]] }, { tokens: ["b", "c"], x: [[2], [3]] }],
  w_q: [[1]],
  w_k: [[1]],
  w_v: [[1]],
};
const copyOf = (p: ProblemFile) => JSON.parse(JSON.stringify(p)) as ProblemFile;
const labels = (p: ProblemFile, sequence = 0) => matrixFields(p, sequence).map(({ label }) => label);

describe("the matrices of a problem", () => {
  it("in the order of the steps, one per head", () => {
    expect(labels(problem)).toEqual(["X", "W_Q", "W_K", "W_V", "W_O"]);
    expect(labels(heads)).toEqual(["X", "W_Q, head 1", "W_Q, head 2", "W_K, head 1", "W_K, head 2", "W_V, head 1", "W_V, head 2"]);
    expect(matrixFields(batch, 1)[0]).toEqual({ path: { field: "x", sequence: 1, head: null }, id: "X", label: "X", rows: [[2], [3]] });
  });

  it.each([{}, { x: [] }, { x: "text" }, { x: [1, 2] }, { x: null }, { batch: [] }])("none in %j", (odd) => {
    expect(labels(odd)).toEqual([]);
  });

  it("a sequence that is not there has the weights alone", () => expect(labels(batch, 9)).toEqual(["W_Q", "W_K", "W_V"]));
});

describe("a matrix is replaced", () => {
  it("in the problem, in one head, in one sequence; the rest is kept", () => {
    const whole = copyOf(problem);
    expect(setMatrix(problem, { field: "x", sequence: null, head: null }, [[9]])).toEqual({ ...whole, x: [[9]] });
    expect(problem).toEqual(whole);
    expect(setMatrix(heads, { field: "w_q", sequence: null, head: 1 }, [[9]]).w_q).toEqual([[[1]], [[9]]]);
    const changed = setMatrix(batch, { field: "x", sequence: 1, head: null }, [[9]]);
    expect(sequencesOf(changed)).toEqual([{ tokens: ["a"], x: [[1]] }, { tokens: ["b", "c"], x: [[9]] }]);
  });

  it("and is no longer generated, but the other kind is", () => {
    const generated = { ...problem, inputs_origin: { kind: "generated", seed: 7 }, weights_origin: { kind: "generated", seed: 7 } };
    const typed = setMatrix(generated, { field: "x", sequence: null, head: null }, [[9]]);
    expect(typed).not.toHaveProperty("inputs_origin");
    expect(typed).toHaveProperty("weights_origin");
    expect(setMatrix(generated, { field: "w_q", sequence: null, head: null }, [[9]])).not.toHaveProperty("weights_origin");
  });

  it("a field is set, and taken away by undefined", () => {
    expect(setField({ a: 1 }, "b", 0)).toEqual({ a: 1, b: 0 });
    expect(setField({ a: 1, b: 0 }, "b", undefined)).toEqual({ a: 1 });
    expect(setField({ a: 1 }, "__proto__", undefined)).toEqual({ a: 1 });
    expect(sequencesOf(setSequenceField(batch, 0, "key_length", 1))[0]).toHaveProperty("key_length", 1);
    expect(setSequenceField(problem, 0, "key_length", 2)).toHaveProperty("key_length", 2);
  });
});

describe("other sizes", () => {
  it("of the problem as it is", () => {
    expect(sizesOf(problem, 0)).toEqual({
      queries: 3, keys: 3, dim: 2, contextDim: 2, keyDim: 2, valueDim: 3, heads: 1, kvHeads: 1, cross: false, outDim: 1,
    });
    expect(sizesOf({}, 0)).toMatchObject({ queries: 0, keys: 0, dim: 0, keyDim: 0, heads: 1 });
    expect(sizesOf({ heads: "many", kv_heads: 1.5 }, 0)).toMatchObject({ heads: 1, kvHeads: 1 });
  });

  it("the same sizes change nothing", () => {
    for (const p of [problem, heads, batch]) expect(resize(p, 0, {})).toEqual(p);
  });

  it("more tokens: rows of 0, names, and a mask that lets them see everything", () => {
    expect(resize(problem, 0, { queries: 4 })).toEqual({
      ...problem,
      tokens: ["a", "b", "c", "token 4"],
      x: [[1, 2], [3, 4], [5, 6], [0, 0]],
      mask: [[true, false, true, true], [true, true, false, true], [true, true, true, true], [true, true, true, true]],
    });
  });

  it("fewer tokens, and a padding that fits them", () => {
    const fewer = resize({ ...problem, key_length: 3 }, 0, { queries: 2 });
    expect(fewer).toMatchObject({ tokens: ["a", "b"], x: [[1, 2], [3, 4]], mask: [[true, false], [true, true]], key_length: 2 });
  });

  it("there and back keeps what fitted", () => {
    expect(resize(resize(problem, 0, { queries: 5 }), 0, { queries: 3 })).toEqual(problem);
    expect(resize(resize(problem, 0, { dim: 4 }), 0, { dim: 2 })).toEqual(problem);
  });

  it("wider tokens and keys reach X and the weights", () => {
    const wide = resize(problem, 0, { dim: 3, keyDim: 1 });
    expect(wide).toMatchObject({ w_q: [[1], [0], [0]], w_k: [[1], [0], [0]], w_v: [[1, 2, 3], [4, 5, 6], [0, 0, 0]] });
    expect((wide.x as number[][])[0]).toEqual([1, 2, 0]);
  });

  it("another value size reaches W_O", () => expect(resize(problem, 0, { valueDim: 2 }).w_o).toEqual([[1], [2]]));

  it("a new head is a copy of the last one, a matrix of its own", () => {
    const two = resize(problem, 0, { heads: 2 });
    expect(two).toMatchObject({ heads: 2, w_q: [problem.w_q, problem.w_q], w_o: [[1], [2], [3], [0], [0], [0]] });
    expect((two.w_q as unknown[])[0]).not.toBe((two.w_q as unknown[])[1]);
    expect(resize(two, 0, { heads: 1 })).toEqual(problem);
  });

  it("one sequence of a batch keeps the others", () => {
    const longer = resize(batch, 1, { queries: 3 });
    expect(sequencesOf(longer)[0]).toEqual(sequencesOf(batch)[0]);
    expect(sequencesOf(longer)[1]).toEqual({ tokens: ["b", "c", "token 3"], x: [[2], [3], [0]] });
  });
});

describe("cross-attention", () => {
  it("begins with the tokens as a second list, and ends without one", () => {
    const { mask: _, ...plain } = problem;
    const cross = setCross(plain, 0, true);
    expect(cross).toMatchObject({ context: plain.x, context_tokens: ["a", "b", "c"] });
    expect(cross.context).not.toBe(plain.x);
    expect(resize(cross, 0, { keys: 2 })).toMatchObject({ context: [[1, 2], [3, 4]], context_tokens: ["a", "b"], x: plain.x });
    expect(setCross(cross, 0, false)).toEqual(plain);
  });

  it("needs embeddings", () => expect(setCross({ q: [[1]] }, 0, true)).toEqual({ q: [[1]] }));
});

describe("a blank problem", () => {
  it.each(["self", "cross", "heads", "qkv"] as Template[])("%s, of any size, has matrices that fit", (template) => {
    for (const [tokens, dim] of [[1, 1], [3, 2], [16, 16]] as const) {
      const blankOne = blank(template, tokens, dim);
      expect(sizesOf(blankOne, 0)).toMatchObject({ queries: tokens, keyDim: dim, valueDim: dim, heads: template === "heads" ? 2 : 1 });
      expect(resize(blankOne, 0, {})).toEqual(blankOne);
    }
  });
});
