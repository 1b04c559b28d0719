// One head, small: a heatmap or a bundle of lines.

import { mix, parse, partColour, pixel, signedTable } from "../core/colours";
import { maximum } from "../core/reading/filters";
import type { Theme } from "../core/theme";
import { shades, shrink, signedShades } from "./heatmap";
import { lineSet } from "./lines";
import type { Item } from "./scene";

export interface ThumbnailLook {
  rescale: boolean;
  threshold: number;
  colour: string;
  theme: Theme;
  as: "lines" | "heatmap";
  signed: boolean;
}

/** What is kept of a head for its thumbnail: independent of where and how large it is drawn. */
export interface Thumbnail {
  cols: number;
  rows: number;
  weights: Float32Array;
  max: number;
}

export function thumbnailOf(weights: Float32Array, cols: number, size: number): Thumbnail {
  const small = shrink(weights, cols, size); // keeps the largest
  return { ...small, max: maximum(small.weights) };
}

const tables = new Map<string, Uint32Array>();

/** 256 colours from the ground to a head's own; made once for each head, not for each thumbnail. */
function shadesOf(ground: string, full: string): Uint32Array {
  const key = ground + full;
  let table = tables.get(key);
  if (!table) {
    const [low, high] = [parse(ground), parse(full)];
    tables.set(key, (table = Uint32Array.from({ length: 256 }, (_, i) => pixel(mix(low, high, i / 255)))));
  }
  return table;
}

export function thumbnailItem(thumb: Thumbnail, how: ThumbnailLook, x: number, y: number, w: number, h: number): Item {
  if (how.as === "heatmap" && how.signed) {
    const { shade } = signedShades(thumb.weights, thumb.cols, thumb.max, how.rescale, how.threshold);
    const colours = signedTable(how.theme.dark);
    const pixels = new Uint32Array(shade.length);
    for (let i = 0; i < pixels.length; i++) pixels[i] = colours[shade[i]];
    return { type: "bitmap", x, y, w, h, cols: thumb.cols, rows: thumb.rows, pixels };
  }
  if (how.as === "heatmap") {
    const grid = shades(thumb.weights, thumb.cols, thumb.max, how.rescale, how.threshold);
    const colours = shadesOf(how.theme.ground, how.colour);
    const pixels = new Uint32Array(grid.shade.length); // Uint32Array.from with a function takes ten times as long
    for (let i = 0; i < pixels.length; i++) pixels[i] = colours[grid.shade[i]];
    return { type: "bitmap", x, y, w, h, cols: thumb.cols, rows: thumb.rows, pixels };
  }
  const set = lineSet([thumb], {
    width: thumb.cols,
    threshold: Math.max(how.threshold, how.rescale ? 0.04 * thumb.max : 0.02),
    rescale: how.rescale,
  });
  const { positive, negative } = how.theme;
  const ys = (n: number) => Float32Array.from({ length: n }, (_, i) => y + ((i + 0.5) * h) / n);
  return {
    type: "lines",
    set,
    x1: x + 2,
    x2: x + w - 2,
    y1: ys(thumb.rows),
    y2: ys(thumb.cols),
    spread: 0,
    colours: how.signed ? [positive, negative] : [how.colour],
    maps: 1,
    widest: 1.5,
    curved: false,
    dark: how.theme.dark,
  };
}

/** Ticks at the edges of a thumbnail where tokens match the search: queries left; keys right of lines, above a heatmap. */
export function matchTicks(
  rows: boolean[],
  cols: boolean[],
  as: "lines" | "heatmap",
  x: number,
  y: number,
  size: number,
  stroke: string,
): Item[] {
  const items: Item[] = [];
  const tick = (x1: number, y1: number, x2: number, y2: number) => items.push({ type: "stroke", x1, y1, x2, y2, stroke, width: 2 });
  rows.forEach((isMatch, r) => isMatch && tick(x - 3, y + ((r + 0.5) * size) / rows.length, x + 2, y + ((r + 0.5) * size) / rows.length));
  cols.forEach((isMatch, c) => {
    const at = ((c + 0.5) * size) / cols.length;
    if (isMatch && as === "lines") tick(x + size - 2, y + at, x + size + 3, y + at);
    else if (isMatch) tick(x + at, y - 3, x + at, y + 2);
  });
  return items;
}

/** Bars along the edges of a thumbnail in the colours of the parts: of the queries on the left, of the keys on the right (or on top). */
export function partEdges(
  rows: number[],
  cols: number[],
  as: "lines" | "heatmap",
  x: number,
  y: number,
  size: number,
  dark: boolean,
): Item[] {
  const items: Item[] = [];
  const bars = (parts: number[], box: (from: number, length: number) => { x: number; y: number; w: number; h: number }) => {
    for (let start = 0, i = 1; i <= parts.length; i++) {
      if (i < parts.length && parts[i] === parts[start]) continue;
      const scale = size / parts.length;
      items.push({ type: "rect", ...box(start * scale, (i - start) * scale), fill: partColour(parts[start], dark) });
      start = i;
    }
  };
  bars(rows, (from, length) => ({ x: x - 3, y: y + from, w: 2, h: length }));
  if (as === "lines") bars(cols, (from, length) => ({ x: x + size + 1, y: y + from, w: 2, h: length }));
  else bars(cols, (from, length) => ({ x: x + from, y: y - 3, w: length, h: 2 }));
  return items;
}
