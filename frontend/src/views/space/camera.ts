// From the state's zoom and turn to a camera: where the square (or the turned cube) of points stands in a box.

import type { Turn, Zoom } from "../../core/input/contract";
import type { Camera } from "../../marks/scatter/cloud";

export interface Box {
  w: number;
  h: number;
}

const FIT = 1 / Math.sqrt(3); // a cube's corner is √3 times as far away as its faces: turned, it must stay inside

type Row = [number, number, number, number];

/** Rows over fractions (x, y, z, 1): right, down (both from 0 to 1 at no zoom) and towards the reader (−1 to 1). */
function base(dims: 2 | 3, { yaw, pitch }: Turn): { right: Row; down: Row; near: Row } {
  if (dims === 2) return { right: [1, 0, 0, 0], down: [0, -1, 0, 1], near: [0, 0, 0, 0] };
  const [sy, cy, sp, cp] = [Math.sin(yaw), Math.cos(yaw), Math.sin(pitch), Math.cos(pitch)];
  const around = (a: number, b: number, c: number, by: number, middle: number): Row => [
    a * by,
    b * by,
    c * by,
    middle - (by * (a + b + c)) / 2,
  ];
  return {
    right: around(cy, 0, sy, 1.1 * FIT, 0.5),
    down: around(-sy * sp, -cp, cy * sp, 1.1 * FIT, 0.5),
    near: around(-sy * cp, sp, cy * cp, 2 * FIT, 0),
  };
}

/** The zoom's window is the square from (x, y) with side 1/k; it fills the largest square in the middle of the box. */
export function cameraOf(dims: 2 | 3, box: Box, zoom: Zoom, turn: Turn): Camera {
  const { right, down, near } = base(dims, turn);
  const side = Math.min(box.w, box.h);
  const scale = side * zoom.k;
  const shift = (row: Row, corner: number, room: number): Row => [
    row[0] * scale,
    row[1] * scale,
    row[2] * scale,
    (row[3] - corner) * scale + (room - side) / 2,
  ];
  return { x: shift(right, zoom.x, box.w), y: shift(down, zoom.y, box.h), z: near };
}

const MOST = 400;

export function held({ x, y, k }: Zoom): Zoom {
  const near = Math.min(MOST, Math.max(1, k));
  const hold = (corner: number) => Math.min(1 - 1 / near, Math.max(0, corner));
  return { k: near, x: hold(x), y: hold(y) };
}

/** Zoomed by `factor` about the point (px, py) of the box. */
export function zoomedAt(box: Box, zoom: Zoom, factor: number, px: number, py: number): Zoom {
  const side = Math.min(box.w, box.h);
  const k = Math.min(MOST, Math.max(1, zoom.k * factor));
  const moved = (corner: number, p: number, room: number) => corner + ((p - (room - side) / 2) / side) * (1 / zoom.k - 1 / k);
  return held({ k, x: moved(zoom.x, px, box.w), y: moved(zoom.y, py, box.h) });
}

export function pannedBy(box: Box, zoom: Zoom, dx: number, dy: number): Zoom {
  const side = Math.min(box.w, box.h) * zoom.k;
  return held({ k: zoom.k, x: zoom.x - dx / side, y: zoom.y - dy / side });
}

export function turnedBy(turn: Turn, dx: number, dy: number): Turn {
  return { yaw: turn.yaw + dx * 0.008, pitch: Math.min(1.5708, Math.max(-1.5708, turn.pitch + dy * 0.008)) };
}

/** The zoom that brings these points (fractions right and down) into sight, with room around them. */
export function around(points: [number, number][], most = 12): Zoom {
  const xs = points.map(([x]) => x);
  const ys = points.map(([, y]) => y);
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const side = Math.max(right - left, bottom - top, 1 / most / 1.3) * 1.3;
  return held({ k: 1 / Math.min(1, side), x: (left + right - side) / 2, y: (top + bottom - side) / 2 });
}
