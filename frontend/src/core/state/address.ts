// page.html#L3·H7 opens at that head.

import { readHead } from "../../generated/heads";
import type { Spec, State } from "../input/contract";

/** What the end of an address says of the state; null where it names no head of this view. */
export function headInAddress(spec: Spec, hash: string): Partial<State> | null {
  const named = readHead(decoded(hash).slice(1));
  if (!named) return null;
  const stack = named.stack ? spec.stacks.findIndex(({ name }) => name === named.stack) : 0;
  const layer = spec.stacks[stack]?.layers.findIndex((each) => each.layer === named.layer) ?? -1;
  if (layer < 0) return null;
  const { heads, n_heads } = spec.stacks[stack].layers[layer];
  const head = heads ? heads.indexOf(named.head) : named.head;
  if (head < 0 || head >= n_heads) return null;
  return { stack, layer, heads: [head], ...(spec.kind === "model" ? { opened: true } : {}) };
}

function decoded(hash: string): string {
  try {
    return decodeURIComponent(hash);
  } catch {
    return hash; // a stray % is no head
  }
}
