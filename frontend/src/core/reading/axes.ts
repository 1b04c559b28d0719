// The two sides of a map as the reader sees them: units (tokens or words) and which of them are left in.

import type { Spec, State, TextSpec } from "../input/contract";
import { partColour } from "../colours";
import { groupsOf } from "./pooling";

export interface Axis {
  /** Token positions of each unit shown, in order. */
  groups: number[][];
  /** Index of each unit among all units of this level (before anything was left out). */
  units: number[];
  labels: string[];
  special: boolean[];
  segments: number[];
  /** The index of the part that each unit belongs to; empty where the text has no parts. */
  parts: number[];
  /** How many units the level has with nothing left out. */
  total: number;
}

function label(text: TextSpec, group: number[], level: "token" | "word"): string {
  const word = text.words[group[0]];
  return level === "word" && word !== null ? (text.word_texts[word] ?? text.tokens[group[0]]) : text.tokens[group[0]];
}

export function axis(text: TextSpec, level: "token" | "word", keep: (group: number[]) => boolean): Axis {
  const all = groupsOf(text, level);
  const units = all.map((_, u) => u).filter((u) => keep(all[u]));
  const groups = units.map((u) => all[u]);
  return {
    groups,
    units,
    labels: groups.map((group) => label(text, group, level)),
    special: groups.map((group) => text.special[group[0]]),
    segments: groups.map((group) => text.segments[group[0]]),
    parts: text.part_of ? groups.map((group) => text.part_of![group[0]]) : [],
    total: all.length,
  };
}

const SIDE = { a: 0, b: 1 } as const;

/** Queries and keys left in: special tokens go on both sides, the sink only as a key, segments and parts by side. */
export function axes(spec: Spec, state: State, sink: number | null): { rows: Axis; cols: Axis } {
  const stack = spec.stacks[state.stack];
  const queryText = spec.texts[stack.query_text];
  const keyText = spec.texts[stack.key_text];
  const sides = state.segments === "all" ? null : [SIDE[state.segments[0] as "a" | "b"], SIDE[state.segments[1] as "a" | "b"]];
  const left = (text: TextSpec, side: number | undefined, part: number | null) => (group: number[]) =>
    !(state.hide_special && text.special[group[0]]) &&
    (side === undefined || text.segments[group[0]] === side) &&
    (part === null || !text.part_of || text.part_of[group[0]] === part);
  const keepKey = left(keyText, sides?.[1], state.key_part);
  return {
    rows: axis(queryText, state.level, left(queryText, sides?.[0], state.query_part)),
    cols: axis(keyText, state.level, (group) => keepKey(group) && !(sink !== null && group.includes(sink))),
  };
}

/** Whether the stack shows two texts of a pair, so that A→B and so on mean something. */
export function isPair(spec: Spec, stack: number): boolean {
  const { query_text, key_text } = spec.stacks[stack];
  return [query_text, key_text].every((i) => new Set(spec.texts[i].segments).size > 1);
}

/** Whether the text of the queries or of the keys has parts. */
export function hasParts(spec: Spec, stack: number): boolean {
  const { query_text, key_text } = spec.stacks[stack];
  return [query_text, key_text].some((i) => (spec.texts[i].parts?.length ?? 0) > 0);
}

/** The parts of what is shown, with their colours; none unless the reader wants them. */
export function partLegend(spec: Spec, state: State, dark: boolean): { colour: string; name: string }[] {
  if (!state.colour_parts) return [];
  const { query_text, key_text } = spec.stacks[state.stack];
  const named = new Map<string, number>();
  for (const i of [query_text, key_text]) spec.texts[i].parts?.forEach((name, part) => named.set(name, part));
  return [...named].map(([name, part]) => ({ colour: partColour(part, dark), name }));
}

/** Row or column in which a token is shown, or −1. */
export const unitIndex = (side: Axis, token: number): number => side.groups.findIndex((group) => group.includes(token));

export function matches(side: Axis, find: string): boolean[] {
  const needle = find.trim().toLocaleLowerCase();
  return side.labels.map((text) => needle !== "" && text.toLocaleLowerCase().includes(needle));
}
