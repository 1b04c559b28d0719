// Heads of the grid that are switched off: which they are, how they are marked, and what a right click does.

import { offIn } from "../../core/state/off";
import { drawnOf } from "../../core/reading/quantity";
import type { Theme } from "../../core/theme";
import type { Item } from "../../marks/scene";
import type { Stage } from "../../registry";

/** Whether the head (of a quantity without heads: the layer) in this row is switched off. */
export function isHeadOff({ spec, state }: Stage, row: number, head: number): boolean {
  const { off, stack: at } = state();
  const stack = spec.stacks[at];
  const { layer, n_heads: heads } = stack.layers[row];
  return off !== "" && offIn(off, { stacks: spec.stacks.length, stack: stack.name, layer, head, heads })();
}

/** Paled and crossed out. */
export const crossedOut = (x: number, y: number, size: number, theme: Theme): Item[] => [
  { type: "rect", x, y, w: size, h: size, fill: theme.ground, opacity: 0.7 },
  { type: "stroke", x1: x, y1: y + size, x2: x + size, y2: y, stroke: theme.muted, width: 1.5 },
];

/** Whether the head in this row was switched off, or on again; all heads of the layer, where what is drawn has none. */
export function switchedHead(stage: Stage, row: number, head: number): boolean {
  const { by_head, by_layer } = drawnOf(stage.spec, stage.state());
  if (!stage.switchOff || (!by_head && !by_layer)) return false;
  stage.switchOff({ heads: by_head ? head : "layer", layer: row });
  return true;
}
