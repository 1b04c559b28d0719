// page.html#L3·H7 opens at that head; page.html#L3·H7&locked=[4] with that token held. What differs from the page as it was saved is in its
// address, so that links, reload, Back and Forward show the same state.

import { headName, readHead } from "../../generated/heads";
import { headNumber, type Spec, type State } from "../input/contract";
import { completeState } from "./state";

/** What the end of an address says of the state; null where it names no head of this view. */
export function headInAddress(spec: Spec, hash: string): Partial<State> | null {
  const named = readHead(decoded(hash).slice(1).split("&")[0]);
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

/** Keys that a head's name says. */
const NAMED = ["stack", "layer", "heads", "opened"] as const;

/** What differs between a state and the one that the page opens with, as the end of an address; "" where nothing does. */
export function addressOf(spec: Spec, state: State, first: State): string {
  const differs = (key: keyof State) => JSON.stringify(state[key]) !== JSON.stringify(first[key]);
  const stack = spec.stacks[state.stack];
  const layer = stack.layers[state.layer];
  const isOpen = spec.kind !== "model" || state.opened;
  const isNamed = state.heads.length === 1 && isOpen && NAMED.some(differs);
  const name = isNamed ? headName(layer.layer, headNumber(layer, state.heads[0]), spec.stacks.length > 1 ? stack.name : "") : "";
  const keys = (Object.keys(state) as (keyof State)[]).filter((key) => differs(key) && !(isNamed && NAMED.some((each) => each === key)));
  const parts = keys.map((key) => `${key}=${encodeURIComponent(JSON.stringify(state[key]))}`);
  return name || parts.length ? `#${[encodeURIComponent(name), ...parts].join("&")}` : "";
}

/** The state that an address names, on top of the one that the page opens with; `unknown`: what it names that this view does not have. */
export function stateOfAddress(spec: Spec, hash: string, first: State): { state: State; given: Partial<State>; unknown: string } {
  const [name, ...parts] = hash.replace(/^#/, "").split("&");
  const opened = headInAddress(spec, `#${name}`);
  const given: Record<string, unknown> = { ...opened };
  for (const part of parts) {
    const [key, value] = [part.slice(0, part.indexOf("=")), part.slice(part.indexOf("=") + 1)];
    try {
      given[key] = JSON.parse(decoded(value));
    } catch {}
  }
  const unknown = !opened && readHead(decoded(name)) ? decoded(name) : "";
  return { state: completeState(spec, { ...first, ...given }), given, unknown };
}
