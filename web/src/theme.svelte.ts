// Light or dark: what the system says unless the settings say otherwise.
import { page } from "./page.svelte";
import type { Theme } from "./lib/colour";

class ThemeState {
  private dark = $state(false);

  constructor() {
    const query = matchMedia("(prefers-color-scheme: dark)");
    this.dark = query.matches;
    query.addEventListener("change", (event) => (this.dark = event.matches));
  }

  get now(): Theme {
    if (page.settings.theme !== "system") return page.settings.theme;
    return this.dark ? "dark" : "light";
  }
}

export const theme = new ThemeState();
