// The LaTeX of the core as a tree, and sums cut into their terms.
import { describe, expect, it } from "vitest";
import { parseTex, termsOf, type Tex } from "../../src/lib/tex";

// A tree in brackets: what Formula.svelte will show.
function show(tex: Tex): string {
  switch (tex.kind) {
    case "row":
      return tex.parts.map(show).join(" ");
    case "script":
      return `(${show(tex.base)}${tex.sub ? `_${show(tex.sub)}` : ""}${tex.sup ? `^${show(tex.sup)}` : ""})`;
    case "frac":
      return `(${show(tex.top)} / ${show(tex.bottom)})`;
    case "sqrt":
      return `√(${show(tex.of)})`;
    case "table":
      return `${tex.open}${tex.rows.map((row) => row.map(show).join(" & ")).join("; ")}${tex.close}`;
    default:
      return tex.text;
  }
}

describe("formulas", () => {
  it.each([
    ["", ""],
    ["S = Q K^T", "S = Q (K^T)"],
    ["q_{21} \\cdot k_{31}", "(q_21) · (k_31)"],
    ["m_{ij}", "(m_i j)"],
    ["x_i^2", "(x_i^2)"],
    ["\\frac{1}{\\sqrt{d_k}}", "(1 / √((d_k)))"],
    ["\\exp(z - \\max)", "exp ( z − max )"],
    ["\\mathrm{softmax}(Z)", "softmax ( Z )"],
    ["786{,}432 + 0.5", "786,432 + 0.5"],
    ["1,024", "1,024"],
    ["\\begin{cases} S{}_{ij} & \\text{visible} \\\\ -\\infty & \\text{not seen} \\end{cases}", "{S (_i j) & visible; − ∞ & not seen"],
    ["\\begin{bmatrix} 1 & -2 \\end{bmatrix}", "[1 & − 2]"],
    ["\\unknowncommand x", "unknowncommand x"],
    ["猫_1", "(猫_1)"],
  ])("%s", (source, tree) => expect(show(parseTex(source)).trim()).toBe(tree));

  it.each(["{", "}", "_", "^", "\\frac", "\\frac{", "\\sqrt", "\\begin", "\\begin{", "\\begin{cases}", "\\begin{cases} 1 &", "x_{", "\\", "{}{}{}", "^_^", "\\text{", "&", "\\\\"])(
    "%j, which is broken, has some tree",
    (source) => expect(parseTex(source)).toBeTypeOf("object"),
  );

  it("a long sum is parsed in no time, and cut at every plus", () => {
    const sum = Array.from({ length: 5000 }, (_, k) => `${k} \\cdot 2`).join(" + ");
    expect(termsOf(parseTex(sum))).toHaveLength(5000);
  });
});

describe("terms", () => {
  const terms = (source: string) => termsOf(parseTex(source)).map((term) => show(term).replace(/\s+/g, " ").trim());
  it.each([
    ["1 \\cdot 2 + 3 \\cdot 4", ["1 · 2", "+ 3 · 4"]],
    ["1 - 2", ["1", "− 2"]],
    ["-1 - (-2)", ["− 1", "− ( − 2 )"]],
    ["2 \\cdot (1 + 3) + 4", ["2 · ( 1 + 3 )", "+ 4"]],
    ["1 \\cdot (-2) + (-3)", ["1 · ( − 2 )", "+ ( − 3 )"]],
    ["x", ["x"]],
    ["e^{1 + 2}", ["(e^1 + 2)"]],
  ])("%s", (source, expected) => expect(terms(source)).toEqual(expected));
});
