// One head, small: a heatmap or a bundle of lines.

import { mix, parse, pixel } from "../core/colours";
import type { Theme } from "../core/theme";
import { shades, shrink } from "./heatmap";
import { lineSet } from "./lines";
import type { Item } from "./scene";

export interface ThumbnailInput {
  weights: Float32Array;
  cols: number;
  max: number;
  rescale: boolean;
  threshold: number;
  colour: string;
  theme: Theme;
  as: "lines" | "heatmap";
}

/** What is kept of a head for its thumbnail: independent of where and how large it is drawn. */
export interface Thumbnail {
  cols: number;
  rows: number;
  weights: Float32Array;
  max: number;
}

export function thumbnailOf(weights: Float32Array, cols: number, max: number, size: number): Thumbnail {
  return { ...shrink(weights, cols, size), max };
}

export function thumbnailItem(thumb: Thumbnail, how: Omit<ThumbnailInput, "weights" | "cols" | "max">, x: number, y: number, w: number, h: number): Item {
  if (how.as === "heatmap") {
    const grid = shades(thumb.weights, thumb.cols, thumb.max, how.rescale, how.threshold);
    const ground = parse(how.theme.ground);
    const full = parse(how.colour);
    const strongest = how.theme.dark ? mix(full, [255, 255, 255], 0.25) : full;
    const colours = Uint32Array.from({ length: 256 }, (_, i) => pixel(mix(ground, strongest, i / 255)));
    return { type: "bitmap", x, y, w, h, cols: thumb.cols, rows: thumb.rows, pixels: Uint32Array.from(grid.shade, (s) => colours[s]) };
  }
  const set = lineSet([thumb], { width: thumb.cols, threshold: Math.max(how.threshold, how.rescale ? 0.04 * thumb.max : 0.02), rescale: how.rescale });
  const ys = (n: number) => Float32Array.from({ length: n }, (_, i) => y + ((i + 0.5) * h) / n);
  return { type: "lines", set, x1: x + 2, x2: x + w - 2, y1: ys(thumb.rows), y2: ys(thumb.cols), spread: 0, colours: [how.colour], widest: 1.5, curved: false };
}
