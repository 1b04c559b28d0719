// page.html#L3·H7 opens at that head.

import type { Spec, State } from "../input/contract";

/** What the end of an address says of the state; null where it names no head of this view. */
export function headInAddress(spec: Spec, hash: string): Partial<State> | null {
  const named = /^#(?:(encoder|decoder|cross) )?L(\d+)·H(\d+)$/.exec(decoded(hash));
  if (!named) return null;
  const stack = named[1] ? spec.stacks.findIndex(({ name }) => name === named[1]) : 0;
  const layer = spec.stacks[stack]?.layers.findIndex((each) => each.layer === Number(named[2])) ?? -1;
  const head = Number(named[3]);
  if (layer < 0 || head >= spec.stacks[stack].layers[layer].n_heads) return null;
  return { stack, layer, heads: [head], ...(spec.kind === "model" ? { opened: true } : {}) };
}

function decoded(hash: string): string {
  try {
    return decodeURIComponent(hash);
  } catch {
    return hash; // a stray % is no head
  }
}
