// Token labels beside points: as many as fit without touching one another.

import type { SpaceData } from "../../../core/reading/space";
import type { Theme } from "../../../core/theme";
import type { Item } from "../../../marks/scene";
import { naturalWidth, tokenItems, tokenWidth } from "../../../marks/tokens";

export interface Wanted {
  point: number;
  /** Written after the token, such as its weight. */
  number?: string;
  bold?: boolean;
}

interface Rect {
  x: number;
  y: number;
  w: number;
  h: number;
}

const SIZE = 12;
const HIGH = 15;
const ROOM = 130;
const MOST = 160;

class OccupiedBoxes {
  private rects = new Map<number, Rect[]>();
  private key = (x: number, y: number) => Math.floor(y / 32) * 1000 + Math.floor(x / 64);

  private *around(r: Rect): Generator<number> {
    for (let y = Math.floor(r.y / 32); y <= Math.floor((r.y + r.h) / 32); y++)
      for (let x = Math.floor(r.x / 64); x <= Math.floor((r.x + r.w) / 64); x++) yield this.key(x * 64, y * 32);
  }

  isFree(r: Rect): boolean {
    for (const cell of this.around(r))
      for (const o of this.rects.get(cell) ?? [])
        if (r.x < o.x + o.w && o.x < r.x + r.w && r.y < o.y + o.h && o.y < r.y + r.h) return false;
    return true;
  }

  add(r: Rect): void {
    for (const cell of this.around(r)) this.rects.set(cell, [...(this.rects.get(cell) ?? []), r]);
  }
}

/** In the order given, each right of its point, or left, above, below; those without room are left out. */
export function labelItems(
  data: SpaceData,
  wanted: Wanted[],
  at: Float32Array,
  box: { x: number; y: number; w: number; h: number },
  gap: number,
  theme: Theme,
): { items: Item[]; labelled: number[] } {
  const occupied = new OccupiedBoxes();
  const items: Item[] = [];
  const labelled: number[] = [];
  const seen = new Set<number>();
  // No label covers a point that has a label.
  for (const { point } of wanted.slice(0, 4 * MOST))
    occupied.add({ x: box.x + at[2 * point] - gap / 2, y: box.y + at[2 * point + 1] - gap / 2, w: gap, h: gap });
  for (const { point, number, bold } of wanted) {
    if (labelled.length >= MOST) break;
    const [x, y] = [box.x + at[2 * point], box.y + at[2 * point + 1]];
    if (seen.has(point) || !(x >= box.x && y >= box.y && x <= box.x + box.w && y <= box.y + box.h)) continue;
    seen.add(point);
    const token = data.tokenOf(point);
    const special = data.sideOf(point).special(data.own(point));
    const wide = Math.min(ROOM, naturalWidth(token, special, SIZE)) + (number ? tokenWidth(number, SIZE) + 6 : 0);
    const spots: Rect[] = [
      { x: x + gap, y: y - HIGH / 2, w: wide, h: HIGH },
      { x: x - gap - wide, y: y - HIGH / 2, w: wide, h: HIGH },
      { x: x - wide / 2, y: y - gap - HIGH, w: wide, h: HIGH },
      { x: x - wide / 2, y: y + gap, w: wide, h: HIGH },
    ];
    const spot = spots.find(
      (r) => r.x >= box.x && r.x + r.w <= box.x + box.w && r.y >= box.y && r.y + r.h <= box.y + box.h && occupied.isFree(r),
    );
    if (!spot) continue;
    occupied.add(spot);
    labelled.push(point);
    const fill = special ? theme.muted : data.values ? theme.text : data.isKey(point) ? theme.key : theme.query;
    items.push({ type: "rect", x: spot.x - 1, y: spot.y, w: spot.w + 2, h: spot.h, fill: theme.ground, opacity: 0.72, radius: 3 });
    items.push(...tokenItems(token, spot.x, spot.y + HIGH / 2, { size: SIZE, room: ROOM, special, fill, bold }, theme));
    if (number)
      items.push({
        type: "text",
        x: spot.x + spot.w,
        y: spot.y + HIGH / 2,
        text: number,
        size: SIZE,
        mono: true,
        fill: theme.text,
        anchor: "end",
      });
  }
  return { items, labelled };
}
