// A line or a weight is switched off: its query no longer sees its key in that head.

import type { Reading } from "../../core/reading/reading";
import { lineAt } from "../../marks/line-at";
import type { Lines } from "../../marks/scene";
import type { Stage } from "../../registry";
import type { Cell } from "./heatmap-frame";

/** Whether a weight of a heatmap was switched off, or on again. */
export function switchedCell(stage: Stage, reading: Reading | null, cell: Cell | null): boolean {
  const head = reading?.maps[0]?.head ?? -1;
  if (!stage.switchOff || !reading || !cell || head < 0) return false;
  stage.switchOff(head, reading.rows.groups[cell.row], reading.cols.groups[cell.col]);
  return true;
}

/** Switches off, or on again, the line at a point of the canvas, if there is one. */
export function switchLine(stage: Stage, reading: Reading | null, lines: Lines | null, x: number, y: number): void {
  if (!stage.switchOff || !reading || !lines) return;
  const line = lineAt(lines, x, y);
  if (line < 0) return;
  const { from, to, map } = lines.set;
  const { head } = reading.maps[map[line]];
  if (head >= 0) stage.switchOff(head, reading.rows.groups[from[line]], reading.cols.groups[to[line]]);
}
