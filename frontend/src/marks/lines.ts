// The lines of a head view, as columns of numbers: 12 heads × 128 tokens are 196,608 of them, too many for objects.

import type { HeadMap } from "../core/reading/reading";
import type { Lines } from "./scene";

export interface LineSet {
  count: number;
  from: Uint32Array; // row
  to: Uint32Array; // column
  map: Uint16Array; // index in the list of maps
  weight: Float32Array;
  opacity: Float32Array;
}

/** Fainter than this cannot be told from the ground. */
export const FAINTEST = 2.5 / 255;
export const LEVELS = 24;
/** Fainter lines have no arrowhead. */
export const FAINT_ARROW = 0.06;

export const strength = (weight: number, max: number, rescale: boolean): number =>
  rescale ? (max > 0 ? weight / max : 0) : Math.min(1, weight);
/** A faint line has less contrast with a dark ground than with a white one; this gives it at least as much. */
export const raised = (opacity: number): number => opacity ** 0.8;
export const opacityOf = (strong: number): number => strong ** 0.85;

export interface Choice {
  width: number; // columns in a map
  threshold: number;
  rescale: boolean;
  /** Rows or columns to show alone; null shows all. */
  rows?: Set<number> | null;
  cols?: Set<number> | null;
  /** Whether the line from row r to column c can touch the window at all. */
  seen?: (row: number, col: number) => boolean;
}

// A line of a number below zero has the index of its map plus the number of maps: the second half of the colours.

export function lineSet(maps: Pick<HeadMap, "weights" | "max">[], choice: Choice): LineSet {
  const { width } = choice;
  let room = 4096;
  let set: LineSet = grow(null, room);
  maps.forEach(({ weights, max }, m) => {
    const height = width ? weights.length / width : 0;
    const scale = choice.rescale ? (max > 0 ? 1 / max : 0) : 1;
    const floor = Math.max(choice.threshold, FAINTEST ** (1 / 0.85) / (scale || 1)); // the least weight that can be seen
    const visit = (row: number, col: number) => {
      const value = weights[row * width + col];
      const weight = Math.abs(value);
      if (weight < floor || (choice.seen && !choice.seen(row, col))) return;
      if (set.count === room) set = grow(set, (room *= 2));
      const at = set.count++;
      set.from[at] = row;
      set.to[at] = col;
      set.map[at] = value < 0 ? m + maps.length : m;
      set.weight[at] = value;
      set.opacity[at] = opacityOf(Math.min(1, weight * scale));
    };
    const rows = choice.rows ? [...choice.rows] : null;
    if (choice.cols) for (const col of choice.cols) for (let row = 0; row < height; row++) visit(row, col);
    else if (rows) for (const row of rows) for (let col = 0; col < width; col++) visit(row, col);
    else for (let row = 0; row < height; row++) for (let col = 0; col < width; col++) visit(row, col);
  });
  return set;
}

const COLUMNS = ["from", "to", "map", "weight", "opacity"] as const;

function grow(old: LineSet | null, room: number): LineSet {
  const set: LineSet = {
    count: old?.count ?? 0,
    from: new Uint32Array(room),
    to: new Uint32Array(room),
    map: new Uint16Array(room),
    weight: new Float32Array(room),
    opacity: new Float32Array(room),
  };
  if (old) for (const key of COLUMNS) set[key].set(old[key]);
  return set;
}

/** Up to so many lines each has its full colour, and a weak one is thin; of more, weak ones are faint, or they would hide each other. */
export const FEW_LINES = 200;
const THINNEST = 0.5; // px

/**
 * Lines sharing colour and nearly opacity, faint first so that strong ones lie on top. Both painters draw these. `faint`: too weak for an
 * arrow.
 */
export function batches(item: Lines): { colour: string; opacity: number; width: number; faint: boolean; members: number[] }[] {
  const { set, colours } = item;
  const bins: number[][] = Array.from({ length: LEVELS * colours.length }, () => []);
  for (let i = 0; i < set.count; i++) {
    const level = Math.min(LEVELS - 1, Math.floor(Math.sqrt(set.opacity[i]) * LEVELS)); // finer where it is faint
    bins[level * colours.length + set.map[i]].push(i);
  }
  return bins.flatMap((members, bin) => {
    if (!members.length) return [];
    const opacity = members.reduce((sum, i) => sum + set.opacity[i], 0) / members.length;
    const thinnest = item.thin ? THINNEST : 0.75;
    const width = thinnest + (item.widest - thinnest) * opacity;
    const shown = item.thin ? 1 : item.dark ? raised(opacity) : opacity;
    return [{ colour: colours[bin % colours.length], opacity: shown, width, faint: opacity < FAINT_ARROW, members }];
  });
}

/** At most about `budget` lines, the strongest: enough while the list is moving. */
export function strongest(set: LineSet, budget: number): LineSet {
  if (set.count <= budget) return set;
  const histogram = new Uint32Array(256);
  for (let i = 0; i < set.count; i++) histogram[Math.min(255, Math.floor(set.opacity[i] * 256))]++;
  let cut = 255;
  for (let kept = histogram[255]; cut > 0 && kept + histogram[cut - 1] <= budget; cut--) kept += histogram[cut - 1];
  const left = grow(null, budget + histogram[255]);
  for (let i = 0; i < set.count; i++) {
    if (Math.floor(set.opacity[i] * 256) < cut) continue;
    const at = left.count++;
    for (const key of COLUMNS) left[key][at] = set[key][i];
  }
  return left;
}

/** Heads leave a token a little apart from each other, so that lines of several heads do not hide one another. */
export const nudge = (map: number, maps: number, spread: number): number => (maps > 1 ? ((map + 0.5) / maps - 0.5) * spread : 0);

/** End points of a line: x1, y1, x2, y2. */
export function ends(item: Lines, i: number): [number, number, number, number] {
  const { set } = item;
  const maps = item.maps ?? item.colours.length;
  const off = nudge(set.map[i] % maps, maps, item.spread);
  return [item.x1, item.y1[set.from[i]] + off, item.x2, item.y2[set.to[i]] + off];
}
