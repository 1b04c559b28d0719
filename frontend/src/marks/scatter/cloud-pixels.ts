// Scatters painted point by point into pixels: where there is no WebGL, and for saved pictures.

import { DEPTH, LARGER, depthOf, drawingOrder, isLarge, placed, type Plot } from "./cloud";

interface Stamp {
  side: number;
  cover: Float32Array; // [row, column], 0 to 1
}

const stamps = new Map<string, Stamp>();
const STEPS = 4; // positions within a pixel

/** How much of each pixel a disc (or a diamond of the same area) covers whose middle is off by (fx, fy) of a pixel. */
function stamp(diameter: number, diamond: boolean, fx: number, fy: number): Stamp {
  const key = `${diameter.toFixed(1)}${diamond}${fx}${fy}`;
  let stamp = stamps.get(key);
  if (stamp) return stamp;
  const radius = diameter / 2;
  const side = Math.ceil(diameter * (diamond ? 1.26 : 1)) + 2;
  const [mx, my] = [side / 2 + (fx + 0.5) / STEPS - 0.5, side / 2 + (fy + 0.5) / STEPS - 0.5];
  const cover = new Float32Array(side * side);
  for (let r = 0; r < side; r++)
    for (let c = 0; c < side; c++) {
      const [x, y] = [Math.abs(c + 0.5 - mx), Math.abs(r + 0.5 - my)];
      const reach = diamond ? (x + y) / Math.SQRT2 - radius * 0.886 : Math.hypot(x, y) - radius;
      cover[r * side + c] = Math.max(0, Math.min(1, 0.5 - reach)) * Math.min(1, diameter * diameter);
    }
  if (stamps.size > 4000) stamps.clear();
  stamps.set(key, (stamp = { side, cover }));
  return stamp;
}

/**
 * Paints over `pixels` (premultiplied floats [row, column, RGBA], width × height), `density` of them a px.
 * Paints all points, or the large ones only.
 */
function splat(plot: Plot, pixels: Float32Array, width: number, height: number, density: number, largeOnly: boolean): void {
  const { cloud, camera, colours } = plot;
  const at = placed(cloud, camera);
  const order = drawingOrder(cloud.count);
  const [left, top] = [Math.max(0, Math.round(plot.x * density)), Math.max(0, Math.round(plot.y * density))];
  const [right, bottom] = [
    Math.min(width, Math.round((plot.x + plot.w) * density)),
    Math.min(height, Math.round((plot.y + plot.h) * density)),
  ];
  const some = colours.some(isLarge);
  for (const large of largeOnly ? [true] : some ? [false, true] : [false])
    for (let n = 0; n < order.length; n++) {
      const i = order[n];
      const colour = colours[i];
      if (some && isLarge(colour) !== large) continue;
      const x = (plot.x + at[2 * i]) * density;
      const y = (plot.y + at[2 * i + 1]) * density;
      if (!(x > left - 20 && x < right + 20 && y > top - 20 && y < bottom + 20)) continue;
      const depth = depthOf(cloud, camera, i);
      const diameter = plot.size * density * (large ? LARGER : 1) * (1 + DEPTH * depth);
      const mark = stamp(diameter, i >= cloud.keysFrom, Math.floor((x - Math.floor(x)) * STEPS), Math.floor((y - Math.floor(y)) * STEPS));
      const alpha = (colour >>> 24) / 255;
      const [r, g, b] = [(colour & 255) / 255, ((colour >>> 8) & 255) / 255, ((colour >>> 16) & 255) / 255];
      const [x0, y0] = [Math.floor(x) - Math.floor(mark.side / 2), Math.floor(y) - Math.floor(mark.side / 2)];
      for (let row = Math.max(0, top - y0); row < Math.min(mark.side, bottom - y0); row++)
        for (let col = Math.max(0, left - x0); col < Math.min(mark.side, right - x0); col++) {
          const a = mark.cover[row * mark.side + col] * alpha;
          if (a === 0) continue;
          const p = 4 * ((y0 + row) * width + x0 + col);
          pixels[p] = r * a + pixels[p] * (1 - a);
          pixels[p + 1] = g * a + pixels[p + 1] * (1 - a);
          pixels[p + 2] = b * a + pixels[p + 2] * (1 - a);
          pixels[p + 3] = a + pixels[p + 3] * (1 - a);
        }
    }
}

/** Below this many pixels a point has no shape: what counts is how many there are. */
export const DUST = 2.6;

/** Paints many tiny points at once: each pixel gets the mean colour of the points in it, the darker the more there are. Needs no order. */
function dust(plot: Plot, pixels: Float32Array, width: number, height: number, density: number): void {
  const { cloud, camera, colours } = plot;
  const at = placed(cloud, camera);
  const [left, top] = [Math.max(0, Math.round(plot.x * density)), Math.max(0, Math.round(plot.y * density))];
  const [w, h] = [
    Math.min(width, Math.round((plot.x + plot.w) * density)) - left,
    Math.min(height, Math.round((plot.y + plot.h) * density)) - top,
  ];
  if (w < 2 || h < 2) return;
  const sums = new Float32Array(4 * w * h); // [row, column, (red, green, blue, coverage)]
  const coverage = (plot.size * density) ** 2 / 255;
  for (let i = 0; i < cloud.count; i++) {
    const x = at[2 * i] * density - 0.5;
    const y = at[2 * i + 1] * density - 0.5;
    if (!(x >= 0 && x < w - 1 && y >= 0 && y < h - 1)) continue;
    const colour = colours[i];
    if (colour >>> 24 === 255) continue;
    const col = x | 0;
    const row = y | 0;
    const fx = x - col;
    const fy = y - row;
    const share = (colour >>> 24) * coverage;
    const r = colour & 255;
    const g = (colour >>> 8) & 255;
    const b = (colour >>> 16) & 255;
    let p = 4 * (row * w + col);
    for (let corner = 0; corner < 4; corner++) {
      const part = share * (corner & 1 ? fx : 1 - fx) * (corner & 2 ? fy : 1 - fy);
      sums[p] += r * part;
      sums[p + 1] += g * part;
      sums[p + 2] += b * part;
      sums[p + 3] += part;
      p += corner === 1 ? 4 * w - 4 : 4;
    }
  }
  for (let row = 0; row < h; row++)
    for (let col = 0; col < w; col++) {
      const p = 4 * (row * w + col);
      const total = sums[p + 3];
      if (total === 0) continue;
      const a = 1 - Math.exp(-total);
      const to = 4 * ((top + row) * width + left + col);
      for (let c = 0; c < 3; c++) pixels[to + c] = (sums[p + c] / total / 255) * a + pixels[to + c] * (1 - a);
      pixels[to + 3] = a + pixels[to + 3] * (1 - a);
    }
}

/** The plots as RGBA words, not premultiplied: [row, column] of a picture of this size. */
export function pixelsOf(plots: Plot[], width: number, height: number, density: number): Uint32Array {
  const floats = new Float32Array(4 * width * height);
  for (const plot of plots) {
    const tiny = plot.size * density < DUST;
    if (tiny) dust(plot, floats, width, height, density);
    if (!tiny || plot.colours.some(isLarge)) splat(plot, floats, width, height, density, tiny);
  }
  const bytes = new Uint8ClampedArray(4 * width * height);
  for (let p = 0; p < floats.length; p += 4) {
    const a = floats[p + 3];
    if (a === 0) continue;
    for (let c = 0; c < 3; c++) bytes[p + c] = (floats[p + c] / a) * 255;
    bytes[p + 3] = a * 255;
  }
  return new Uint32Array(bytes.buffer);
}
