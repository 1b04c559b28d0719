// Vectors as strips: one cell a dimension, blue negative, orange positive.

import { pixel, signedColour } from "../core/colours";
import type { Theme } from "../core/theme";
import type { Bitmap, Item } from "./scene";

export function strip(values: Float32Array, scale: number, x: number, y: number, w: number, h: number, theme: Theme): Bitmap {
  return {
    type: "bitmap",
    x,
    y,
    w,
    h,
    cols: values.length,
    rows: 1,
    pixels: Uint32Array.from(values, (value) => pixel(signedColour(value / scale, theme.dark))),
  };
}

/** A bar from the middle, right for positive, left for negative. */
export function signedBar(value: number, scale: number, x: number, y: number, w: number, h: number, theme: Theme): Item {
  const length = (Math.min(1, Math.abs(value) / scale) * w) / 2;
  return {
    type: "rect",
    x: value < 0 ? x + w / 2 - length : x + w / 2,
    y,
    w: length,
    h,
    fill: theme[value < 0 ? "negative" : "positive"],
    opacity: theme.dark ? 0.9 : 0.8,
  };
}
