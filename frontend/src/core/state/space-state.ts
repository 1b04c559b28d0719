// The part of the state that only the space of queries and keys has.

import type { Spec, State } from "../input/contract";
import { BOUNDS, defaultValues } from "../../generated/state";

const validIndex = (value: unknown, n: number): number | null =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) < n ? (value as number) : null;

/** How many texts and points the first space has in a stack. */
export function counts(spec: Spec, stack: number): { texts: number; points: number } {
  const space = spec.spaces?.[0];
  const own = space?.stacks[stack];
  if (!space || !own) return { texts: 0, points: 0 };
  const size = (texts: number[]) => texts.reduce((sum, text) => sum + spec.texts[text].tokens.length, 0);
  return { texts: own.key_texts.length, points: size(own.key_texts) + (space.of === "values" ? 0 : size(own.query_texts)) };
}

/** The keys that need more than a look at their choices: positions in range, numbers in bounds. */
export function fitSpace(
  spec: Spec,
  stack: number,
  given: Partial<State>,
): Pick<State, "point" | "text" | "lasso" | "links_top" | "turn"> {
  const base = defaultValues();
  const { texts, points } = counts(spec, stack);
  const number = (value: unknown, low: number, high: number, otherwise: number) =>
    typeof value === "number" && Number.isFinite(value) ? Math.min(high, Math.max(low, value)) : otherwise;
  const lasso = Array.isArray(given.lasso) ? [...new Set(given.lasso.filter((i) => validIndex(i, points) !== null))] : [];
  return {
    point: validIndex(given.point, points),
    text: validIndex(given.text, texts),
    lasso,
    links_top: Math.round(number(given.links_top, ...BOUNDS.links_top, base.links_top)),
    turn: {
      yaw: number(given.turn?.yaw, ...BOUNDS.turn_yaw, base.turn.yaw),
      pitch: number(given.turn?.pitch, ...BOUNDS.turn_pitch, base.turn.pitch),
    },
  };
}

/** “he → Mary; it -> cat; it:cat” as pairs of lower-case words. What is not two words is not finished yet and counts for nothing. */
export function wordPairs(written: string): [string, string][] {
  return written
    .split(/[;,\n]/)
    .map((pair) => pair.split(/→|>/.test(pair) ? /→|->|>/ : ":").map((word) => word.trim().toLocaleLowerCase()))
    .filter((pair): pair is [string, string] => pair.length === 2 && pair[0] !== "" && pair[1] !== "");
}
