// A key is hidden from the query that is shown, in the head that is shown: a right click on its row.

import { offIn } from "../../core/state/off";
import type { Item } from "../../marks/scene";
import type { Stage } from "../../registry";
import { rowTop } from "./layout";
import type { NeuronInput } from "./scene";

/** Whether this key was hidden from the query, or shown again. */
export function switchedKey(stage: Stage, key: number): boolean {
  const { heads, query } = stage.state();
  stage.switchOff?.({ heads: heads[0], queries: [query], keys: [key] });
  return stage.switchOff !== null;
}

/** Lines through the keys that are switched off. */
export function struckKeys({ spec, state }: Stage, { layout, rows, opened, scroll, theme }: NeuronInput): Item[] {
  const { off, stack: at, layer: index, heads, query } = state();
  if (!off) return [];
  const stack = spec.stacks[at];
  const { layer, n_heads } = stack.layers[index];
  const isOff = offIn(off, { stacks: spec.stacks.length, stack: stack.name, layer, head: heads[0], heads: n_heads });
  return rows.flatMap(({ key }, i): Item[] => {
    const y = rowTop(layout, i, opened, scroll) + layout.row / 2;
    if (!isOff(query, key) || y < layout.top) return [];
    return [{ type: "stroke", x1: 10, x2: layout.width, y1: y, y2: y, stroke: theme.muted, width: 1.5 }];
  });
}
