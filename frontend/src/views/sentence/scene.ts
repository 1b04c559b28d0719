// The sentence view as a scene: words in large type, arcs between them, numbers below. Pure.

import { partColour } from "../../core/colours";
import type { State } from "../../core/input/contract";
import type { Reading } from "../../core/reading/reading";
import { shownNumber } from "../../core/reading/quantity";
import type { Theme } from "../../core/theme";
import { measure } from "../../marks/painters/canvas";
import type { Curve, Item, Scene } from "../../marks/scene";
import type { TextLayout } from "./layout";
import { fittedText, specialSize, type Word } from "./words";

/** An arc between two words of the lists that are drawn; weights below zero where the quantity has a sign. */
export interface Arc {
  query: Word;
  key: Word;
  weight: number;
  off: boolean;
}

export interface Part {
  words: Word[];
  layout: TextLayout;
}

export interface SentenceInput {
  reading: Reading;
  state: State;
  theme: Theme;
  /** One part, or the keys and below them the queries. */
  parts: Part[];
  width: number;
  height: number;
  arcs: Arc[];
  /** The words that are chosen, or pointed at where none is. */
  focus: Set<Word>;
  /** A number for each word of the other side; empty where nothing is chosen. */
  numbers: Map<Word, number>;
  /** The word under the pointer. */
  hovered: Word | null;
  matches: Set<Word>;
  /** Words whose arcs are left out since most attention rests on them. */
  muted: Set<Word>;
}

const THINNEST = 0.75;
const WIDEST = 12;
/** Weaker attention is below what a number of three decimals shows, and is not drawn. */
export const FAINTEST = 0.005;
const MOST_ARCS = 2000;
/** Where no word is chosen the arcs of all words are drawn, without the weakest. */
const FAINTEST_OF_ALL = 0.05;
/** The least weight that is written below its word. */
const LEAST_NUMBER = 0.01;
const NUMBER_SIZE = 13;

/** Of all words together arcs are narrower, or they would hide each other. */
const WIDEST_OF_ALL = 5;

/** Width of an arc: proportional to the weight, never thinner than what can be seen. `few`: those of chosen words alone. */
export const arcWidth = (strength: number, few: boolean): number =>
  THINNEST + ((few ? WIDEST : WIDEST_OF_ALL) - THINNEST) * Math.min(1, strength);

/** The arcs that the state shows: of the chosen words, or of all. */
export function arcsOf(
  reading: Reading,
  state: State,
  queries: Word[],
  keys: Word[],
  focus: Set<Word>,
  muted: Set<Word>,
  off: (query: number, key: number) => boolean,
): Arc[] {
  const [map] = reading.maps;
  if (!map) return [];
  const least = Math.max(state.threshold, focus.size ? FAINTEST : FAINTEST_OF_ALL) * (state.rescale ? map.max : 1);
  const from = state.direction === "from";
  const arcs: Arc[] = [];
  for (const query of queries) {
    if (query.row < 0 || (focus.size && from && !focus.has(query))) continue;
    for (const key of keys) {
      if (key.col < 0 || muted.has(key) || (focus.size && !from && !focus.has(key))) continue;
      const weight = map.weights[query.row * reading.cols.labels.length + key.col];
      if (Math.abs(weight) >= least) arcs.push({ query, key, weight, off: off(query.group[0], key.group[0]) });
    }
  }
  arcs.sort((a, b) => Math.abs(a.weight) - Math.abs(b.weight));
  return arcs.slice(-MOST_ARCS);
}

interface Spot {
  x: number;
  top: number;
  bottom: number;
  line: number;
  part: number;
}

/** Where arcs begin and end: above and below each word. */
export function spots(parts: Part[]): Map<Word, Spot> {
  const found = new Map<Word, Spot>();
  parts.forEach(({ words, layout }, part) => {
    layout.boxes.forEach((box, i) => {
      const bottom = box.y + layout.down + 11; // below its number
      found.set(words[i], { x: box.x, top: box.y - layout.up, bottom, line: box.line, part });
    });
  });
  return found;
}

/** An arc over the words of one line, a loop over one word, or a curve from line to line. */
export function curveBetween(from: Spot, to: Spot, room: number): Curve["d"] {
  if (from.part === to.part && from.line === to.line) {
    const apart = Math.abs(from.x - to.x);
    const half = apart < 1 ? 9 : 0;
    const high = Math.min(room - 6, apart < 1 ? 26 : 22 + 0.2 * apart) / 0.75; // a cubic curve rises to three quarters of its handles
    return [from.x - half, from.top, from.x - half, from.top - high, to.x + half, to.top - high, to.x + half, to.top];
  }
  const above = to.part < from.part || (to.part === from.part && to.line < from.line);
  const [y1, y2] = above ? [from.top, to.bottom] : [from.bottom, to.top];
  const bend = Math.max(24, 0.5 * Math.abs(y2 - y1)) * (above ? -1 : 1);
  return [from.x, y1, from.x, y1 + bend, to.x, y2 - bend, to.x, y2];
}

