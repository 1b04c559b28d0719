// A line or a weight is switched off: its query no longer sees its key in that head.

import type { Switched } from "../../controls/toolbar";
import { offIn } from "../../core/state/off";
import type { Reading } from "../../core/reading/reading";
import { lineAt } from "../../marks/line-at";
import type { Lines } from "../../marks/scene";
import type { Stage } from "../../registry";
import type { Cell } from "./heatmap-frame";

/** The heads of a map; null where several were chosen and combined. Of a quantity that does not tell heads apart, all of them. */
function headsOf(stage: Stage, reading: Reading, map: number): Switched["heads"] | null {
  const { head } = reading.maps[map];
  if (head >= 0) return head;
  if (reading.quantity.by_head || stage.state().combine !== "each") return null;
  return reading.quantity.by_layer ? "layer" : "all";
}

const FADED = 0.15;

/** Draws what is switched off faintly. */
export function fadeOff({ spec, state }: Stage, reading: Reading, { set }: Lines): void {
  const { off, stack: at, layer } = state();
  if (!off) return;
  const stack = spec.stacks[at];
  const { layer: number, n_heads: heads } = stack.layers[layer];
  const isOff = reading.maps.map(({ head }) => offIn(off, { stacks: spec.stacks.length, stack: stack.name, layer: number, head, heads }));
  for (let i = 0; i < set.count; i++) {
    const [query] = reading.rows.groups[set.from[i]];
    if (isOff[set.map[i] % isOff.length](query, reading.cols.groups[set.to[i]][0])) set.opacity[i] *= FADED;
  }
}

/** Whether a weight of a heatmap was switched off, or on again. */
export function switchedCell(stage: Stage, reading: Reading | null, cell: Cell | null): boolean {
  const heads = reading?.maps.length ? headsOf(stage, reading, 0) : null;
  if (!stage.switchOff || !reading || !cell || heads === null) return false;
  stage.switchOff({ heads, queries: reading.rows.groups[cell.row], keys: reading.cols.groups[cell.col] });
  return true;
}

/** Whether there is a line at a point of the canvas that was switched off, or on again. */
export function switchedLine(stage: Stage, reading: Reading | null, lines: Lines | null, x: number, y: number): boolean {
  if (!stage.switchOff || !reading || !lines) return false;
  const line = lineAt(lines, x, y);
  if (line < 0) return false;
  const { from, to, map } = lines.set;
  const heads = headsOf(stage, reading, map[line] % reading.maps.length);
  if (heads === null) return false;
  stage.switchOff({ heads, queries: reading.rows.groups[from[line]], keys: reading.cols.groups[to[line]] });
  return true;
}
