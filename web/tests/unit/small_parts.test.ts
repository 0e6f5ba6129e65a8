// Small things that many places rely on: names, places, colours, tiles, solutions, examples.
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { MatrixView, Solved } from "../../src/engine/types";
import { EXAMPLES, FIRST } from "../../src/examples";
import { colourOf, headColour, mapColour, type Theme } from "../../src/lib/colour";
import { fileName } from "../../src/lib/file_name";
import { findMatrix, inputsOf, nameOf, reading, samePlace } from "../../src/lib/places";
import { cellKey, solutionText } from "../../src/lib/solution";
import { TILE, tileAround, tileAt, tileBeside } from "../../src/lib/tiles";
import { root } from "../support/page_file";

const matrix = (id: string, head: number, rest: Partial<MatrixView> = {}): MatrixView => ({
  id, head, batch: 0, op: id === "X" ? "input" : "matmul", inputs: [], batches: [0, 1], heads: [head, head + 1],
  transposed: false, rows: 2, cols: 2, rowAxis: "query", colAxis: "key", rowLabels: ["a", "b"], colLabels: ["c", "d"],
  shapes: "", rounded: false, scale: { kind: "diverging", low: "", high: "" }, cells: null, ...rest,
});
// Two query heads share the keys of one.
const solved: Solved = {
  title: "", steps: [], inputs: "", weights: "", problem: null, expansion: null,
  sizes: { batch: 1, heads: 2, kvHeads: 1, parameters: "" },
  matrices: [
    matrix("X", 0, { heads: [0, 2] }),
    matrix("K", 0, { heads: [0, 2] }),
    matrix("S", 0),
    matrix("S", 1, { inputs: [{ id: "K", batch: 0, head: 0 }, { id: "gone", batch: 0, head: 0 }] }),
  ],
};
const [, keys, , scores] = solved.matrices as [MatrixView, MatrixView, MatrixView, MatrixView];

describe("places", () => {
  it("a matrix is found by the head that sees it", () => {
    expect(findMatrix(solved, "K", 0, 1)).toBe(keys);
    expect(findMatrix(solved, "S", 0, 1)).toBe(scores);
    for (const [id, batch, head] of [["S", 1, 0], ["S", 0, 2], ["Z", 0, 0]] as const)
      expect(findMatrix(solved, id, batch, head)).toBeUndefined();
  });

  it("inputs that are not there are left out", () => expect(inputsOf(solved, scores)).toEqual([keys]));

  it("a head is named where there are several", () => {
    expect(nameOf(solved, scores)).toBe("S, head 2");
    expect(nameOf(solved, keys)).toBe("K");
  });

  it.each([
    ["3", "3"],
    ["−0.5", "minus 0.5"],
    ["−∞", "minus infinity"],
    ["·", "hidden"],
    ["<0.0001", "<0.0001"],
  ])("%s is read as %s", (text, spoken) => {
    expect(reading(solved, keys, 1, 0, text)).toBe(`K, row b, column c, ${spoken}`);
  });

  it("an entry without labels is read by its number", () => {
    expect(reading(solved, matrix("K", 0, { heads: [0, 2], rowLabels: [], colLabels: [] }), 4, 9, "1")).toBe("K, row 5, column 10, 1");
  });

  it("two places are one only where there are two", () => {
    expect(samePlace(scores, { id: "S", batch: 0, head: 1 })).toBe(true);
    expect(samePlace(scores, { id: "S", batch: 0, head: 0 })).toBe(false);
    expect(samePlace(null, null)).toBe(false);
    expect(samePlace(undefined, scores)).toBe(false);
  });
});

describe("a solution", () => {
  it("is none while nothing is written", () => expect(solutionText(solved, {})).toBeNull());

  it("has the rows that were begun, and plain minus signs", () => {
    const written = { [cellKey(scores, 1, 0)]: "−0.5", [cellKey(keys, 0, 1)]: "2", "X/0/0/0/0": "9", "gone/0/0/0/0": "1" };
    expect(JSON.parse(solutionText(solved, written)!)).toEqual({
      steps: [
        { K: [[null, "2"]], row: 0, batch: 0, head: 0 },
        { S: [["-0.5", null]], row: 1, batch: 0, head: 1 },
      ],
    });
  });
});

