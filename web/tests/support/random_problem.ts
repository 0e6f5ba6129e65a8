// Random problem files from a seed: sizes, heads, grouped heads, masks, scale, soft-cap,
// cross-attention, batches, biases; the same seed gives the same problem everywhere.
import type { ProblemFile } from "../../src/engine/types";

type Random = () => number; // in [0, 1)

// mulberry32: 32 bits of state are plenty for a few hundred problems.
function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

class Draw {
  constructor(private readonly random: Random) {}
  int = (low: number, high: number) => low + Math.floor(this.random() * (high - low + 1));
  chance = (p: number) => this.random() < p;
  pick = <T>(choices: readonly T[]): T => choices[this.int(0, choices.length - 1)]!;
  // Small integers as in a textbook, decimals as typed, or anything a double can be.
  number = (kind: "integers" | "decimals" | "doubles"): number =>
    kind === "integers"
      ? this.int(-4, 4)
      : kind === "decimals"
        ? this.int(-999, 999) / 100
        : (this.random() - 0.5) * 10 ** this.int(-6, 2);
}

const words = ["I", "love", "AI", "the", "the", "猫", "naïve", "🙂", "a<b>", 'say "so"', "sat", "AT&T"];

export function randomProblem(seed: number): ProblemFile {
  const draw = new Draw(seeded(seed));
  const kind = draw.pick(["integers", "decimals", "doubles"] as const);
  const row = (n: number) => Array.from({ length: n }, () => draw.number(kind));
  const matrix = (rows: number, cols: number) => Array.from({ length: rows }, () => row(cols));
  const names = (n: number) => Array.from({ length: n }, () => draw.pick(words));

  const kvHeads = draw.pick([1, 1, 1, 2, 3]);
  const heads = kvHeads * draw.pick([1, 1, 2]);
  const perHead = (count: number, rows: number, cols: number) =>
    count === 1 ? matrix(rows, cols) : Array.from({ length: count }, () => matrix(rows, cols));
  const [n, dim, keyDim, valueDim] = [draw.int(1, 9), draw.int(1, 6), draw.int(1, 6), draw.int(1, 5)];
  const cross = draw.chance(0.3);
  const keys = cross ? draw.int(1, 9) : n;

  const problem: ProblemFile = { title: `random problem ${seed}` };
  if (heads > 1) problem.heads = heads;
  if (kvHeads !== heads) problem.kv_heads = kvHeads;

  const inputs = (queries: number, contextLength: number): ProblemFile => ({
    ...(draw.chance(0.8) ? { tokens: names(queries) } : {}),
    x: matrix(queries, dim),
    ...(cross ? { context: matrix(contextLength, dim), context_tokens: names(contextLength) } : {}),
  });
  const batched = draw.chance(0.15);
  if (!batched && draw.chance(0.25)) {
    problem.q = perHead(heads, n, keyDim);
    problem.k = perHead(kvHeads, keys, keyDim);
    if (draw.chance(0.8)) problem.v = perHead(kvHeads, keys, valueDim);
    else problem.values = draw.pick(["keys", "none"]);
  } else {
    if (batched) problem.batch = Array.from({ length: draw.int(2, 3) }, () => inputs(draw.int(1, 5), draw.int(1, 5)));
    else Object.assign(problem, inputs(n, keys));
    problem.w_q = perHead(heads, dim, keyDim);
    problem.w_k = perHead(kvHeads, dim, keyDim);
    problem.w_v = perHead(kvHeads, dim, valueDim);
    if (draw.chance(0.2)) problem.b_q = heads === 1 ? row(keyDim) : Array.from({ length: heads }, () => row(keyDim));
    if (draw.chance(0.5)) {
      const out = draw.int(1, 5);
      problem.w_o = matrix(heads * valueDim, out);
      if (draw.chance(0.3)) problem.b_o = row(out);
    }
  }

  const scale = draw.pick(["auto", "none", draw.int(1, 300) / 100, undefined]);
  if (scale !== undefined) problem.scale = scale;
  if (draw.chance(0.25)) problem.softcap = draw.pick([0.5, 2, 30]);
  if (draw.chance(0.1)) problem.sinks = Array.from({ length: heads }, () => draw.int(-2, 2));
  const mask = draw.pick(["none", "causal", "lower_right", "matrix", "pad", "window", undefined, undefined]);
  if (mask === "none" || mask === "causal") problem.mask = mask;
  else if (mask === "lower_right") problem.causal = mask;
  else if (mask === "window") Object.assign(problem, { window_left: draw.int(0, 3), window_right: draw.int(0, 3), query_offset: 0 });
  else if (mask === "pad" && !batched) problem.mask = `pad:${draw.int(1, keys)}`;
  else if (mask === "matrix" && !batched)
    problem.mask = Array.from({ length: n }, () => Array.from({ length: keys }, () => draw.chance(0.7)));
  if (!batched && draw.chance(0.15))
    problem.bias = Array.from({ length: n }, () => Array.from({ length: keys }, () => draw.chance(0.2) ? "-inf" : draw.number(kind)));
  // Slopes need to know where a query stands among the keys.
  if (!cross && mask !== "pad" && draw.chance(0.15))
    problem.alibi_slopes = Array.from({ length: heads }, () => draw.pick([0.5, 0.25, 0.125]));
  return problem;
}
