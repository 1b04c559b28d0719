// The neuron view drawn: the query vector, then a row a key.

import { partColour } from "../../core/colours";
import type { Axis } from "../../core/reading/axes";
import { matches } from "../../core/reading/axes";
import type { QuantitySpec, State } from "../../core/input/contract";
import type { Labels } from "../../core/words/labels";
import type { KeyRow } from "../../core/reading/neuron";
import { product } from "../../core/reading/neuron";
import { quantityName, shownNumber } from "../../core/reading/quantity";
import type { Theme } from "../../core/theme";
import { measure } from "../../marks/painters/canvas";
import type { Item, Scene } from "../../marks/scene";
import { tokenItems } from "../../marks/tokens";
import { signedBar, strip } from "../../marks/vectors";
import { DETAIL_ROW, rowTop, type NeuronLayout } from "./layout";

export interface NeuronInput {
  layout: NeuronLayout;
  theme: Theme;
  labels: Labels;
  state: State;
  axis: Axis; // of the keys shown
  rows: KeyRow[]; // the same keys
  query: { label: string; special: boolean; vector: Float32Array };
  keys: Float32Array[]; // vector of each key shown
  scale: number;
  quantity: QuantitySpec; // what the last column before the values draws
  output: Float32Array | null; // Σ softmax × value over the keys shown
  partial: boolean; // some keys are not shown, or weights were changed
  most: { vector: number; product: number; score: number; weight: number; drawn: number; contribution: number };
  opened: number; // index of the opened key, or −1
  hovered: number;
  scroll: number;
}

/** With a true minus sign, and never “−0.00”. */
const signed = (value: number): string => (Number(value.toFixed(2)) < 0 ? "−" : "") + Math.abs(value).toFixed(2);

export function neuronScene(input: NeuronInput): Scene {
  const { layout, theme } = input;
  const body: Item[] = [];
  const isMatch = matches(input.axis, input.state.find);
  input.rows.forEach((_, index) => {
    const y = rowTop(layout, index, input.opened, input.scroll);
    if (y > layout.height || y + layout.row + layout.detail.height < layout.top) return;
    body.push(...keyRow(input, index, y, isMatch[index]));
    if (index === input.opened) body.push(...details(input, index, y + layout.row));
  });
  return {
    width: layout.width,
    height: layout.height,
    background: theme.ground,
    items: [
      { type: "clip", x: 0, y: layout.top, w: layout.width, h: layout.height - layout.top, items: body },
      ...header(input),
      ...outputHeader(input),
    ],
  };
}

function header({ layout, theme, labels, query, most, scale, quantity }: NeuronInput): Item[] {
  const heading = (x: number, text: string, fill = theme.muted): Item => ({ type: "text", x, y: 10, text, size: 12, fill });
  const narrow = layout.score.w < 100;
  const y = 42;
  const items: Item[] = [
    heading(0, labels.query, theme.query),
    heading(
      layout.vector.x,
      narrow ? `q (${query.vector.length})` : `${labels.query_vector} (${query.vector.length}) · ±${most.vector.toFixed(1)}`,
      theme.query,
    ),
    heading(layout.product.x, narrow ? "q × k" : labels.product),
    heading(layout.score.x, narrow ? "q·k·s" : `q·k × ${round(scale)}`),
    heading(layout.weight.x, quantity.method === "attention" ? labels.weight : narrow ? quantity.method : quantityName(quantity, labels)),
    ...tokenItems(
      query.label,
      14,
      y - 14,
      { size: 12, room: layout.token - 14, special: query.special, fill: theme.query, bold: true },
      theme,
    ),
    strip(query.vector, most.vector, layout.vector.x, y - 22, layout.vector.w, 16, theme),
    { type: "rect", x: layout.vector.x - 0.5, y: y - 22.5, w: layout.vector.w + 1, h: 17, stroke: theme.query },
    ...scaleOf(layout.product.x, y - 14, layout.product.w, most.product, theme, narrow),
    { type: "stroke", x1: 0, x2: layout.width, y1: layout.top - 2, y2: layout.top - 2, stroke: theme.hairline, width: 1 },
    { type: "text", x: 0, y: layout.top - 12, text: labels.key, size: 12, fill: theme.key },
    { type: "text", x: layout.vector.x, y: layout.top - 12, text: labels.keys, size: 12, fill: theme.key },
  ];
  if (layout.bias) items.push(heading(layout.bias.x, labels.bias));
  return items;
}