describe("the tile in digits", () => {
  const size = { queries: 10_000, keys: 500 };

  it("stays inside the map", () => {
    expect(tileAt(size, -5, -5)).toEqual({ row: 0, col: 0 });
    expect(tileAt(size, 1e9, 1e9)).toEqual({ row: 10_000 - TILE.rows, col: 500 - TILE.cols });
    expect(tileAt({ queries: 3, keys: 2 }, 1, 1)).toEqual({ row: 0, col: 0 });
  });

  it("lies around the point that was clicked, also on the edges", () => {
    expect(tileAround(size, 0.5, 0.25)).toEqual({ row: 2500 - TILE.rows / 2, col: 250 - TILE.cols / 2 });
    expect(tileAround(size, 0, 0)).toEqual({ row: 0, col: 0 });
    expect(tileAround(size, 1, 1)).toEqual({ row: 10_000 - TILE.rows, col: 500 - TILE.cols });
  });

  it("moves by its own size with the arrows, and not by other keys", () => {
    const from = { row: 160, col: 80 };
    expect(tileBeside(size, from, "ArrowDown")).toEqual({ row: 160 + TILE.rows, col: 80 });
    expect(tileBeside(size, from, "ArrowLeft")).toEqual({ row: 160, col: 80 - TILE.cols });
    expect(tileBeside(size, { row: 0, col: 0 }, "ArrowUp")).toEqual({ row: 0, col: 0 });
    expect(tileBeside(size, from, "Enter")).toBeNull();
  });
});

describe("colours", () => {
  const css = readFileSync(`${root}/web/src/app.css`, "utf8");
  const inks = [...css.matchAll(/--ink: #(\w{6})/g)].map((match) => channels(match[1]!));
  const ink = { light: inks[0]!, dark: inks[1]! };

  function channels(hex: string): number[] {
    return [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16));
  }
  // Contrast as WCAG defines it.
  const luminance = (rgb: number[]) => {
    const [r, g, b] = rgb.map((c) => (c <= 10 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4)) as [number, number, number];
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a: number[], b: number[]) => {
    const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];
    return (high + 0.05) / (low + 0.05);
  };
  const rgb = (colour: string) => colour.match(/\d+/g)!.map(Number);

  it.each(["light", "dark"] as Theme[])("digits are readable on every shade, %s", (theme) => {
    for (let shade = -1; shade <= 1; shade += 1 / 64)
      expect(contrast(rgb(colourOf(shade, theme)!), ink[theme]), `shade ${shade}`).toBeGreaterThanOrEqual(4.5);
  });

  it("beyond the ends there is no other colour, and for nothing none", () => {
    expect(colourOf(7, "light")).toBe(colourOf(1, "light"));
    expect(colourOf(-Infinity, "dark")).toBe(colourOf(-1, "dark"));
    expect(colourOf(-0, "light")).toBe(colourOf(0, "light"));
    expect(colourOf(null, "light")).toBeNull();
    expect(new Set([-1, 0, 1].map((shade) => colourOf(shade, "light"))).size).toBe(3);
  });

  it("a map has more of it, and heads begin again", () => {
    expect(contrast(rgb(mapColour(0, "light")), rgb(mapColour(1, "light")))).toBeGreaterThan(7);
    expect(headColour(8)).toBe(headColour(0));
    expect(new Set(Array.from({ length: 8 }, (_, head) => headColour(head))).size).toBe(8);
  });
});

describe("the name of a saved file", () => {
  it.each([
    ["I love AI", "i-love-ai"],
    ["Two heads, key size 2, value size 1", "two-heads-key-size-2-value-size-1"],
    ["../../etc/passwd", "etc-passwd"],
    ["<b>&\"'\\", "b"],
    ["", "attention"],
    ["***", "attention"],
    ["注意力 naïve", "注意力-naïve"],
    ["x".repeat(100), "x".repeat(60)],
    ["𝒳".repeat(100), "𝒳".repeat(60)], // never half a character
  ])("%j", (title, name) => expect(fileName(title)).toBe(name));
});

describe("examples", () => {
  it("are the problem files of examples/, the best known one first, each with a title of its own", () => {
    const files = readdirSync(`${root}/examples`).filter((name) => name.endsWith(".json") && !name.endsWith(".solution.json"));
    expect(EXAMPLES.map(({ name }) => `${name}.json`).sort()).toEqual(files.sort());
    expect(FIRST.title).toBe("I love AI");
    expect(new Set(EXAMPLES.map(({ title }) => title)).size).toBe(EXAMPLES.length);
    expect(EXAMPLES.every(({ title }) => title.length > 0)).toBe(true);
  });

  it("have something of all five sets of notes", () => {
    for (const notes of [/^a-/, /^b-/, /^c-/, /^i-love-ai$/, /^selfish$/])
      expect(EXAMPLES.filter(({ name }) => notes.test(name)).length, String(notes)).toBeGreaterThan(0);
  });
});
