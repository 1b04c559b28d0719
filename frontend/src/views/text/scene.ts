// The text view as a scene: a paragraph whose words are shaded by what the chosen word looks at, and the map of the head beside it. Pure.

import { inkOn } from "../../controls/heads";
import { format, mix, parse, partColour } from "../../core/colours";
import type { State } from "../../core/input/contract";
import type { Theme } from "../../core/theme";
import type { Item, Scene } from "../../marks/scene";
import { type Thumbnail, thumbnailItem } from "../../marks/thumbnail";
import type { TextLayout } from "../sentence/layout";
import { fittedText, specialSize, type Word } from "../sentence/words";

export interface TextInput {
  words: Word[];
  layout: TextLayout;
  theme: Theme;
  state: State;
  chosen: Set<Word>;
  /** A number for each word of the other side, and the size that has the full colour. */
  numbers: Map<Word, number>;
  largest: number;
  signed: boolean;
  muted: Set<Word>;
  matches: Set<Word>;
  hovered: Word | null;
}

/** From this part of the largest number on, a word is shaded; less could not be told from the ground. */
const LEAST = 0.02;

/** The colour behind a word; null where there is nothing to see. */
export function shadeOf(
  value: number,
  { largest, theme, signed, state }: Pick<TextInput, "largest" | "theme" | "signed" | "state">,
): string | null {
  const t = Math.min(1, Math.abs(value) / largest);
  if (t < LEAST) return null;
  const full = signed ? theme[value < 0 ? "negative" : "positive"] : state.direction === "from" ? theme.key : theme.query;
  return format(mix(parse(theme.ground), parse(full), Math.sqrt(t)));
}

/** The first and the last word between two heights of the text. */
export function wordsBetween({ boxes }: TextLayout, top: number, bottom: number): [number, number] {
  const first = boxes.findIndex((box) => box.y > top - 30);
  let last = boxes.length - 1;
  while (last >= 0 && boxes[last].y > bottom + 30) last--;
  return [Math.max(0, first), last];
}

/** The words between two heights, moved up by `top`. */
export function wordItems(input: TextInput, top: number, bottom: number): Item[] {
  const { words, layout, theme, state, chosen, numbers, matches, hovered, muted } = input;
  const [first, last] = wordsBetween(layout, top, bottom);
  const items: Item[] = [];
  const ownInk = input.state.direction === "from" ? theme.query : theme.key;
  for (let i = first; i <= last; i++) {
    const [word, box] = [words[i], layout.boxes[i]];
    const y = box.y - top;
    const letters = word.special ? specialSize(layout.size) : layout.size;
    const isChosen = chosen.has(word);
    const shade = isChosen ? ownInk : muted.has(word) ? null : shadeOf(numbers.get(word) ?? 0, input);
    const ground = {
      type: "rect" as const,
      x: box.x - box.w / 2 - 2,
      y: y - layout.up + 1,
      w: box.w + 4,
      h: 2 * layout.up - 2,
      radius: 3,
    };
    if (shade) items.push({ ...ground, fill: shade });
    else if (matches.has(word)) items.push({ ...ground, fill: theme.mark });
    if (matches.has(word) && shade) items.push({ ...ground, stroke: theme.text });
    if (state.colour_parts && word.part >= 0) {
      const under = { x1: box.x - box.w / 2, x2: box.x + box.w / 2, y1: y + layout.up, y2: y + layout.up };
      items.push({ type: "stroke", ...under, stroke: partColour(word.part, theme.dark), width: 2 });
    }
    if (word === hovered) items.push({ ...ground, stroke: theme.accent });
    const text = word.blank ? "____" : fittedText(word.written, box.w, letters);
    const fill = shade ? inkOn(shade) : word.special ? theme.muted : theme.text;
    items.push({ type: "text", x: box.x, y, text, size: letters, anchor: "middle", fill });
  }
  return items;
}

/** The map of the head, with the row of each chosen word and the part of the text that is in sight. */
export function mapItems(
  { theme, state, words, chosen, signed }: TextInput,
  thumb: Thumbnail,
  rows: number,
  cols: number,
  seen: [number, number],
  x: number,
  y: number,
  side: number,
): Item[] {
  const look = { rescale: true, threshold: state.threshold, colour: theme.accent, theme, as: "heatmap" as const, signed };
  const [h, w] = [side * Math.min(1, rows / cols), side * Math.min(1, cols / rows)];
  const items: Item[] = [
    thumbnailItem(thumb, look, x, y, w, h),
    { type: "rect", x: x - 0.5, y: y - 0.5, w: w + 1, h: h + 1, stroke: theme.hairline },
  ];
  const from = state.direction === "from";
  const [first, last] = seen.map((i) => (from ? words[i]?.row : words[i]?.col) ?? 0);
  const at = (unit: number) => (from ? y + (h * unit) / rows : x + (w * unit) / cols);
  const [a, b] = [at(first), at(last + 1)];
  items.push({ type: "rect", ...(from ? { x: x - 6, y: a, w: 3, h: b - a } : { x: a, y: y - 6, w: b - a, h: 3 }), fill: theme.muted });
  for (const word of chosen) {
    const middle = at((from ? word.row : word.col) + 0.5);
    const line = from ? { x1: x - 8, x2: x + w, y1: middle, y2: middle } : { x1: middle, x2: middle, y1: y - 8, y2: y + h };
    items.push({ type: "stroke", ...line, stroke: from ? theme.query : theme.key, width: 1.5 });
  }
  return items;
}

/** Paragraph and map side by side, as one picture. */
export function textPicture(input: TextInput, map: Item[], mapWidth: number, mapHeight: number): Scene {
  const { layout, theme } = input;
  const items = [...wordItems(input, 0, layout.height), ...map];
  return { width: layout.width + mapWidth, height: Math.max(layout.height, mapHeight), background: theme.ground, items };
}