/** Above the contributions their sum, as the query stands above the keys. */
function outputHeader({ layout, theme, labels, output, partial, most }: NeuronInput): Item[] {
  if (!layout.contribution || !output) return [];
  const { x, w } = layout.contribution;
  const narrow = layout.score.w < 100;
  const word = (y: number, text: string): Item => ({ type: "text", x, y, text, size: 12, fill: theme.muted });
  return [
    word(10, narrow ? "Σ αv" : partial ? labels.output_shown : labels.output),
    strip(output, most.contribution, x, 20, w, 16, theme),
    { type: "rect", x: x - 0.5, y: 19.5, w: w + 1, h: 17, stroke: theme.text },
    word(layout.top - 12, narrow ? "α × v" : `${labels.contribution} · ±${most.contribution.toFixed(1)}`),
  ];
}

const round = (value: number): string => String(Math.round(value * 1e4) / 1e4);

/** The colours, from −most to most. Queries and keys share one scale, products have their own. */
function scaleOf(x: number, y: number, room: number, most: number, theme: Theme, narrow: boolean): Item[] {
  if (narrow) return [];
  const ramp = Float32Array.from({ length: 33 }, (_, i) => i / 16 - 1);
  const text = most.toFixed(1);
  const before = measure(`−${text} `, { size: 12, mono: true });
  const wide = Math.min(80, room - 2 * before);
  if (wide < 20) return [];
  const word = (at: number, value: string, anchor: "start" | "end"): Item => ({
    type: "text",
    x: at,
    y,
    text: value,
    size: 12,
    mono: true,
    fill: theme.muted,
    anchor,
  });
  return [
    word(x + before - 6, `−${text}`, "end"),
    strip(ramp, 1, x + before, y - 4, wide, 8, theme),
    word(x + before + wide + 6, text, "start"),
  ];
}

function keyRow(input: NeuronInput, index: number, top: number, isMatch: boolean): Item[] {
  const { layout, theme, labels, axis, rows, query, keys, most } = input;
  const row = rows[index];
  const y = top + layout.row / 2;
  const h = Math.min(24, layout.row - 6);
  const faded = row.masked ? 0.35 : 1;
  const items: Item[] = [];
  if (input.hovered === index || input.opened === index)
    items.push({ type: "rect", x: 0, y: top, w: layout.width, h: layout.row, fill: theme.faint });
  if (isMatch) items.push({ type: "rect", x: 12, y: top + 2, w: layout.token - 10, h: layout.row - 4, fill: theme.mark, radius: 4 });
  if (input.state.colour_parts && axis.parts.length)
    items.push({ type: "rect", x: 9, y: top, w: 3, h: layout.row, fill: partColour(axis.parts[index], theme.dark) });
  items.push({ type: "text", x: 4, y, text: input.opened === index ? "▾" : "▸", size: 9, fill: theme.muted, anchor: "middle" });
  items.push(
    ...tokenItems(
      axis.labels[index],
      14,
      y,
      { size: 12, room: layout.token - 14, special: axis.special[index], fill: row.masked ? theme.muted : undefined },
      theme,
    ).map((item) => ({ ...item, opacity: (item.opacity ?? 1) * (row.masked ? 0.6 : 1) })),
  );
  const strips: Item[] = [
    strip(keys[index], most.vector, layout.vector.x, y - h / 2, layout.vector.w, h, theme),
    strip(product(query.vector, keys[index]), most.product, layout.product.x, y - h / 2, layout.product.w, h, theme),
  ];
  items.push(...strips);
  if (row.masked)
    for (const column of [layout.vector, layout.product])
      items.push({ type: "rect", x: column.x, y: y - h / 2, w: column.w, h, fill: theme.ground, opacity: 0.65 });
  items.push(...numberCell(row.score, most.score, layout.score, y, h, theme, faded));
  if (layout.bias && row.bias !== null) items.push(...numberCell(row.bias, most.score, layout.bias, y, h, theme, faded));
  if (row.drawn !== null) items.push(...drawnCell(row, input, y, h));
  else items.push(...weightCell(row, layout.weight, y, h, most.weight, theme, labels));
  if (layout.contribution && row.contribution)
    items.push(strip(row.contribution, most.contribution, layout.contribution.x, y - h / 2, layout.contribution.w, h, theme));
  return items;
}

