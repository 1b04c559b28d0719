// What colour each point has, and what the colours mean.

import { headColour, parse, pixel, viridis, type Rgb } from "../../../core/colours";
import type { ColourPoints, State } from "../../../core/input/contract";
import type { Labels } from "../../../core/words/labels";
import type { SpaceData } from "../../../core/reading/space";
import type { Theme } from "../../../core/theme";
import { visible } from "../../../core/words/tokens";

export interface Entry {
  label: string;
  colour: string;
  token?: boolean;
}

/** A list of colours, or a scale with two ends. */
export type Legend = { title: string; entries: Entry[] } | { title: string; ends: [string, string]; scale: (t: number) => Rgb } | null;

export interface Colouring {
  /** Index into `colours` for each point. */
  of: Uint8Array | Uint16Array;
  colours: Rgb[];
  legend: Legend;
}

const MOST = 11; // names with a colour of their own; the rest shares grey
const STEPS = 64;
const FEW = 600;
const DISTINCT_HEADS = [0, 1, 2, 3, 10]; // colours of the palette that can be told apart with every kind of colour vision

const paletteColour = (i: number, dark: boolean): string => headColour(i % 12, dark);

/** Colours by name, the most frequent names first; special tokens and the rest in grey. */
function byName(data: SpaceData, name: (point: number) => string, theme: Theme, rest: string, token: boolean): Colouring {
  const counts = new Map<string, number>();
  for (let i = 0; i < data.count; i++) if (name(i) !== "") counts.set(name(i), (counts.get(name(i)) ?? 0) + 1);
  const first = [...counts]
    .sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
    .slice(0, MOST)
    .map(([word]) => word);
  const indexOf = new Map(first.map((word, i) => [word, i]));
  const entries = first.map((word, i) => ({ label: visible(word), colour: paletteColour(i, theme.dark), token }));
  const grey = theme.muted;
  const of = new Uint8Array(data.count);
  let others = false;
  for (let i = 0; i < data.count; i++) {
    of[i] = indexOf.get(name(i)) ?? first.length;
    others ||= of[i] === first.length;
  }
  return {
    of,
    colours: [...entries.map(({ colour }) => parse(colour)), parse(grey)],
    legend: { title: "", entries: others ? [...entries, { label: rest, colour: grey }] : entries },
  };
}

function byNumber(data: SpaceData, value: (point: number) => number, title: string, ends: [string, string], dark: boolean): Colouring {
  const scale = (t: number): Rgb => viridis(t, dark);
  return {
    of: Uint8Array.from({ length: data.count }, (_, i) => Math.round(value(i) * (STEPS - 1))),
    colours: Array.from({ length: STEPS }, (_, i) => scale(i / (STEPS - 1))),
    legend: { title, ends, scale },
  };
}

/** norms: from 0 to 255, for colouring by norm. */
export function colouring(
  data: SpaceData,
  by: ColourPoints,
  head: number,
  theme: Theme,
  labels: Labels,
  norms: { of: Uint8Array; range: [number, number] } | null,
): Colouring {
  const { dark } = theme;
  const position = (i: number) => data.sideOf(i).position[data.own(i)];
  switch (by) {
    case "position": {
      let longest = 1;
      for (const { tokens } of [...data.queries.texts, ...data.keys.texts]) longest = Math.max(longest, tokens.length - 1);
      return byNumber(data, (i) => position(i) / longest, labels.colour_position, ["0", String(longest)], dark);
    }
    case "position5": {
      const colours = DISTINCT_HEADS.map((i) => headColour(i, dark));
      return {
        of: Uint8Array.from({ length: data.count }, (_, i) => position(i) % 5),
        colours: colours.map(parse),
        legend: { title: labels.colour_position5, entries: colours.map((colour, i) => ({ label: String(i), colour })) },
      };
    }
    case "token":
      return byName(data, (i) => data.tokenOf(i), theme, labels.other_tokens, true);
    case "tag":
      return byName(data, (i) => data.sideOf(i).tag(data.own(i)), theme, labels.no_tag, false);
    case "text": {
      const colours = Array.from({ length: 12 }, (_, i) => paletteColour(i, dark));
      const n = data.keys.texts.length;
      const entries = colours.slice(0, n).map((colour, i) => ({ label: `${i}${n > 12 ? ", …" : ""}`, colour }));
      return {
        of: Uint8Array.from({ length: data.count }, (_, i) => data.textOf(i) % 12),
        colours: colours.map(parse),
        legend: { title: labels.colour_text, entries: n > 12 ? [] : entries },
      };
    }
    case "norm":
      if (norms)
        return byNumber(data, (i) => norms.of[i] / 255, labels.colour_norm, [norms.range[0].toFixed(2), norms.range[1].toFixed(2)], dark);
  }
  if (data.values) return { of: new Uint8Array(data.count), colours: [parse(headColour(head, dark))], legend: null };
  return {
    of: Uint8Array.from({ length: data.count }, (_, i) => (data.isKey(i) ? 1 : 0)),
    colours: [parse(theme.query), parse(theme.key)],
    legend: null,
  };
}

/** Which points the reader looks at: those of the chosen text and inside the lasso, and those found. */
export interface Attention {
  isIn(point: number): boolean;
  isMatch(point: number): boolean;
  /** Whether anything is chosen at all. */
  some: boolean;
  /** Whether so few are held that each can be drawn larger. */
  few: boolean;
}

export function attentionOf(data: SpaceData, state: State, same: boolean): Attention {
  const needle = state.find.trim().toLocaleLowerCase();
  const lasso = same && state.lasso.length ? new Set(state.lasso) : null;
  const matching = new Uint8Array(needle === "" ? 0 : data.count);
  for (let i = 0; i < matching.length; i++)
    matching[i] = Number(data.tokenOf(i).toLocaleLowerCase().includes(needle) || data.wordOf(i).toLocaleLowerCase() === needle);
  const isMatch = (i: number) => matching[i] === 1;
  const isIn = (i: number) => (state.text === null || data.textOf(i) === state.text) && (!lasso || lasso.has(i));
  return {
    isIn,
    isMatch,
    some: state.text !== null || lasso !== null || needle !== "",
    few: state.text !== null || state.lasso.length <= FEW,
  };
}

/** One RGBA word a point. Opaque: drawn larger and on top. */
export function pointColours(
  data: SpaceData,
  { of, colours }: Colouring,
  attention: Attention,
  find: string,
  opacity: number,
): Uint32Array {
  const words = [0.1, opacity, 1].map((level) =>
    colours.map((rgb) => pixel(rgb, level === 1 ? 255 : Math.round(Math.min(0.98, level) * 255))),
  );
  const out = new Uint32Array(data.count);
  const searching = find.trim() !== "";
  for (let i = 0; i < data.count; i++) {
    const level = !attention.some ? 1 : !attention.isIn(i) ? 0 : searching ? (attention.isMatch(i) ? 2 : 0) : attention.few ? 2 : 1;
    out[i] = words[level][of[i]];
  }
  return out;
}
