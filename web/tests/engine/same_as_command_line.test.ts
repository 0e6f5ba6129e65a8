// The page and the command line are the same arithmetic: their traces are equal byte for byte.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { heed, heedOutput } from "../support/cli";
import { root, startEngine, type Ask } from "../support/page_file";
import { randomProblem } from "../support/random_problem";

const examples = join(root, "examples");
const isSolution = (name: string) => name.endsWith(".solution.json");
const jsonFiles = readdirSync(examples).filter((name) => name.endsWith(".json"));
const textOf = (name: string) => readFileSync(join(examples, name), "utf8");
const RANDOM_PROBLEMS = 200;

let ask: Ask;
beforeAll(async () => {
  ask = await startEngine();
});

function trace(problem: string): string {
  ask({ do: "solve", problem });
  return ask<{ text: string }>({ do: "render", format: "json" }).text;
}

// Traces may have megabytes: a difference is told by its place.
function expectSame(here: string, there: string, what: string) {
  if (here === there) return;
  let at = 0;
  while (here[at] === there[at]) at++;
  const around = (text: string) => text.slice(Math.max(0, at - 60), at + 60);
  throw new Error(`${what}: they differ at character ${at}\nhere  ${around(here)}\nthere ${around(there)}`);
}

describe("the page's trace is that of heed explain --format json", () => {
  it.each(jsonFiles.filter((name) => !isSolution(name)))("examples/%s", async (name) => {
    expectSame(trace(textOf(name)), await heedOutput(["explain", join(examples, name), "--format", "json"]), name);
  });

  it(`${RANDOM_PROBLEMS} random problems`, { timeout: 300_000 }, async () => {
    for (let seed = 1; seed <= RANDOM_PROBLEMS; seed++) {
      const problem = JSON.stringify(randomProblem(seed));
      const there = await heedOutput(["explain", "-", "--format", "json"], problem);
      expectSame(trace(problem), there, `seed ${seed}, ${problem}`);
    }
  });
});

interface Marks {
  correct: number;
  wrong: number;
  carried: number;
  missing: number;
  findings: { mark: string; where: string; written: string; diagnosis?: string }[];
}

describe("the page's marks are those of heed check", () => {
  const marked = ({ correct, wrong, carried, missing, findings }: Marks) => ({
    counts: { correct, wrong, carried, missing },
    findings: findings.map(({ mark, where, written, diagnosis = "" }) => ({ mark, where, written, diagnosis })),
  });
  it.each(jsonFiles.filter(isSolution))("examples/%s", async (name) => {
    const problem = name.replace(".solution", "");
    ask({ do: "solve", problem: textOf(problem) });
    const here = ask<Marks>({ do: "check", solution: textOf(name) });
    const there = await heed(["check", join(examples, problem), join(examples, name), "--json"]);
    expect(here.findings.length).toBeGreaterThan(0);
    expect(marked(here)).toEqual(marked(JSON.parse(there.out) as Marks));
  });
});

describe("what the command line refuses, the page refuses in the same words", () => {
  it.each([
    ["rows of different lengths", '{"x": [[1, 2], [3]], "w_q": [[1], [1]], "w_k": [[1], [1]], "w_v": [[1], [1]]}'],
    ["matrices that do not fit", '{"x": [[1, 2]], "w_q": [[1]], "w_k": [[1], [1]], "w_v": [[1], [1]]}'],
    ["an unknown key", '{"x": [[1]], "w_qq": [[1]]}'],
    ["a number that is none", '{"q": [[NaN]], "k": [[1]]}'],
    ["a number too large", '{"q": [[1e999]], "k": [[1]]}'],
    ["no object at all", "[1, 2]"],
    ["nothing", ""],
    ["brackets without end", "[".repeat(100_000)],
  ])("%s", async (_, problem) => {
    const { code, err } = await heed(["explain", "-", "--format", "json"], problem);
    expect(code).toBe(2);
    const withoutSource = (message: string) => message.replace(/^(heed: )?((standard input|problem): )?/, "").trim();
    let said = "";
    try {
      ask({ do: "solve", problem });
    } catch (error) {
      said = (error as Error).message;
    }
    expect(withoutSource(said)).toBe(withoutSource(err));
  });
});
