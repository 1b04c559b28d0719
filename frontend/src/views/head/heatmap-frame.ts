// Where a heatmap lies on its canvas, and which cell lies under a point.

import type { Zoom } from "../../core/input/contract";
import type { Reading } from "../../core/reading/reading";
import { isCoarse } from "../pointer";
import { bottomOf, seen } from "./scene-heatmap";
import { widestToken } from "./scene-lines";
import { cellSize, type Frame } from "./zoom";

/** Room for the tokens of the queries (left) and of the keys (top), and the width of the whole. */
export interface Margins {
  left: number;
  top: number;
  width: number;
}

export interface Cell {
  row: number;
  col: number;
}

export function heatmapFrame({ rows, cols }: Reading, available: number, windowHeight: number): [Frame, Margins] {
  const width = Math.max(280, Math.min(available, 1200));
  const label = (most: number) => Math.min(Math.max(48, most + 28), width < 560 ? 92 : 140);
  const left = label(widestToken(rows));
  const top = label(widestToken(cols));
  const high = Math.max(240, Math.min(820, windowHeight * 0.78) - top - bottomOf(width));
  const frame = { width: width - left - (isCoarse() ? 4 : 40), height: high, cols: cols.labels.length, rows: rows.labels.length };
  frame.height = Math.max(60, Math.min(high, cellSize({ ...frame, height: Infinity }, 1) * frame.rows));
  return [frame, { left, top, width }];
}

/** The cell under a point of the canvas, or null beside the map. */
export function cellAt(frame: Frame, margins: Margins, zoom: Zoom, x: number, y: number): Cell | null {
  const size = cellSize(frame, zoom.k);
  const window = seen({ frame, zoom });
  const col = Math.floor(window.left + (x - margins.left) / size);
  const row = Math.floor(window.top + (y - margins.top) / size);
  const inside =
    x >= margins.left &&
    y >= margins.top &&
    col < window.right &&
    row < window.bottom &&
    x < margins.left + frame.width &&
    y < margins.top + frame.height;
  return inside ? { row, col } : null;
}
