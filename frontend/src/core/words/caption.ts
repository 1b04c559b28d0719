// How a picture was made: what the reader's choices left out or changed, for the line under a saved picture.

import { axes } from "../reading/axes";
import type { Kind, Spec, State } from "../input/contract";
import type { Labels } from "./labels";

export function captionOf(spec: Spec, state: State, kind: Kind, labels: Labels): string {
  if (kind === "space" || kind === "generation") return "";
  const parts: string[] = [];
  const between = kind !== "neuron"; // a neuron view has neither words nor a direction
  const { rows, cols } = axes(spec, between ? state : { ...state, level: "token" }, null);
  const stack = spec.stacks[state.stack];
  const all = [stack.query_text, stack.key_text].map((text) => spec.texts[text].tokens.length);
  if (between && state.level === "word") parts.push(`${labels.level}: ${labels.word.toLowerCase()}`);
  if (rows.labels.length !== all[0] || cols.labels.length !== all[1]) parts.push(`${rows.labels.length} × ${cols.labels.length}`);
  if (state.segments !== "all") parts.push(`${labels.segments}: ${[...state.segments.toUpperCase()].join("→")}`);
  for (const [key, text] of [
    ["query_part", stack.query_text],
    ["key_part", stack.key_text],
  ] as const) {
    const part = state[key];
    if (part !== null) parts.push(`${labels[key]}: ${spec.texts[text].parts?.[part]}`);
  }
  for (const key of ["hide_special", "hide_sink", "renormalise", "rescale"] as const) if (state[key]) parts.push(labels[key]);
  if (state.threshold > 0) parts.push(`${labels.threshold} ${state.threshold}`);
  if (between && state.combine !== "each") {
    const layers = [...new Set([state.layer, ...state.combine_layers])].sort((a, b) => a - b).map((at) => stack.layers[at].layer);
    parts.push(
      `${labels.combine}: ${labels[state.combine].toLowerCase()}${layers.length > 1 ? ` (${labels.layer} ${layers.join(", ")})` : ""}`,
    );
  }
  if (between && state.direction === "to") parts.push(`${labels.direction}: ${labels.to.toLowerCase()}`);
  return parts.join(" · ");
}
