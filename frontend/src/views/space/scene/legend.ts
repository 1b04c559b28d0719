// What shapes and colours mean, and how far the picture can be trusted: drawn with the picture, so that a saved one says it too.

import { format, parse, pixel } from "../../../core/colours";
import type { Facts } from "../../../core/input/contract";
import { counted, type Labels } from "../../../core/words/labels";
import type { Theme } from "../../../core/theme";
import { measure } from "../../../marks/painters/canvas";
import type { Item } from "../../../marks/scene";
import type { Legend } from "./colouring";

const SIZE = 12;
const ROW = 18;
const DOT = 8;

/** A number as text; what is not a number is a dash. */
export const percent = (value: number | null | undefined, decimals = 1): string =>
  value === null || value === undefined ? "–" : `${(100 * value).toFixed(decimals)} %`;

const known = (value: number | null | undefined): value is number => value !== null && value !== undefined;

/** Each fact as one phrase, the most telling first. */
export function factPhrases(facts: Facts, labels: Labels): string[] {
  const list: string[] = [];
  const unseen = known(facts.top1_held_out) ? ` (${labels.unseen})` : "";
  const [first, five] = unseen ? [facts.top1_held_out, facts.top5_held_out] : [facts.top1_projected, facts.top5_projected];
  if (known(first)) list.push(`${labels.nearest_key} ${percent(first)}${unseen}`);
  if (known(five)) list.push(`${labels.nearest_five} ${percent(five)}`);
  if (known(facts.kl)) list.push(counted(labels.differs, facts.kl.toFixed(2)));
  if (known(facts.entropy)) list.push(counted(labels.head_entropy, facts.entropy.toFixed(2)));
  const rank = unseen ? facts.rank_held_out : facts.rank_correlation;
  if (known(rank)) list.push(`${labels.rank_correlation} ${rank.toFixed(2).replace("-", "−")}`);
  return list;
}

/** Phrases joined into lines no wider than `width`. */
export function wrapped(phrases: string[], width: number): string[] {
  const lines: string[] = [];
  for (const phrase of phrases) {
    const longer = lines.length ? `${lines[lines.length - 1]} · ${phrase}` : phrase;
    if (lines.length && measure(longer, { size: SIZE }) <= width) lines[lines.length - 1] = longer;
    else lines.push(phrase);
  }
  return lines;
}

export function mark(x: number, y: number, diamond: boolean, fill: string): Item[] {
  if (!diamond) return [{ type: "rect", x: x - DOT / 2, y: y - DOT / 2, w: DOT, h: DOT, radius: DOT / 2, fill }];
  return [{ type: "text", x, y: y - 0.5, text: "◆", size: 12, fill, anchor: "middle" }];
}

interface Part {
  width: number;
  items: (x: number, y: number) => Item[];
}

function named(label: string, theme: Theme, glyph: (x: number, y: number) => Item[], mono = false): Part {
  const wide = measure(label, { size: SIZE, mono });
  return {
    width: DOT + 6 + wide + 14,
    items: (x, y) => [...glyph(x + DOT / 2, y), { type: "text", x: x + DOT + 6, y, text: label, size: SIZE, fill: theme.text, mono }],
  };
}

/** The legend's rows in this width: how high they are, and their items from y on. */
export function legendRows(
  legend: Legend,
  values: boolean,
  byKind: boolean,
  width: number,
  theme: Theme,
  labels: Labels,
): { height: number; items: (x: number, y: number) => Item[] } {
  const parts: Part[] = [];
  if (!values) {
    parts.push(named(labels.query_point, theme, (x, y) => mark(x, y, false, byKind ? theme.query : theme.muted)));
    parts.push(named(labels.key_point, theme, (x, y) => mark(x, y, true, byKind ? theme.key : theme.muted)));
  } else if (!legend)
    parts.push({ width: 200, items: (x, y) => [{ type: "text", x, y, text: labels.value_point, size: SIZE, fill: theme.muted }] });
  if (legend && "entries" in legend) {
    if (legend.title) parts.push(title(legend.title, theme));
    for (const { label, colour, token } of legend.entries)
      parts.push(named(label.length > 18 ? `${label.slice(0, 17)}…` : label, theme, (x, y) => mark(x, y, false, colour), token));
  } else if (legend) parts.push(title(legend.title, theme), scale(legend, theme));
  const rows: { part: Part; x: number; row: number }[] = [];
  let [x, row] = [0, 0];
  for (const part of parts) {
    if (x > 0 && x + part.width > width) [x, row] = [0, row + 1];
    rows.push({ part, x, row });
    x += part.width;
  }
  return {
    height: (row + 1) * ROW,
    items: (left, top) => rows.flatMap(({ part, x: at, row: r }) => part.items(left + at, top + r * ROW + ROW / 2)),
  };
}

const title = (text: string, theme: Theme): Part => ({
  width: measure(text, { size: SIZE }) + 10,
  items: (x, y) => [{ type: "text", x, y, text, size: SIZE, fill: theme.muted }],
});

function scale(legend: Extract<Legend, { ends: [string, string] }>, theme: Theme): Part {
  const [wide, steps] = [96, 48];
  const [low, high] = legend.ends.map((text) => measure(text, { size: SIZE, mono: true }));
  const pixels = Uint32Array.from({ length: steps }, (_, i) => pixel(parse(format(legend.scale(i / (steps - 1))))));
  return {
    width: low + wide + high + 26,
    items: (x, y) => [
      { type: "text", x, y, text: legend.ends[0], size: SIZE, mono: true, fill: theme.text },
      { type: "bitmap", x: x + low + 6, y: y - 4, w: wide, h: 8, cols: steps, rows: 1, pixels },
      { type: "text", x: x + low + wide + 12, y, text: legend.ends[1], size: SIZE, mono: true, fill: theme.text },
    ],
  };
}