export function sentenceScene(input: SentenceInput): Scene {
  const { theme, reading, state, arcs } = input;
  const at = spots(input.parts);
  const room = input.parts[input.parts.length - 1].layout.arcs;
  const scale = state.rescale ? Math.max(1e-9, reading.maps[0]?.max ?? 1) : 1;
  const items: Item[] = [];
  const curves = arcs.map(({ query, key, weight, off }): Curve => {
    const colour = reading.quantity.signed
      ? theme[weight < 0 ? "negative" : "positive"]
      : state.direction === "from"
        ? theme.key
        : theme.query;
    return {
      type: "curve",
      d: curveBetween(at.get(query)!, at.get(key)!, room),
      stroke: off ? theme.muted : colour,
      width: arcWidth(Math.abs(weight) / scale, input.focus.size > 0),
      dash: off ? [4, 5] : undefined,
    };
  });
  items.push(...curves);
  for (const part of input.parts) items.push(...wordItems(input, part), ...numberItems(input, part));
  return { width: input.width, height: input.height, background: theme.ground, items };
}

/** Words over a piece of ground where an arc of another line may run behind them. */
function wordItems(input: SentenceInput, { words, layout }: Part): Item[] {
  const { theme, state, focus, hovered, matches } = input;
  const { size, up } = layout;
  const several = layout.boxes.some((box) => box.line > 0) || input.parts.length > 1;
  const chosenInk = state.direction === "from" ? theme.query : theme.key;
  const strongest = [...input.numbers].reduce<[Word | null, number]>(
    (best, [word, value]) => (value > best[1] ? [word, value] : best),
    [null, 0],
  )[0];
  return words.flatMap((word, i): Item[] => {
    const { x, y, w } = layout.boxes[i];
    const items: Item[] = [];
    const box = { type: "rect" as const, x: x - w / 2 - 3, y: y - up + 3, w: w + 6, h: 2 * up - 5, radius: 4 };
    if (matches.has(word)) items.push({ ...box, fill: theme.mark });
    else if (word === hovered && !focus.has(word)) items.push({ ...box, fill: theme.faint });
    else if (several) items.push({ ...box, fill: theme.ground, opacity: 0.8 });
    const chosen = focus.has(word);
    const line = (thick: number, stroke: string, down = 0): Item => ({
      type: "stroke",
      x1: x - w / 2,
      x2: x + w / 2,
      y1: y + up - 2 + down,
      y2: y + up - 2 + down,
      stroke,
      width: thick,
    });
    if (word.blank) items.push(line(2, chosen ? chosenInk : theme.text, -4));
    else {
      const letters = word.special ? specialSize(size) : size;
      items.push({
        type: "text",
        x,
        y,
        text: fittedText(word.written, w, letters),
        size: letters,
        anchor: "middle",
        bold: chosen || word === strongest,
        fill: word.special ? theme.muted : theme.text,
      });
    }
    if (state.colour_parts && word.part >= 0) items.push(line(3, partColour(word.part, theme.dark), 5));
    if (chosen) items.push(line(3, chosenInk, 1));
    else if (word === strongest && input.parts.length) items.push(line(2, state.direction === "from" ? theme.key : theme.query, 0));
    return items;
  });
}

/** Numbers below their words; where two would touch, the larger one stays. */
function numberItems({ numbers, theme, reading, muted, state }: SentenceInput, { words, layout }: Part): Item[] {
  const taken: { left: number; right: number; line: number }[] = [];
  const order = words.map((_, i) => i).sort((a, b) => Math.abs(numbers.get(words[b]) ?? 0) - Math.abs(numbers.get(words[a]) ?? 0));
  return order.flatMap((i): Item[] => {
    const value = numbers.get(words[i]);
    if (value === undefined || Math.abs(value) < Math.max(LEAST_NUMBER, state.threshold)) return [];
    const { x, y, line } = layout.boxes[i];
    const { largest, method } = reading.quantity;
    const text = method === "attention" ? value.toFixed(3) : shownNumber(value, largest);
    const half = measure(text, { size: NUMBER_SIZE, mono: true }) / 2 + 3;
    if (taken.some((other) => other.line === line && other.left < x + half && x - half < other.right)) return [];
    taken.push({ left: x - half, right: x + half, line });
    const quiet = muted.has(words[i]);
    const fill = quiet ? theme.muted : theme.text;
    return [{ type: "text", x, y: y + layout.down + 2, text, size: NUMBER_SIZE, mono: true, anchor: "middle", fill }];
  });
}
