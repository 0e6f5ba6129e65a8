// Who sees whom: presets replace each other, and a mask drawn by hand is written as true and false.
import { describe, expect, it } from "vitest";
import { painted, presetOf, withMask, withPreset, type Preset } from "../../src/lib/mask";
import { sequencesOf } from "../../src/lib/problem";

const square = { x: [[1], [2], [3]], w_q: [[1]], w_k: [[1]], w_v: [[1]] };
const wide = { q: [[1], [2]], k: [[1], [2], [3]], v: [[1], [2], [3]] };
const presets: Preset[] = ["none", "causal", "padding", "window"];
const nothing = [[false, false, false], [false, false, false], [false, false, false]];

it.each(presets)("%s is what it says, after any other", (preset) => {
  for (const problem of [square, wide])
    for (const before of [problem, ...presets.map((other) => withPreset(problem, 0, other)), withMask(problem, 0, nothing)]) {
      const after = withPreset(before, 0, preset);
      expect(presetOf(after, 0)).toBe(preset);
      expect(after).toEqual(withPreset(problem, 0, preset));
    }
});

it("none of them leaves anything behind", () => {
  for (const preset of presets) expect(withPreset(withPreset(wide, 0, preset), 0, "none")).toEqual(wide);
});

it("says where queries stand among more keys", () => {
  expect(withPreset(square, 0, "causal")).toHaveProperty("causal", "upper_left");
  expect(withPreset(wide, 0, "causal")).toHaveProperty("causal", "lower_right");
  expect(withPreset(square, 0, "window")).not.toHaveProperty("query_offset");
  expect(withPreset(wide, 0, "window")).toHaveProperty("query_offset", 0);
});

it("keeps the place of queries that ALiBi needs", () => {
  const sloped = { ...wide, alibi_slopes: [0.5], query_offset: 1 };
  expect(withPreset(sloped, 0, "none")).toEqual(sloped);
});

it("pads at least to one key", () => {
  expect(withPreset({ q: [[1]], k: [[1]], v: [[1]] }, 0, "padding")).toHaveProperty("key_length", 1);
});

describe("by hand", () => {
  it("a mask of nothing at all stays one, in words that cannot be mistaken", () => {
    const masked = withMask(square, 0, nothing);
    expect(masked.mask).toEqual(nothing);
    expect(presetOf(masked, 0)).toBe("hand");
    expect(JSON.stringify(masked)).toContain("[false,false,false]");
  });

  it("a mask that hides nothing is none", () => {
    expect(withMask(withPreset(square, 0, "causal"), 0, nothing.map((row) => row.map(() => true)))).toEqual(square);
  });

  it("belongs to its sequence of a batch", () => {
    const batch = { batch: [{ x: [[1]] }, { x: [[2]] }] };
    expect(sequencesOf(withMask(batch, 1, [[false]]))).toEqual([{ x: [[1]] }, { x: [[2]], mask: [[false]] }]);
  });

  it("is painted cell by cell, without changing what was", () => {
    const once = painted(nothing, 1, 2, true);
    expect(once).toEqual([[false, false, false], [false, false, true], [false, false, false]]);
    expect(nothing.flat()).not.toContain(true);
    expect(painted(once, 1, 2, false)).toEqual(nothing);
    expect(painted([], 0, 0, true)).toEqual([]);
  });
});
