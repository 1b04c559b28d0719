// The head view as a heatmap: the matrix, its labels and its scale.

import { matches, type Axis } from "../../core/reading/axes";
import { attentionColour, format, partColour, signedColour, signedTable, table } from "../../core/colours";
import type { State, Zoom } from "../../core/input/contract";
import type { Labels } from "../../core/words/labels";
import { shownNumber } from "../../core/reading/quantity";
import type { Reading } from "../../core/reading/reading";
import type { Theme } from "../../core/theme";
import { cut, type Pyramid } from "../../marks/heatmap";
import type { Item, Scene } from "../../marks/scene";
import { tokenItems } from "../../marks/tokens";
import { lockedIndices, sideOf } from "./focus";
import { cellSize, type Frame } from "./zoom";

export interface HeatmapInput {
  reading: Reading;
  pyramid: Pyramid;
  state: State;
  theme: Theme;
  labels: Labels;
  zoom: Zoom;
  width: number;
  left: number;
  top: number;
  frame: Frame;
  hovered: { row: number; col: number } | null;
}

/** Room for the scale; on a narrow page its words stand below it. */
export const bottomOf = (width: number): number => (width < 560 ? 56 : 40);

export interface Seen {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** The part of the map in sight, in weights. */
export function seen({ frame, zoom }: Pick<HeatmapInput, "frame" | "zoom">): Seen {
  const cell = cellSize(frame, zoom.k);
  const left = zoom.x * frame.cols;
  const top = zoom.y * frame.rows;
  return { left, top, right: Math.min(frame.cols, left + frame.width / cell), bottom: Math.min(frame.rows, top + frame.height / cell) };
}

export function heatmapScene(input: HeatmapInput): Scene {
  const { left, top, frame, zoom, theme, width } = input;
  const cell = cellSize(frame, zoom.k);
  const window = seen(input);
  const part = cut(
    input.pyramid,
    window,
    cell * (globalThis.devicePixelRatio || 1),
    input.reading.quantity.signed ? signedTable(theme.dark) : table((t) => attentionColour(t, theme.dark)),
  );
  const X = (col: number) => left + (col - window.left) * cell;
  const Y = (row: number) => top + (row - window.top) * cell;
  const w = (window.right - window.left) * cell;
  const h = (window.bottom - window.top) * cell;
  const inside: Item[] = [
    {
      type: "bitmap",
      x: X(part.left),
      y: Y(part.top),
      w: X(part.right) - X(part.left),
      h: Y(part.bottom) - Y(part.top),
      cols: part.cols,
      rows: part.rows,
      pixels: part.pixels,
    },
  ];
  inside.push(...marks(input, X, Y, cell, { left, top, w, h }));
  const items: Item[] = [
    { type: "clip", x: left, y: top, w, h, items: inside },
    { type: "rect", x: left - 0.5, y: top - 0.5, w: w + 1, h: h + 1, stroke: theme.hairline },
    ...axisLabels(input, "query", (i) => Y(i + 0.5), cell, window.top, window.bottom),
    ...axisLabels(input, "key", (i) => X(i + 0.5), cell, window.left, window.right),
    ...legend(input, top + frame.height + 14),
  ];
  return { width, height: top + frame.height + bottomOf(width), background: theme.ground, items };
}

/** Locked rows or columns, and the cross hair under the pointer. */
function marks(
  input: HeatmapInput,
  X: (c: number) => number,
  Y: (r: number) => number,
  cell: number,
  box: { left: number; top: number; w: number; h: number },
): Item[] {
  const { reading, state, theme, hovered } = input;
  const items: Item[] = [];
  const thin = cell < 4; // a frame round so small a cell would hide it
  const paintOf = (colour: string, opacity: number) => (thin ? { fill: colour, opacity: opacity * 0.7 } : { stroke: colour, opacity });
  const rowBox = (r: number, colour: string, opacity: number): Item => ({
    type: "rect",
    x: box.left,
    y: Y(r),
    w: box.w,
    h: Math.max(1, cell),
    ...paintOf(colour, opacity),
  });
  const colBox = (c: number, colour: string, opacity: number): Item => ({
    type: "rect",
    x: X(c),
    y: box.top,
    w: Math.max(1, cell),
    h: box.h,
    ...paintOf(colour, opacity),
  });
  for (const index of lockedIndices(reading, state))
    items.push(sideOf(state) === "query" ? rowBox(index, theme.query, 1) : colBox(index, theme.key, 1));
  if (hovered) items.push(rowBox(hovered.row, theme.query, 0.6), colBox(hovered.col, theme.key, 0.6));
  return items;
}

/** As many labels as fit without touching; over short cells every second, fourth … token. */
function axisLabels(
  input: HeatmapInput,
  side: "query" | "key",
  at: (i: number) => number,
  cell: number,
  from: number,
  to: number,
): Item[] {
  const { reading, theme, state, left, top, hovered } = input;
  const axis: Axis = side === "query" ? reading.rows : reading.cols;
  const size = Math.max(9, Math.min(12, Math.floor(cell - 2)));
  const step = cell >= size + 1 ? 1 : 2 ** Math.ceil(Math.log2((size + (cell < 2 ? 12 : 3)) / cell));
  const isMatch = matches(axis, state.find);
  const locked = side === sideOf(state) ? lockedIndices(reading, state) : new Set<number>();
  const hot = side === "query" ? hovered?.row : hovered?.col;
  const named = (i: number) => i === hot || locked.has(i);
  const clear = (i: number) =>
    [hot, ...locked].every((other) => other === undefined || other === i || Math.abs(other - i) * cell >= size + 1);
  const items: Item[] = [];
  for (let i = Math.max(0, Math.floor(from)); i < Math.min(axis.labels.length, Math.ceil(to)); i++) {
    if (state.colour_parts && axis.parts.length) {
      const fill = partColour(axis.parts[i], theme.dark);
      const [start, end] = [Math.max(from, i), Math.min(to, i + 1)].map((edge) => at(edge - 0.5));
      items.push(
        side === "query"
          ? { type: "rect", x: left - 4, y: start, w: 3, h: end - start, fill }
          : { type: "rect", x: start, y: top - 4, w: end - start, h: 3, fill },
      );
    }
    if (isMatch[i])
      items.push(
        side === "query"
          ? { type: "stroke", x1: left - 5, x2: left, y1: at(i), y2: at(i), stroke: theme.accent, width: 2 }
          : { type: "stroke", x1: at(i), x2: at(i), y1: top - 5, y2: top, stroke: theme.accent, width: 2 },
      );
    if (!(named(i) || ((i % step === 0 || (isMatch[i] && cell * 3 > size)) && clear(i))) || i + 0.5 < from || i + 0.5 > to) continue;
    const fill = named(i) ? (side === "query" ? theme.query : theme.key) : undefined;
    const style = { size, room: (side === "query" ? left : top) - 22, special: axis.special[i], fill, bold: named(i) };
    if (isMatch[i])
      items.push(
        side === "query"
          ? { type: "rect", x: 16, y: at(i) - size / 2 - 1, w: left - 20, h: size + 2, fill: theme.mark, radius: 3 }
          : { type: "rect", x: at(i) - size / 2 - 1, y: 16, w: size + 2, h: top - 20, fill: theme.mark, radius: 3 },
      );
    if (side === "query") items.push(...tokenItems(axis.labels[i], left - 6, at(i), { ...style, anchor: "end" }, theme));
    else items.push(...tokenItems(axis.labels[i], at(i), top - 6, { ...style, anchor: "start", rotate: -90 }, theme));
    if (step > 1)
      items.push(
        side === "query"
          ? { type: "stroke", x1: left - 4, x2: left - 1, y1: at(i), y2: at(i), stroke: theme.muted, width: 1 }
          : { type: "stroke", x1: at(i), x2: at(i), y1: top - 4, y2: top - 1, stroke: theme.muted, width: 1 },
      );
  }
  const { labels } = input;
  items.push(
    side === "query"
      ? { type: "text", x: 6, y: top, text: labels.queries, size: 12, fill: theme.query, bold: true, rotate: -90, anchor: "end" }
      : { type: "text", x: left, y: 6, text: labels.keys, size: 12, fill: theme.key, bold: true },
  );
  return items;
}

function legend({ reading, state, theme, labels, left, zoom, frame, width }: HeatmapInput, y: number): Item[] {
  const map = reading.maps[0];
  const top = state.rescale ? map.max : 1;
  const { signed, largest, method } = reading.quantity;
  const isAttention = method === "attention";
  const wide = 120;
  const steps = 60;
  const items: Item[] = [];
  for (let i = 0; i < steps; i++)
    items.push({
      type: "rect",
      x: left + (i * wide) / steps,
      y,
      w: wide / steps + 0.3,
      h: 8,
      fill: format(signed ? signedColour((2 * i) / (steps - 1) - 1, theme.dark) : attentionColour(i / (steps - 1), theme.dark)),
    });
  for (const t of [0, 0.5, 1])
    items.push({
      type: "text",
      x: left + t * wide,
      y: y + 17,
      text: isAttention
        ? (t * t * top).toFixed(t === 0 ? 0 : top < 0.1 ? 3 : 2)
        : t === (signed ? 0.5 : 0)
          ? "0"
          : shownNumber((signed ? 2 * t - 1 : t * t) * top, largest),
      size: 12,
      mono: true,
      fill: theme.muted,
      anchor: t === 0 ? "start" : t === 1 ? "end" : "middle",
    });
  const note = cellSize(frame, zoom.k) < 0.75 ? labels.heatmap_pixel : "";
  const narrow = width < 560;
  items.push({
    type: "text",
    x: left + wide + 12,
    y: y + 4,
    text: note && !narrow ? `${map.name} · ${note}` : map.name,
    size: 12,
    fill: theme.muted,
  });
  if (note && narrow) items.push({ type: "text", x: 0, y: y + 34, text: note, size: 12, fill: theme.muted });
  return items;
}
