// The head view as lines: two columns of tokens, and what is drawn between and beside them.

import { partColour } from "../../core/colours";
import { matches, type Axis } from "../../core/reading/axes";
import type { State } from "../../core/input/contract";
import type { Labels } from "../../core/words/labels";
import { shownNumber } from "../../core/reading/quantity";
import { mapColour, type Reading } from "../../core/reading/reading";
import type { Theme } from "../../core/theme";
import { FEW_LINES, lineSet, opacityOf, strength, strongest } from "../../marks/lines";
import type { Entry, Item, Lines, Scene } from "../../marks/scene";
import { naturalWidth, tokenItems } from "../../marks/tokens";
import { lockedIndices, numbersShown, sideOf, type Focus, type Side } from "./focus";
import { rowY, visibleRows, type LinesLayout } from "./layout";

export const widestToken = (axis: Axis, size = 12): number =>
  axis.labels.reduce((most, label, i) => Math.max(most, naturalWidth(label, axis.special[i], size)), 0);

export interface LinesInput {
  reading: Reading;
  state: State;
  theme: Theme;
  labels: Labels;
  layout: LinesLayout;
  scroll: number;
  /** The column whose lines are left out, since most attention rests on it; −1: none. */
  muted: number;
}

export function linesItem({ reading, state, theme, layout, scroll, muted }: LinesInput, focus: Focus | null, budget = Infinity): Lines {
  const ys = (axis: Axis) => Float32Array.from(axis.labels, (_, i) => rowY(layout, i, scroll));
  const [y1, y2] = [ys(reading.rows), ys(reading.cols)];
  const [low, high] = [layout.top - layout.row, layout.height + layout.row];
  const hidden = focus?.side === "key" && focus.indices.has(muted) ? -1 : muted; // who looks at it was asked for
  const all = lineSet(reading.maps, {
    width: reading.cols.labels.length,
    threshold: state.threshold,
    rescale: state.rescale,
    rows: focus?.side === "query" ? focus.indices : null,
    cols: focus?.side === "key" ? focus.indices : null,
    seen: (r, c) => c !== hidden && !((y1[r] < low && y2[c] < low) || (y1[r] > high && y2[c] > high)),
  });
  const set = strongest(all, budget);
  const { signed } = reading.quantity;
  const { positive, negative } = theme;
  const own = reading.maps.map((map) => (signed ? positive : mapColour(map, theme)));
  const colours = signed ? [...own, ...own.map(() => negative)] : own;
  return {
    type: "lines",
    set,
    thin: set.count <= FEW_LINES,
    x1: layout.x1,
    x2: layout.x2,
    y1,
    y2,
    spread: layout.row * 0.5,
    colours,
    maps: reading.maps.length,
    widest: focus ? 4 : 3,
    curved: true,
    dark: theme.dark,
    arrows: focus !== null,
  };
}

/** The colour of each head, where there are several. */
export const legendOf = ({ maps, quantity }: Reading, theme: Theme): Entry[] =>
  maps.length < 2 || quantity.signed ? [] : maps.map((map) => ({ colour: mapColour(map, theme), name: map.name }));

export function linesScene(input: LinesInput, focus: Focus | null, lines: Lines): Scene {
  const { layout, theme } = input;
  const body: Item[] = [];
  const numbers = numbersShown(input.reading, focus);
  for (const side of ["query", "key"] as const) body.push(...column(input, side, focus, numbers));
  return {
    width: layout.width,
    height: layout.height,
    background: theme.ground,
    items: [
      { type: "clip", x: 0, y: layout.top - 2, w: layout.width, h: layout.height - layout.top + 2, items: [lines, ...body] },
      ...headings(input, focus),
    ],
  };
}

function headings({ layout, theme, labels, reading, state }: LinesInput, focus: Focus | null): Item[] {
  const y = 10;
  const name = (x: number, text: string, fill: string, anchor: "start" | "end", bold = true): Item => ({
    type: "text",
    x,
    y,
    text,
    size: 12,
    fill,
    anchor,
    bold,
  });
  const items = [name(layout.x1 - 8, labels.queries, theme.query, "end"), name(layout.x2 + 8, labels.keys, theme.key, "start")];
  if (!focus) return items;
  const parts = [];
  if (focus.indices.size > 1) parts.push(`Σ ${focus.indices.size}`);
  if (reading.maps.length > 1)
    parts.push(layout.strip ? `⌀ ${reading.maps.length} ${labels.heads.toLowerCase()}` : `⌀ ${reading.maps.length}`);
  else if (state.combine !== "each") parts.push(labels[state.combine].toLowerCase());
  const text = parts.join(" · ");
  if (text)
    items.push(focus.side === "query" ? name(layout.width, text, theme.muted, "end", false) : name(0, text, theme.muted, "start", false));
  return items;
}

