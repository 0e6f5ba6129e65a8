// Colour of a cell from its shade: blue for positive and red for negative scores, white to blue for
// weights (Okabe–Ito). The ends are pale enough for the digits on top of them to stay readable.
import { interpolateRgb } from "d3-interpolate";
import { scaleLinear } from "d3-scale";

export type Theme = "light" | "dark";

const ENDS = {
  light: { paper: "#ffffff", positive: "#8cc4ea", negative: "#f4a98a" },
  dark: { paper: "#1b2128", positive: "#1d5c8c", negative: "#8a3d1d" },
};

const scales = {
  light: shadeScale("light"),
  dark: shadeScale("dark"),
};

function shadeScale(theme: Theme) {
  const { paper, positive, negative } = ENDS[theme];
  return scaleLinear<string>()
    .domain([-1, 0, 1])
    .range([negative, paper, positive])
    .interpolate(interpolateRgb)
    .clamp(true);
}

// Shades come in thousandths, and thousands of them at once.
const known = { light: new Map<number, string>(), dark: new Map<number, string>() };

export function colourOf(shade: number | null, theme: Theme): string | null {
  if (shade === null) return null;
  let colour = known[theme].get(shade);
  if (colour === undefined) known[theme].set(shade, (colour = scales[theme](shade)));
  return colour;
}

// A map has no digits on it, so that its ends may be further apart.
const MAP = {
  light: interpolateRgb("#ffffff", "#08519c"),
  dark: interpolateRgb("#1b2128", "#9fd0ff"),
};
export const mapColour = (shade: number, theme: Theme): string => MAP[theme](shade);

// Okabe–Ito, one per head; always shown together with the head's number.
const HEADS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C7A00", "#555555"];
export const headColour = (head: number): string => HEADS[head % HEADS.length]!;
