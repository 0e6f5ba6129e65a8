// The worked examples of examples/, as texts for the core to read; the one shown first comes first.
const FILES = import.meta.glob<string>(["../../examples/*.json", "!**/*.solution.json"], { query: "?raw", import: "default", eager: true });

export interface Example {
  name: string;
  title: string;
  text: string;
}

const titleOf = (text: string) => /"title"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(text)?.[1] ?? "";

const SHOWN_FIRST = "i-love-ai";

export const EXAMPLES: Example[] = Object.entries(FILES)
  .map(([path, text]) => ({ name: path.replace(/^.*\/|\.json$/g, ""), title: titleOf(text), text }))
  .sort((a, b) => Number(b.name === SHOWN_FIRST) - Number(a.name === SHOWN_FIRST));

export const FIRST = EXAMPLES[0]!;