function column(input: LinesInput, side: Side, focus: Focus | null, numbers: ReturnType<typeof numbersShown>): Item[] {
  const { reading, state, theme, layout, scroll } = input;
  const axis = side === "query" ? reading.rows : reading.cols;
  const left = side === "query";
  const x = left ? layout.x1 - 8 : layout.x2 + 8;
  const room = layout.tokens[left ? 0 : 1];
  const isMatch = matches(axis, state.find);
  const locked = side === sideOf(state) ? lockedIndices(reading, state) : new Set<number>();
  const [first, last] = visibleRows(layout, axis.labels.length, scroll);
  const items: Item[] = [];
  for (let i = first; i <= last; i++) {
    const y = rowY(layout, i, scroll);
    const focused = focus?.side === side && focus.indices.has(i);
    const boxX = left ? x - room - 4 : x - 4;
    if (isMatch[i])
      items.push({ type: "rect", x: boxX, y: y - layout.row / 2 + 1, w: room + 8, h: layout.row - 2, fill: theme.mark, radius: 4 });
    if (locked.has(i))
      items.push({
        type: "rect",
        x: boxX,
        y: y - layout.row / 2 + 1,
        w: room + 8,
        h: layout.row - 2,
        stroke: left ? theme.query : theme.key,
        radius: 4,
      });
    const fill = focused ? (left ? theme.query : theme.key) : undefined;
    items.push(
      ...tokenItems(
        axis.labels[i],
        x,
        y,
        { size: layout.size, room, special: axis.special[i], anchor: left ? "end" : "start", fill, bold: focused },
        theme,
      ),
    );
    if (state.colour_parts && axis.parts.length)
      items.push({
        type: "rect",
        x: left ? x + 2 : x - 5,
        y: y - layout.row / 2,
        w: 3,
        h: layout.row,
        fill: partColour(axis.parts[i], theme.dark),
      });
    if (i > 0 && axis.segments[i] !== axis.segments[i - 1])
      items.push({
        type: "stroke",
        x1: boxX,
        x2: boxX + room + 8,
        y1: y - layout.row / 2,
        y2: y - layout.row / 2,
        stroke: theme.hairline,
        width: 1,
      });
    if (numbers && focus!.side !== side) items.push(...beside(input, i, y, left, numbers));
  }
  return items;
}

/** The number beside a token, and a strip with one cell a head. */
function beside(
  { reading, state, theme, layout }: LinesInput,
  i: number,
  y: number,
  left: boolean,
  { values, byMap }: { values: Float32Array; byMap: Float32Array[] },
): Item[] {
  const value = values[i];
  const { largest, signed, method } = reading.quantity;
  if (Math.abs(value) < state.threshold) return [];
  const items: Item[] = [];
  const edge = left ? 0 : layout.width;
  items.push({
    type: "text",
    x: left ? edge + layout.numbers - 6 : edge,
    y,
    text: method === "attention" ? value.toFixed(3) : shownNumber(value, largest),
    size: 12,
    mono: true,
    fill: Math.abs(value) >= 0.01 ? theme.text : theme.muted,
    anchor: "end",
    opacity: Math.abs(value) >= 0.0005 ? 1 : 0.5,
  });
  if (!layout.strip) return items;
  const cell = (layout.strip - 8) / byMap.length;
  const start = left ? layout.numbers : layout.width - layout.numbers - layout.strip + 8;
  items.push({ type: "rect", x: start, y: y - layout.row / 2 + 3, w: layout.strip - 8, h: layout.row - 6, fill: theme.faint });
  byMap.forEach((sums, m) => {
    const opacity = opacityOf(Math.min(1, strength(Math.abs(sums[i]), reading.maps[m].max, state.rescale)));
    if (opacity > 0.02)
      items.push({
        type: "rect",
        x: start + m * cell,
        y: y - layout.row / 2 + 3,
        w: cell,
        h: layout.row - 6,
        fill: signed ? theme[sums[i] < 0 ? "negative" : "positive"] : mapColour(reading.maps[m], theme),
        opacity,
      });
  });
  return items;
}
