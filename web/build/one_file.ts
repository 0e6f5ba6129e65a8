// One HTML file that needs nothing else: script, style and engine inlined, and a content security
// policy that allows exactly those by their hashes.
//
// The engine is stored as base64 of gzip: base64 of the plain bytes would compress badly once more
// on its way through a server, and the browser can undo gzip by itself. For browsers without
// WebAssembly the engine works one example out here and now.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import type { Plugin } from "vite";
import { Engine } from "../src/engine/wasm";

const WITHOUT_SCRIPT = "#fallback { display: block; }";

const hash = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

function policy(script: string, style: string): string {
  return [
    "default-src 'none'",
    // The worker is made from a blob of this very file and inherits this policy.
    `script-src ${hash(script)} 'wasm-unsafe-eval'`,
    "worker-src blob:",
    `style-src ${hash(style)} ${hash(WITHOUT_SCRIPT)}`,
    "img-src 'self' data: blob:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
}

// A closing tag inside a script or style would end it early; "\/" means the same in JavaScript.
const inScript = (code: string) => code.replaceAll("</script", "<\\/script").trim();

const inHtml = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

async function workedExample(wasm: Buffer<ArrayBuffer>, problem: string): Promise<string> {
  const engine = await Engine.load(wasm);
  const ask = (request: object) => JSON.parse(engine.call(JSON.stringify(request))) as { text: string; error?: string };
  const { error } = ask({ do: "solve", problem });
  if (error) throw new Error(`one_file: ${error}`);
  return inHtml(ask({ do: "render", format: "text" }).text);
}

// `example` is the problem file that is shown where nothing can be computed.
export function oneFile(files: { wasm: string; example: string }): Plugin {
  return {
    name: "heed-one-file",
    enforce: "post",
    async generateBundle(_options, bundle) {
      const page = bundle["index.html"];
      if (page?.type !== "asset") throw new Error("one_file: no index.html in the bundle");
      let script = "";
      let style = "";
      for (const [name, part] of Object.entries(bundle)) {
        if (part.type === "chunk") script += inScript(part.code);
        else if (name.endsWith(".css")) style += String(part.source).trim();
        else continue;
        delete bundle[name];
      }
      const engine = readFileSync(files.wasm);
      const wasm = gzipSync(engine, { level: 9 }).toString("base64");
      const example = await workedExample(engine, readFileSync(files.example, "utf8"));
      const csp = `<meta http-equiv="Content-Security-Policy" content="${policy(script, style)}" />`;
      // Replacements are functions: "$&" in the code must stay what it is.
      page.source = String(page.source)
        .replace(/<!-- content-security-policy.*?-->/s, () => csp)
        .replace(/<!-- worked example.*?-->/s, () => `<pre>${example}</pre>`)
        .replace(/<!-- style without script.*?-->/s, () => `<style>${WITHOUT_SCRIPT}</style>`)
        .replace(/<script type="module"[^>]*><\/script>\s*/, "")
        .replace(/<link rel="stylesheet"[^>]*>\s*/, "")
        .replace("</head>", () => `<style>${style}</style>\n  </head>`)
        .replace(
          "</body>",
          () =>
            `<script type="application/json" id="problem"></script>\n` +
            `    <script type="text/plain" id="engine">${wasm}</script>\n` +
            `    <script type="module">${script}</script>\n  </body>`,
        );
    },
  };
}
