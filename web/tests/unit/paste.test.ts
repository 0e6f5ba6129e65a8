// A matrix from the clipboard, in every form people have it in, and refused where it is none.
import { describe, expect, it } from "vitest";
import { parseMatrix, parseNumber } from "../../src/lib/paste";

describe("one number", () => {
  it.each([
    ["1", 1],
    ["-2.5", -2.5],
    ["+.5", 0.5],
    ["5.", 5],
    ["1e-3", 1e-3],
    ["1E+2", 100],
    ["  7\n", 7],
    ["−3", -3], // U+2212, as formulas are typeset
    ["–3", -3], // an en dash, as word processors write it
    ["\u00a04\u00a0", 4], // no-break spaces, as in a web page's table
    ["1.7976931348623157e308", Number.MAX_VALUE],
    ["5e-324", Number.MIN_VALUE],
    ["1e-400", 0],
  ])("%j is %d", (text, value) => expect(parseNumber(text)).toBe(value));

  it("-0 keeps its sign, and is written as 0 into a problem", () => {
    expect(parseNumber("-0")).toBe(-0);
    expect(JSON.stringify(parseNumber("-0"))).toBe("0");
  });

  it.each(["", " ", "-", ".", "e5", "1e", "1,5", "1 2", "1/2", "0x10", "1_000", "١", "½", "NaN", "inf", "-Infinity", "∞", "1e999", "1+2j", "true"])(
    "%j is none",
    (text) => expect(parseNumber(text)).toBeNull(),
  );
});

const IDENTITY = [[1, 0], [0, 1]];

describe("a matrix", () => {
  it.each([
    ["spreadsheet cells", "1\t0\r\n0\t1\r\n"],
    ["CSV", "1,0\n0,1"],
    ["CSV with spaces and quotes", '"1", "0"\n"0", "1"\n'],
    ["CSV with semicolons", "1;0\n0;1"],
    ["columns of a terminal", "  1   0\n  0   1  "],
    ["lines between empty ones", "\n\n1 0\n\n0 1\n\n"],
    ["NumPy's repr", "array([[1, 0],\n       [0, 1]])"],
    ["NumPy's repr with a type", "np.array([[1., 0.], [0., 1.]], dtype=np.float32)"],
    ["NumPy's str", "[[1. 0.]\n [0. 1.]]"],
    ["a tensor", "tensor([[1., 0.],\n        [0., 1.]])"],
    ["JSON", "[[1,0],[0,1]]"],
    ["rows without a bracket around them", "[1 0]\n[0 1]"],
    ["a LaTeX matrix", "\\begin{bmatrix} 1 & 0 \\\\ 0 & 1 \\end{bmatrix}"],
    ["a LaTeX array", "$$\\left[\\begin{array}{rr} 1 & 0 \\\\[2pt] \\hline 0 & {1} \\\\ \\end{array}\\right]$$"],
    ["rows of a LaTeX table", "1 & 0 \\\\\n0 & 1"],
  ])("from %s", (_, text) => expect(parseMatrix(text)).toEqual(IDENTITY));

  it("of one row, one column, one number", () => {
    expect(parseMatrix("array([1., -2., 3.])")).toEqual([[1, -2, 3]]);
    expect(parseMatrix("1\n−2\n3")).toEqual([[1], [-2], [3]]);
    expect(parseMatrix("[[7]]")).toEqual([[7]]);
  });

  it("of a million numbers", () => {
    const rows = parseMatrix(`${"0.5\t".repeat(999)}0.5\n`.repeat(1000));
    expect([rows.length, rows[0]!.length, rows[999]![999]]).toEqual([1000, 1000, 0.5]);
  });
});

describe("what is no matrix is refused, with its place", () => {
  it.each([
    ["nothing", "", "no numbers in it"],
    ["blank lines", " \n\t\n ", "no numbers in it"],
    ["an empty list", "[]", "no numbers in it"],
    ["an empty row", "[[]]", "no numbers in it"],
    ["an empty LaTeX matrix", "\\begin{bmatrix}\\end{bmatrix}", "no numbers in it"],
    ["a short row", "1 2\n3", "row 2 has 1 values, expected 2"],
    ["a long row", "[[1, 2], [3, 4, 5]]", "row 2 has 3 values, expected 2"],
    ["a short row of LaTeX", "\\begin{pmatrix} 1 & 2 \\\\ 3 \\end{pmatrix}", "row 2 has 1 values, expected 2"],
    ["an empty cell in the middle", "1\t\t3", 'row 1, column 2: "" is no number'],
    ["an empty cell at the beginning", "\t2\n\t4", 'row 1, column 1: "" is no number'],
    ["a heading", "a,b\n1,2", 'row 1, column 1: "a" is no number'],
    ["a decimal comma", "0,5;1,5", 'row 1, column 1: "0,5" is no number'],
    ["a fraction", "\\begin{bmatrix} \\frac{1}{2} \\end{bmatrix}", "is no number"],
    ["what NumPy left out", "[[0. 1. ... 9.]]", 'row 1, column 3: "..." is no number'],
    ["nan", "[[nan, 1.]]", 'row 1, column 1: "nan" is no number'],
    ["inf", "1\tinf", 'row 1, column 2: "inf" is no number'],
    ["a list cut short", "[[1, 2], [3, 4", "cut short"],
    ["numbers beside the rows", "[[1, 2], 3]", "left over"],
    ["a list of matrices", "[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]", "a list of matrices"],
    ["words", "<script>alert(1)</script>", "is no number"],
  ])("%s", (_, text, message) => expect(() => parseMatrix(text)).toThrow(message));

  it("a long text is cut in what is said about it", () => {
    expect(() => parseMatrix("x".repeat(100_000))).toThrow(new RegExp(`"${"x".repeat(24)}" is no number$`));
  });
});