function numberCell(
  value: number,
  scale: number,
  at: { x: number; w: number },
  y: number,
  h: number,
  theme: Theme,
  opacity: number,
): Item[] {
  const text: Item = {
    type: "text",
    x: at.x + 44,
    y,
    text: value < -1e4 ? "−∞" : signed(value),
    size: 12,
    mono: true,
    fill: theme.text,
    anchor: "end",
    opacity,
  };
  if (at.w < 100 || value < -1e4) return [text];
  const bar = signedBar(value, scale, at.x + 52, y - h / 2 + 2, at.w - 56, h - 4, theme);
  return [
    text,
    {
      type: "stroke",
      x1: at.x + 52 + (at.w - 56) / 2,
      x2: at.x + 52 + (at.w - 56) / 2,
      y1: y - h / 2,
      y2: y + h / 2,
      stroke: theme.hairline,
      width: 1,
    },
    { ...bar, opacity: opacity * 0.8 } as Item,
  ];
}

function weightCell(row: KeyRow, at: { x: number; w: number }, y: number, h: number, most: number, theme: Theme, labels: Labels): Item[] {
  if (row.masked) return [{ type: "text", x: at.x, y, text: labels.masked, size: 12, fill: theme.muted }];
  const text: Item = { type: "text", x: at.x + 40, y, text: row.weight.toFixed(3), size: 12, mono: true, fill: theme.text, anchor: "end" };
  if (at.w < 100) return [text];
  return [
    text,
    {
      type: "rect",
      x: at.x + 48,
      y: y - h / 2 + 2,
      w: Math.max(0.5, ((at.w - 50) * row.weight) / most),
      h: h - 4,
      fill: theme.text,
      opacity: 0.75,
    },
  ];
}

/** Another quantity than attention: its number, and a bar on both sides of zero where it has a sign. */
function drawnCell(
  { drawn, masked }: KeyRow,
  { layout, theme, labels, quantity, most, state }: NeuronInput,
  y: number,
  h: number,
): Item[] {
  const at = layout.weight;
  if (masked || drawn === null) return [{ type: "text", x: at.x, y, text: labels.masked, size: 12, fill: theme.muted }];
  const words = shownNumber(drawn, quantity.largest);
  const text: Item = { type: "text", x: at.x + 40, y, text: words, size: 12, mono: true, fill: theme.text, anchor: "end" };
  if (at.w < 100) return [text];
  const full = state.rescale ? most.drawn : 1;
  const room = at.w - 50;
  if (quantity.signed) return [text, signedBar(drawn, full, at.x + 48, y - h / 2 + 2, room, h - 4, theme)];
  const wide = Math.max(0.5, (room * drawn) / full);
  return [text, { type: "rect", x: at.x + 48, y: y - h / 2 + 2, w: wide, h: h - 4, fill: theme.text, opacity: 0.75 }];
}

/** Dimension by dimension: q × k = product, and their sum. */
function details({ layout, theme, query, keys, most, rows, scale }: NeuronInput, index: number, top: number): Item[] {
  const items: Item[] = [{ type: "rect", x: 0, y: top, w: layout.width, h: layout.detail.height - 4, fill: theme.faint }];
  const { columns, rows: perColumn } = layout.detail;
  const wide = (layout.width - 24) / columns;
  const parts = product(query.vector, keys[index]);
  const text = (x: number, y: number, words: string, fill: string, anchor: "start" | "end" = "end"): Item => ({
    type: "text",
    x,
    y,
    text: words,
    size: 12,
    mono: true,
    fill,
    anchor,
  });
  parts.forEach((value, d) => {
    const x = 12 + Math.floor(d / perColumn) * wide;
    const y = top + 14 + (d % perColumn) * DETAIL_ROW;
    items.push(
      text(x + 20, y, String(d), theme.muted),
      text(x + 70, y, signed(query.vector[d]), theme.query),
      text(x + 80, y, "×", theme.muted),
      text(x + 126, y, signed(keys[index][d]), theme.key),
      text(x + 138, y, "=", theme.muted),
      text(x + 184, y, signed(value), theme.text),
    );
    items.push({
      type: "rect",
      x: x + 188,
      y: y - 5,
      w: 10,
      h: 10,
      fill: value < 0 ? theme.negative : theme.positive,
      opacity: Math.min(1, Math.abs(value) / most.product),
    });
  });
  const dot = rows[index].score / (scale || 1);
  const bias = rows[index].bias !== null ? `   + bias ${signed(rows[index].bias!)}` : "";
  items.push(
    text(
      12,
      top + perColumn * DETAIL_ROW + 18,
      `Σ = ${signed(dot)}   × ${round(scale)} = ${signed(rows[index].score)}${bias}`,
      theme.text,
      "start",
    ),
  );
  return items;
}
