// Walking from match to match.

import { matches, type Axis } from "./axes";
import type { Spec, State } from "../input/contract";

export interface Match {
  side: "query" | "key";
  index: number;
}

/** All matches, in the order of the Enter key: first the side looked from, then the other side if it is another text. */
export function matchesInOrder(spec: Spec, state: State, rows: Axis, cols: Axis): Match[] {
  const on = (side: Match["side"]): Match[] =>
    matches(side === "query" ? rows : cols, state.find).flatMap((yes, index) => (yes ? [{ side, index }] : []));
  const { query_text, key_text } = spec.stacks[state.stack];
  const [own, other] = state.direction === "from" ? (["query", "key"] as const) : (["key", "query"] as const);
  return query_text === key_text ? on(own) : [...on(own), ...on(other)];
}

/** The next index after a step, from the last back to the first; −1 steps to the first or the last. */
export const stepped = (at: number, by: 1 | -1, n: number): number => (at < 0 ? (by > 0 ? 0 : n - 1) : (at + by + n) % n);
