// What can be switched off in the view that is shown, and how: said beside the answer.

import type { Spec, State } from "../core/input/contract";
import { counted, type Labels } from "../core/words/labels";
import { drawnOf } from "../core/reading/quantity";
import { shownKind } from "../core/state/state";

export function switchHint(spec: Spec, state: State, labels: Labels): string {
  const { by_head, by_layer } = drawnOf(spec, state);
  const kind = shownKind(spec.kind, state);
  const layer = `L${spec.stacks[state.stack].layers[state.layer].layer}`;
  if (kind === "sentence" || kind === "text")
    return by_head ? labels.switch_hint_arcs : counted(labels.switch_hint_whole, by_layer ? layer : labels.all_layers);
  if (kind === "neuron") return labels.switch_hint_keys;
  if (kind === "model") return by_head ? labels.switch_hint_grid : by_layer ? labels.switch_hint_layers : labels.switch_hint_neither;
  if (state.combine !== "each") return labels.switch_hint_combined;
  if (!by_head) return counted(labels.switch_hint_whole, by_layer ? layer : labels.all_layers);
  return state.as === "heatmap" ? labels.switch_hint_cells : labels.switch_hint;
}
