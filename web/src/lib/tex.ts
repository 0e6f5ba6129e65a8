// The LaTeX in which the core writes formulas, as a tree that Formula.svelte shows as MathML:
// letters, _ and ^, \frac, \sqrt, brackets, named functions, text, matrices and cases.

export type Tex =
  | { kind: "row"; parts: Tex[] }
  | { kind: "letter" | "number" | "word" | "text"; text: string }
  | { kind: "operator"; text: string; infix?: boolean } // infix: spaced as between two terms
  | { kind: "script"; base: Tex; sub: Tex | null; sup: Tex | null }
  | { kind: "frac"; top: Tex; bottom: Tex }
  | { kind: "sqrt"; of: Tex }
  | { kind: "table"; open: string; close: string; rows: Tex[][] };

const SYMBOLS: Record<string, string> = {
  cdot: "·",
  times: "×",
  div: "÷",
  sum: "∑",
  infty: "∞",
  dots: "…",
  ldots: "…",
  cdots: "⋯",
  approx: "≈",
  le: "≤",
  lvert: "|",
  rvert: "|",
  ",": "",
};
const FUNCTIONS = new Set(["exp", "tanh", "max", "log"]);
const WORDS = new Set(["mathrm", "operatorname", "mathsf", "mathbf"]);
const FENCES: Record<string, [string, string]> = { bmatrix: ["[", "]"], cases: ["{", ""] };

// Numbers take their decimals and digit groups along; spaces matter only inside \text{...}.
const TOKEN = /\\text\{[^}]*\}|\\[a-zA-Z]+|\\.|\d+(?:\{?,\}?\d{3})*(?:\.\d+)?|\s+|./gsu;

class Parser {
  private at = 0;
  private readonly tokens: string[];

  constructor(source: string) {
    this.tokens = (source.match(TOKEN) ?? []).filter((token) => token.trim() !== "");
  }

  row(...ends: string[]): Tex {
    const parts: Tex[] = [];
    while (this.at < this.tokens.length && !ends.includes(this.tokens[this.at]!)) {
      const part = this.scripted();
      if (part) parts.push(part);
    }
    return parts.length === 1 ? parts[0]! : { kind: "row", parts };
  }

  private scripted(): Tex | null {
    const base = this.atom();
    let sub: Tex | null = null;
    let sup: Tex | null = null;
    while (this.tokens[this.at] === "_" || this.tokens[this.at] === "^") {
      if (this.tokens[this.at++] === "_") sub = this.argument();
      else sup = this.argument();
    }
    if (!sub && !sup) return base;
    return { kind: "script", base: base ?? { kind: "row", parts: [] }, sub, sup };
  }

  private argument(): Tex {
    if (this.tokens[this.at] !== "{") return this.atom() ?? { kind: "row", parts: [] };
    this.at++;
    const inner = this.row("}");
    this.at++;
    return inner;
  }

  // The letters between two braces, run together.
  private name(): string {
    let text = "";
    if (this.tokens[this.at] !== "{") return this.tokens[this.at++] ?? "";
    for (this.at++; this.at < this.tokens.length && this.tokens[this.at] !== "}"; ) text += this.tokens[this.at++];
    this.at++;
    return text;
  }

  private table(): Tex {
    const name = this.name();
    const rows: Tex[][] = [[]];
    while (this.at < this.tokens.length) {
      rows.at(-1)!.push(this.row("&", "\\\\", "\\end"));
      const end = this.tokens[this.at++];
      if (end === "\\\\") rows.push([]);
      if (end === "\\end") break;
    }
    this.name();
    const [open, close] = FENCES[name] ?? ["", ""];
    return { kind: "table", open, close, rows };
  }

  private command(name: string): Tex | null {
    if (name === "frac") return { kind: "frac", top: this.argument(), bottom: this.argument() };
    if (name === "sqrt") return { kind: "sqrt", of: this.argument() };
    if (name === "begin") return this.table();
    if (name === "left" || name === "right") return null; // the bracket itself follows
    if (WORDS.has(name)) return { kind: "word", text: this.name() };
    if (FUNCTIONS.has(name)) return { kind: "word", text: name };
    const text = SYMBOLS[name] ?? name;
    return text === "" ? null : { kind: "operator", text };
  }

  private atom(): Tex | null {
    const token = this.tokens[this.at++] ?? "";
    if (token === "{") {
      this.at--;
      return this.argument();
    }
    if (token.startsWith("\\text{")) return { kind: "text", text: token.slice(6, -1) };
    if (token.startsWith("\\")) return this.command(token.slice(1));
    if (/^\d/.test(token)) return { kind: "number", text: token.replace(/[{}]/g, "") };
    if (/^\p{L}/u.test(token)) return { kind: "letter", text: token };
    return { kind: "operator", text: token === "-" ? "−" : token };
  }
}

export const parseTex = (source: string): Tex => new Parser(source).row();

// A sum cut before every + and − that joins two of its terms; anything else stays whole.
export function termsOf(tex: Tex): Tex[] {
  if (tex.kind !== "row") return [tex];
  const terms: Tex[][] = [[]];
  let depth = 0;
  tex.parts.forEach((part, k) => {
    const sign = part.kind === "operator" ? part.text : "";
    if (sign === "(") depth++;
    if (sign === ")") depth--;
    const before = tex.parts[k - 1];
    const joins = before !== undefined && !(before.kind === "operator" && before.text !== ")");
    const cuts = (sign === "+" || sign === "−") && depth === 0 && joins;
    if (cuts) terms.push([{ kind: "operator", text: sign, infix: true }]);
    else terms.at(-1)!.push(part);
  });
  return terms.map((parts) => ({ kind: "row", parts }));
}
