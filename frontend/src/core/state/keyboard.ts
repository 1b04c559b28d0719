// Arrow keys move between heads and layers; escape lets go. A pure function from key to state change.

import type { Kind, Spec, State } from "../input/contract";

const step = (value: number, by: number, n: number): number => Math.min(n - 1, Math.max(0, value + by));

/** The head that arrows start from: the one shown alone, or none yet. */
function nextHead(state: State, by: number, n: number): number {
  if (state.heads.length === 1) return step(state.heads[0], by, n);
  return by > 0 ? 0 : n - 1;
}

export function keyChange(key: string, kind: Kind, spec: Spec, state: State): Partial<State> | null {
  const layers = spec.stacks[state.stack].layers;
  const n = layers[state.layer]?.n_heads ?? 0;
  switch (key) {
    case "ArrowLeft":
      return { heads: [nextHead(state, -1, n)] };
    case "ArrowRight":
      return { heads: [nextHead(state, 1, n)] };
    case "ArrowUp":
      return { layer: step(state.layer, -1, layers.length) };
    case "ArrowDown":
      return { layer: step(state.layer, 1, layers.length) };
    case "Escape":
      if (state.locked.length) return { locked: [] };
      if (state.expanded !== null) return { expanded: null };
      if (kind === "model" && state.opened) return { opened: false };
      return null;
    default:
      return null;
  }
}
