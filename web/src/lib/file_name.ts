// A title as the name of a file: letters and digits of any script, joined by hyphens.
const LONGEST = 60;

export const fileName = (title: string): string =>
  [...title.toLowerCase().replace(/[^\p{L}\p{M}\p{N}]+/gu, "-").replace(/^-/, "")]
    .slice(0, LONGEST)
    .join("")
    .replace(/-$/, "") || "attention";
