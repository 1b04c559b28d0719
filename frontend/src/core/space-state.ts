// The part of the state that only the space of queries and keys has.

import type { Spec, State } from "./contract";

type SpaceKeys = "colour_points" | "links" | "links_top" | "point" | "text" | "lasso" | "pairs" | "tool" | "turn";
export type SpaceState = Pick<State, SpaceKeys>;

/** The most pairs of a sentence that are drawn when asked for the strongest. */
export const MOST_PAIRS = 200;

export const spaceDefaults = (): SpaceState => ({
  colour_points: "kind",
  links: "chosen",
  links_top: 20,
  point: null,
  text: null,
  lasso: [],
  pairs: "",
  tool: "move",
  turn: { yaw: 0.6, pitch: 0.35 },
});

export const SPACE_CHOICES: { [K in SpaceKeys]?: readonly State[K][] } = {
  colour_points: ["kind", "position", "position5", "token", "tag", "text", "norm"],
  links: ["chosen", "best", "top", "none"],
  tool: ["move", "lasso"],
};

const place = (value: unknown, n: number): number | null =>
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
  const base = spaceDefaults();
  const { texts, points } = counts(spec, stack);
  const number = (value: unknown, low: number, high: number, otherwise: number) =>
    typeof value === "number" && Number.isFinite(value) ? Math.min(high, Math.max(low, value)) : otherwise;
  const lasso = Array.isArray(given.lasso) ? [...new Set(given.lasso.filter((i) => place(i, points) !== null))] : [];
  return {
    point: place(given.point, points),
    text: place(given.text, texts),
    lasso,
    links_top: Math.round(number(given.links_top, 1, MOST_PAIRS, base.links_top)),
    turn: { yaw: number(given.turn?.yaw, -1e4, 1e4, base.turn.yaw), pitch: number(given.turn?.pitch, -1.5708, 1.5708, base.turn.pitch) },
  };
}

/** “he → Mary; it -> cat; it:cat” as pairs of lower-case words. What is not two words is not finished yet and counts for nothing. */
export function wordPairs(written: string): [string, string][] {
  return written
    .split(/[;,\n]/)
    .map((pair) => pair.split(/→|>/.test(pair) ? /→|->|>/ : ":").map((word) => word.trim().toLocaleLowerCase()))
    .filter((pair): pair is [string, string] => pair.length === 2 && pair[0] !== "" && pair[1] !== "");
}
