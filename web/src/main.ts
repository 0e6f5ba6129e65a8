// Starts the page: shows what the link, the file or the first example says.
import { mount } from "svelte";
import App from "./App.svelte";
import "./app.css";
import { FIRST } from "./examples";
import { page } from "./page.svelte";

// A problem put into the page by `heed page`, as JSON text.
const embedded = () => document.getElementById("problem")?.textContent?.trim() ?? "";

async function start() {
  const target = document.getElementById("app")!;
  const fallback = document.getElementById("fallback");
  if (typeof WebAssembly === "undefined" || typeof DecompressionStream === "undefined") {
    fallback?.removeAttribute("hidden");
    return;
  }
  fallback?.remove();
  mount(App, { target });
  await page.engine.load(document.getElementById("engine")?.textContent ?? "");
  if (await page.restore(location.hash)) return;
  let broken = page.error;
  if (!(await page.begin(embedded() || FIRST.text))) {
    broken = page.error;
    await page.begin(FIRST.text);
  }
  if (broken) page.fail(broken);
}

void start();
