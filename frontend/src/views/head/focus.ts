// Which tokens are looked at alone (hovered or locked), and the numbers that go with them.

import { unitIndex, type Axis } from "../../core/reading/axes";
import type { State } from "../../core/input/contract";
import type { Labels } from "../../core/words/labels";
import type { HeadMap, Reading } from "../../core/reading/reading";
import { visible } from "../../core/words/tokens";

export type Side = "query" | "key";

export interface Focus {
  side: Side;
  /** Rows (side query) or columns (side key). */
  indices: Set<number>;
}

export const sideOf = (state: State): Side => (state.direction === "from" ? "query" : "key");

const axisOf = (reading: Reading, side: Side): Axis => (side === "query" ? reading.rows : reading.cols);

export function lockedIndices(reading: Reading, state: State): Set<number> {
  const axis = axisOf(reading, sideOf(state));
  return new Set(state.locked.map((token) => unitIndex(axis, token)).filter((index) => index >= 0));
}

/** Locked tokens, and the hovered one with them; on the other side only when nothing is locked. */
export function focusOf(reading: Reading, state: State, hovered: { side: Side; index: number } | null): Focus | null {
  const indices = lockedIndices(reading, state);
  const side = sideOf(state);
  if (hovered && (hovered.side === side || indices.size === 0)) {
    if (hovered.side !== side) return { side: hovered.side, indices: new Set([hovered.index]) };
    indices.add(hovered.index);
  }
  return indices.size ? { side, indices } : null;
}

/** The change a click makes: lock or unlock; a click on the other column turns the direction round. */
export function toggled(reading: Reading, state: State, side: Side, index: number): Partial<State> {
  const axis = axisOf(reading, side);
  const group = axis.groups[index];
  if (side !== sideOf(state)) return { direction: side === "query" ? "from" : "to", locked: [group[0]] };
  const without = state.locked.filter((token) => !group.includes(token));
  return { locked: without.length < state.locked.length ? without : [...state.locked, group[0]] };
}

/** Attention of the focused tokens, summed: [other side] for one map. */
export function summed(map: HeadMap, width: number, focus: Focus): Float32Array {
  const height = width ? map.weights.length / width : 0;
  const sums = new Float32Array(focus.side === "query" ? width : height);
  for (const index of focus.indices)
    if (focus.side === "query") for (let c = 0; c < width; c++) sums[c] += map.weights[index * width + c];
    else for (let r = 0; r < height; r++) sums[r] += map.weights[r * width + index];
  return sums;
}

/** The numbers beside the other column: summed over focused tokens, averaged over heads. */
export function numbersShown(reading: Reading, focus: Focus | null): { values: Float32Array; byMap: Float32Array[] } | null {
  if (!focus || !reading.maps.length) return null;
  const byMap = reading.maps.map((map) => summed(map, reading.cols.labels.length, focus));
  const values = byMap[0].map((_, i) => byMap.reduce((sum, map) => sum + map[i], 0) / byMap.length);
  return { values, byMap };
}

/** The indices with the most attention, most first. */
export const topIndices = (values: Float32Array, n: number): number[] =>
  [...values.keys()].sort((a, b) => values[b] - values[a]).slice(0, n);

/** What a screen reader says about the tokens in focus. */
export function spoken(reading: Reading, focus: Focus | null, labels: Labels): string {
  const shown = numbersShown(reading, focus);
  if (!focus || !shown) return "";
  const [own, other] = focus.side === "query" ? [reading.rows, reading.cols] : [reading.cols, reading.rows];
  const names = [...focus.indices].map((i) => visible(own.labels[i])).join(", ");
  const top = topIndices(shown.values, 3).map((i) => `${visible(other.labels[i])} ${shown.values[i].toFixed(3)}`);
  return `${names}. ${focus.side === "query" ? labels.from : labels.to}: ${top.join(", ")}`;
}
