// A map as a picture: brightness by weight, and ever coarser copies of it, so that 4,096 × 4,096 draws as fast as 64 × 64.

export interface Grid {
  cols: number;
  rows: number;
  /** Colour index, 0…255: the square root of the strength, so that small weights can be seen. Signed: 0…254, and 127 is zero. */
  shade: Uint8Array;
  signed?: boolean;
}

/** The colour index of zero in a signed grid. */
export const ZERO = 127;

export interface Pyramid {
  /** levels[l] has cells of 2^l × 2^l weights, each the largest of its weights. */
  levels: Grid[];
}

export function shades(weights: Float32Array, cols: number, max: number, rescale: boolean, threshold: number): Grid {
  const scale = rescale ? (max > 0 ? 1 / max : 0) : 1;
  const shade = new Uint8Array(weights.length);
  for (let i = 0; i < weights.length; i++) {
    const weight = weights[i];
    shade[i] = weight < threshold ? 0 : Math.min(255, Math.round(255 * Math.sqrt(weight * scale)));
  }
  return { cols, rows: cols ? weights.length / cols : 0, shade };
}

/** A grid whose numbers have a sign: the two sides of zero have the two sides of the colours. */
export function signedShades(parts: Float32Array, cols: number, max: number, rescale: boolean, threshold: number): Grid {
  const scale = rescale ? (max > 0 ? 1 / max : 0) : 1;
  const shade = new Uint8Array(parts.length);
  for (let i = 0; i < parts.length; i++) {
    const part = Math.max(-1, Math.min(1, Math.abs(parts[i]) < threshold ? 0 : parts[i] * scale));
    shade[i] = ZERO + Math.round(ZERO * part);
  }
  return { cols, rows: cols ? parts.length / cols : 0, shade, signed: true };
}

export function coarser(grid: Grid): Grid {
  const cols = Math.ceil(grid.cols / 2);
  const rows = Math.ceil(grid.rows / 2);
  const shade = new Uint8Array(cols * rows);
  if (grid.signed) shade.fill(ZERO);
  for (let r = 0; r < grid.rows; r++) {
    const into = (r >> 1) * cols;
    const from = r * grid.cols;
    for (let c = 0; c < grid.cols; c++) {
      const value = grid.shade[from + c];
      const held = shade[into + (c >> 1)];
      if (grid.signed ? Math.abs(value - ZERO) > Math.abs(held - ZERO) : value > held) shade[into + (c >> 1)] = value;
    }
  }
  return { cols, rows, shade, signed: grid.signed };
}

export function pyramid(base: Grid): Pyramid {
  const levels = [base];
  while (Math.max(levels[levels.length - 1].cols, levels[levels.length - 1].rows) > 256) levels.push(coarser(levels[levels.length - 1]));
  return { levels };
}

export interface Window {
  /** In weights, may be fractional. */
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** The pixels of the part in the window, from the coarsest level that still has a cell a pixel. */
export function cut(
  pyr: Pyramid,
  window: Window,
  cellSize: number,
  colours: Uint32Array,
): { left: number; top: number; right: number; bottom: number; cols: number; rows: number; pixels: Uint32Array } {
  let level = 0;
  while (level + 1 < pyr.levels.length && cellSize * 2 ** level < 0.75) level++;
  const grid = pyr.levels[level];
  const size = 2 ** level;
  const c0 = Math.max(0, Math.floor(window.left / size));
  const r0 = Math.max(0, Math.floor(window.top / size));
  const c1 = Math.min(grid.cols, Math.ceil(window.right / size));
  const r1 = Math.min(grid.rows, Math.ceil(window.bottom / size));
  const cols = Math.max(0, c1 - c0);
  const rows = Math.max(0, r1 - r0);
  const pixels = new Uint32Array(cols * rows);
  for (let r = 0; r < rows; r++) {
    const from = (r0 + r) * grid.cols + c0;
    for (let c = 0; c < cols; c++) pixels[r * cols + c] = colours[grid.shade[from + c]];
  }
  return { left: c0 * size, top: r0 * size, right: (c0 + cols) * size, bottom: (r0 + rows) * size, cols, rows, pixels };
}

/** A small copy at most `size` cells a side, each cell the largest of its weights. */
export function shrink(weights: Float32Array, cols: number, size: number): { cols: number; rows: number; weights: Float32Array } {
  const rows = cols ? weights.length / cols : 0;
  const step = Math.max(1, Math.ceil(Math.max(cols, rows) / size));
  if (step === 1) return { cols, rows, weights };
  const smallCols = Math.ceil(cols / step);
  const smallRows = Math.ceil(rows / step);
  const small = new Float32Array(smallCols * smallRows);
  for (let r = 0; r < rows; r++) {
    const to = Math.floor(r / step) * smallCols;
    let at = r * cols;
    for (let c = 0, into = to; c < cols; into++) {
      const end = Math.min(cols, c + step);
      let most = small[into];
      let size = most < 0 ? -most : most;
      for (; c < end; c++) {
        const weight = weights[at++];
        if (weight > size) most = size = weight;
        else if (-weight > size) size = -(most = weight);
      }
      small[into] = most;
    }
  }
  return { cols: smallCols, rows: smallRows, weights: small };
}
