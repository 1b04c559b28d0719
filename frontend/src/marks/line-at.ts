// Which attention line lies under a point: the nearest, and of several that are near the strongest.

import { ends } from "./lines";
import type { Lines } from "./scene";

const NEAR = 5; // px

/** How far along the curve x lies, and y there: the curve of canvas.ts, whose control points lie at `bend` from its ends. */
function curveY(item: Lines, i: number, x: number, bend: number): number {
  const [x1, y1, x2, y2] = ends(item, i);
  if (!item.curved) return y1 + ((y2 - y1) * (x - x1)) / (x2 - x1);
  let [low, high] = [0, 1];
  for (let step = 0; step < 20; step++) {
    const t = (low + high) / 2;
    const u = 1 - t;
    const at = u ** 3 * x1 + 3 * u * u * t * (x1 + bend) + 3 * u * t * t * (x2 - bend) + t ** 3 * x2;
    if (at < x) low = t;
    else high = t;
  }
  const t = (low + high) / 2;
  const u = 1 - t;
  return (u ** 3 + 3 * u * u * t) * y1 + (3 * u * t * t + t ** 3) * y2;
}

/** The index of the line at a point of the canvas; -1 where there is none. */
export function lineAt(item: Lines, x: number, y: number): number {
  if (x <= item.x1 || x >= item.x2) return -1;
  const bend = bendOf(item);
  let best = -1;
  for (let i = 0; i < item.set.count; i++) {
    if (Math.abs(curveY(item, i, x, bend) - y) > NEAR) continue;
    if (best < 0 || item.set.opacity[i] > item.set.opacity[best]) best = i;
  }
  return best;
}

/** How far the control points of a curved line lie from its ends. */
const bendOf = (item: Pick<Lines, "x1" | "x2">): number => (item.x2 - item.x1) * 0.4;
