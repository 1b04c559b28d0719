// Zooming and panning a map: pure arithmetic on {x, y, k}. x and y are the top left corner in fractions of the map.

import type { Zoom } from "../../core/input/contract";

export interface Frame {
  /** Drawing room in px. */
  width: number;
  height: number;
  cols: number;
  rows: number;
}

/** Size of a cell in px: square cells, the whole map in sight at k = 1. */
export const cellSize = (frame: Frame, k: number): number =>
  Math.min(frame.width / Math.max(1, frame.cols), frame.height / Math.max(1, frame.rows), 28) * k;

const most = (frame: Frame): number => Math.max(1, 32 / cellSize(frame, 1));

export function hold(frame: Frame, zoom: Zoom): Zoom {
  const k = Math.min(most(frame), Math.max(1, zoom.k));
  const cell = cellSize(frame, k);
  const room = (size: number, count: number) => Math.max(0, 1 - size / (cell * Math.max(1, count)));
  return {
    k,
    x: Math.min(room(frame.width, frame.cols), Math.max(0, zoom.x)),
    y: Math.min(room(frame.height, frame.rows), Math.max(0, zoom.y)),
  };
}

/** Zoomed by `factor` with the point (px, py) of the drawing staying where it is. */
export function zoomed(frame: Frame, zoom: Zoom, factor: number, px: number, py: number): Zoom {
  const k = Math.min(most(frame), Math.max(1, zoom.k * factor));
  const [before, after] = [cellSize(frame, zoom.k), cellSize(frame, k)];
  const shift = (corner: number, p: number, count: number) => corner + (p / before - p / after) / Math.max(1, count);
  return hold(frame, { k, x: shift(zoom.x, px, frame.cols), y: shift(zoom.y, py, frame.rows) });
}

export function panned(frame: Frame, zoom: Zoom, dx: number, dy: number): Zoom {
  const cell = cellSize(frame, zoom.k);
  return hold(frame, { k: zoom.k, x: zoom.x - dx / cell / Math.max(1, frame.cols), y: zoom.y - dy / cell / Math.max(1, frame.rows) });
}
