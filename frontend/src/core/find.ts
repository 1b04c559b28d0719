// Walking from match to match.

import { matches, type Axis } from "./axes";
import type { Spec, State } from "./contract";

export interface Match {
  side: "query" | "key";
  index: number;
}

/** What is found, in the order in which it is walked: the side looked from, then the other one where it is another text. */
export function found(spec: Spec, state: State, rows: Axis, cols: Axis): Match[] {
  const on = (side: Match["side"]): Match[] =>
    matches(side === "query" ? rows : cols, state.find).flatMap((yes, index) => (yes ? [{ side, index }] : []));
  const { query_text, key_text } = spec.stacks[state.stack];
  const [own, other] = state.direction === "from" ? (["query", "key"] as const) : (["key", "query"] as const);
  return query_text === key_text ? on(own) : [...on(own), ...on(other)];
}

/** The index after a step, round and round; from nowhere the first or the last. */
export const stepped = (at: number, by: 1 | -1, n: number): number => (at < 0 ? (by > 0 ? 0 : n - 1) : (at + by + n) % n);
