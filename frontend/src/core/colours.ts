// What follows from the palette: colours of heads, layers, signed values, attention. look/palette.py mixes and lifts them the same way.

import {
  ATTENTION,
  ATTENTION_DARK,
  DARK_PAGE,
  HEAD_COLOURS,
  LIGHT_PAGE,
  PART_COLOURS,
  VIRIDIS,
  VIRIDIS_ON_BLACK,
  VIRIDIS_ON_WHITE,
} from "../generated/colours";

export type Rgb = [number, number, number];

export const parse = (hex: string): Rgb => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)) as Rgb;
export const format = (rgb: Rgb): string =>
  "#" +
  rgb
    .map((c) =>
      Math.round(Math.min(255, Math.max(0, c)))
        .toString(16)
        .padStart(2, "0"),
    )
    .join("");
export const mix = (a: Rgb, b: Rgb, t: number): Rgb => a.map((c, i) => c + (b[i] - c) * t) as Rgb;

const linear = (c: number): number => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
const coded = (v: number): number => 255 * (v <= 0.0031308 ? v * 12.92 : 1.055 * v ** (1 / 2.4) - 0.055);

/** Relative luminance, as WCAG defines it. */
export const luminance = (rgb: Rgb): number => 0.2126 * linear(rgb[0]) + 0.7152 * linear(rgb[1]) + 0.0722 * linear(rgb[2]);

const ENOUGH = 3.05 * (luminance(parse(DARK_PAGE.ground)) + 0.05) - 0.05; // a contrast of 3 with the dark ground, and a little for rounding

/** A colour that can be seen as a line on the dark ground: the same hue, with as much white light added as that takes. */
export function lifted(hex: string): string {
  const rgb = parse(hex);
  const light = luminance(rgb);
  if (light >= ENOUGH) return hex;
  const t = (ENOUGH - light) / (1 - light);
  return format(rgb.map((c) => coded(linear(c) + t * (1 - linear(c)))) as Rgb);
}

/** The colour of a head. Past the end of the palette it begins again, mixed with grey further each time, so that no two share a colour. */
export const headColour = (head: number, dark = false): string => cycled(HEAD_COLOURS, head, dark);

function cycled(colours: string[], index: number, dark: boolean): string {
  const round = Math.floor(index / colours.length);
  const colour = colours[index % colours.length];
  const own = round ? format(mix(parse(colour), [119, 119, 119], 1 - 0.75 ** round)) : colour;
  return dark ? lifted(own) : own;
}

const STOPS = VIRIDIS.map(parse);

function along(stops: Rgb[], t: number): Rgb {
  const at = Math.min(1, Math.max(0, t)) * (stops.length - 1);
  const low = Math.min(stops.length - 2, Math.floor(at));
  return mix(stops[low], stops[low + 1], at - low);
}

/** Viridis from 0 to 1; on the dark ground its dark end is lifted, on white the palest is left out. */
export const viridis = (t: number, dark: boolean): Rgb => (dark ? parse(lifted(format(along(STOPS, t)))) : along(STOPS, 0.94 * t));

/** Viridis from 0 to 1 for lines: the part that can be seen on the ground. */
export function layerShade(t: number, dark: boolean): string {
  const [low, high] = dark ? VIRIDIS_ON_BLACK : VIRIDIS_ON_WHITE;
  return format(along(STOPS, low + (high - low) * t));
}

/** Viridis from the first layer to the last. */
export const layerColour = (layer: number, count: number, dark = false): string => layerShade(count > 1 ? layer / (count - 1) : 0, dark);

/** The colour of a part of a conversation. */
export const partColour = (part: number, dark: boolean): string => cycled(PART_COLOURS, part, dark);

const BLUES_ON_WHITE = ATTENTION.map(parse);
const BLUES_ON_BLACK = ATTENTION_DARK.map(parse);

/** Attention from 0 to 1 on a heatmap: light to dark on white, dark to light on black. */
export const attentionColour = (t: number, dark: boolean): Rgb => along(dark ? BLUES_ON_BLACK : BLUES_ON_WHITE, t);

/**
 * Signed values in [−1, 1]: blue negative, background zero, orange positive.
 * Small values rise fast, so that one large dimension does not hide the rest.
 */
export function signedColour(value: number, dark: boolean): Rgb {
  const { ground, negative, positive } = dark ? DARK_PAGE : LIGHT_PAGE;
  const t = Math.min(1, Math.abs(value)) ** 0.65;
  return mix(parse(ground), parse(value < 0 ? negative : positive), t);
}

/** A colour as one little-endian RGBA word, as ImageData holds it. */
export const pixel = ([r, g, b]: Rgb, alpha = 255): number =>
  ((alpha << 24) | (Math.round(b) << 16) | (Math.round(g) << 8) | Math.round(r)) >>> 0;

export function table(colour: (t: number) => Rgb): Uint32Array {
  return Uint32Array.from({ length: 256 }, (_, i) => pixel(colour(i / 255)));
}

/** The colours of a signed grid: index 127 is zero (marks/heatmap.ts). */
export const signedTable = (dark: boolean): Uint32Array =>
  Uint32Array.from({ length: 256 }, (_, i) => pixel(signedColour(Math.min(254, i) / 127 - 1, dark)));
