// Colours of LOOK: heads, layers, signed values, attention.

export type Rgb = [number, number, number];

export const HEAD_PALETTE = [
  "#9640ff", "#ba6412", "#07c7c6", "#117068", "#a79bff", "#6f8a5c",
  "#5b8eb2", "#a7ba04", "#b0042a", "#e08995", "#ea2695", "#a00095",
] as const;

export const parse = (hex: string): Rgb => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)) as Rgb;
export const format = (rgb: Rgb): string =>
  "#" + rgb.map((c) => Math.round(Math.min(255, Math.max(0, c))).toString(16).padStart(2, "0")).join("");
export const mix = (a: Rgb, b: Rgb, t: number): Rgb => a.map((c, i) => c + (b[i] - c) * t) as Rgb;

const LIGHTER: Rgb = [255, 255, 255];
const DARKER: Rgb = [0, 0, 0];

/**
 * The colour of a head: the palette modulo 12. Every further dozen takes the same hues, by turns darker and lighter and further
 * from the original each time, so that no two heads share a colour.
 */
export function headColour(head: number): string {
  const hue = parse(HEAD_PALETTE[head % 12]);
  const dozen = Math.floor(head / 12);
  if (dozen === 0) return HEAD_PALETTE[head % 12];
  const towards = dozen % 2 ? DARKER : LIGHTER;
  const step = Math.ceil(dozen / 2);
  return format(mix(hue, towards, 0.7 * (1 - 0.65 ** step)));
}

const VIRIDIS = ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"].map(parse);

function along(stops: Rgb[], t: number): Rgb {
  const at = Math.min(1, Math.max(0, t)) * (stops.length - 1);
  const low = Math.min(stops.length - 2, Math.floor(at));
  return mix(stops[low], stops[low + 1], at - low);
}

/** Viridis from the first layer to the last. */
export const layerColour = (layer: number, count: number): string => format(along(VIRIDIS, count > 1 ? layer / (count - 1) : 0));

const BLUES_ON_WHITE = ["#ffffff", "#dbe7fd", "#a9c6fa", "#6f9df3", "#2f67e3", "#1d40a8", "#10225f"].map(parse);
const BLUES_ON_BLACK = ["#0f1115", "#14264d", "#1d3f8f", "#2f66d8", "#6f9df3", "#b5cffb", "#f2f6ff"].map(parse);

/** Attention from 0 to 1 on a heatmap: light to dark on white, dark to light on black. */
export const attentionColour = (t: number, dark: boolean): Rgb => along(dark ? BLUES_ON_BLACK : BLUES_ON_WHITE, t);

const NEGATIVE = parse("#2563eb");
const POSITIVE = parse("#ea580c");

/** Signed values in [−1, 1]: blue negative, ground zero, orange positive. */
export function signedColour(value: number, dark: boolean): Rgb {
  const ground = parse(dark ? "#0f1115" : "#ffffff");
  const t = Math.min(1, Math.abs(value));
  return mix(ground, value < 0 ? NEGATIVE : POSITIVE, t);
}

/** A colour as one little-endian RGBA word, as ImageData holds it. */
export const pixel = ([r, g, b]: Rgb, alpha = 255): number =>
  ((alpha << 24) | (Math.round(b) << 16) | (Math.round(g) << 8) | Math.round(r)) >>> 0;

export function table(colour: (t: number) => Rgb): Uint32Array {
  return Uint32Array.from({ length: 256 }, (_, i) => pixel(colour(i / 255)));
}
