// One cell for each head of a model: the one grid of the model view, of maps of effects and of pages about a model. Pure.
// docs/view-format.md ("A grid of heads") describes the data.

import { format, layerShade, mix, parse, signedColour } from "../core/colours";
import type { HeadGrid } from "../core/input/contract";
import type { Theme } from "../core/theme";

import { headName } from "../generated/heads";
import type { Entry, Item } from "./scene";

export interface CellAt {
  row: number;
  col: number;
}

/** The size of a number that has the full colour. */
export function largestOf(grid: HeadGrid): number {
  if (grid.largest !== undefined) return grid.largest;
  const sizes = grid.values.flat().map((value) => Math.abs(value ?? 0));
  return Math.max(1e-9, ...sizes);
}

export const valueAt = (grid: HeadGrid, { row, col }: CellAt): number | null => grid.values[row]?.[col] ?? null;

export const isMeasured = (grid: HeadGrid, { row, col }: CellAt): boolean => grid.measured?.[row]?.[col] !== 0;

/** The colour of a cell: a small value may be pale, since the number, the outline and the legend carry it. */
export function cellColour(grid: HeadGrid, value: number | null, largest: number, theme: Theme): string {
  if (value === null) return theme.faint;
  const t = Math.min(1, Math.max(-1, value / largest));
  if (grid.scale === "role") return grid.names?.[value]?.[theme.dark ? "dark" : "light"] ?? theme.hairline;
  if (grid.scale === "signed") return format(mix(parse(theme.faint), signedColour(Math.sign(t), theme.dark), Math.abs(t) ** 0.65));
  if (grid.scale === "nats") return layerShade(Math.abs(t), theme.dark);
  return format(mix(parse(theme.faint), parse(grid.colour ?? theme.accent), Math.sqrt(Math.abs(t))));
}

/** The colour of lines in a thumbnail: small values are grey, so that each line can be seen on the ground. */
export function lineColour(grid: HeadGrid, value: number | null, largest: number, theme: Theme): string {
  if (value === null) return theme.muted;
  const t = Math.min(1, Math.max(-1, value / largest));
  if (grid.scale === "role") return grid.names?.[value]?.[theme.dark ? "dark" : "light"] ?? theme.muted;
  if (grid.scale === "signed") return format(mix(parse(theme.muted), parse(t < 0 ? theme.negative : theme.positive), Math.abs(t) ** 0.65));
  if (grid.scale === "nats") return layerShade(Math.abs(t), theme.dark);
  return format(mix(parse(theme.muted), parse(theme.accent), Math.sqrt(Math.abs(t))));
}

/** The number of a cell as a reader sees it, with its unit; of a role its name. */
export function valueText(grid: HeadGrid, value: number | null): string {
  if (value === null) return "–";
  if (grid.scale === "role") return grid.names?.[value]?.name ?? "–";
  const sign = grid.scale === "signed" && value > 0 ? "+" : "";
  const text = `${sign}${value.toFixed(grid.decimals ?? (grid.scale === "nats" ? 2 : 3))}`.replace("-", "−");
  return grid.unit ? `${text} ${grid.unit}` : text;
}

export const nameOf = (grid: HeadGrid, { row, col }: CellAt): string => headName(grid.layers[row], col, grid.stack ?? "");

// ---- Where the cells lie

export interface CellsLayout {
  width: number;
  height: number;
  left: number;
  top: number;
  cell: number; // distance from one cell to the next
  size: number; // of a cell
  /** Layers stand side by side, heads below each other. */
  turned: boolean;
  rows: number; // layers
  cols: number; // heads
}

const LEFT = 28;
const BELOW = 22;
const LEAST = 18; // a cell of 16 px and its gap
const MOST = 44;

/** The way round in which the cells are larger; the height counts only where they would become larger than the least. */
export function cellsLayout(width: number, height: number, rows: number, cols: number): CellsLayout {
  const cellOf = (across: number, down: number) =>
    Math.floor(Math.min(MOST, (width - LEFT) / Math.max(1, across), Math.max(LEAST, (height - BELOW) / Math.max(1, down))));
  const [upright, turned] = [cellOf(cols, rows), cellOf(rows, cols)];
  const isTurned = turned > upright && turned >= LEAST;
  const cell = Math.max(LEAST - 6, isTurned ? turned : upright);
  const [across, down] = isTurned ? [rows, cols] : [cols, rows];
  const size = cell - (cell >= 24 ? 3 : 2);
  return { width: LEFT + across * cell, height: down * cell + BELOW, left: LEFT, top: 0, cell, size, turned: isTurned, rows, cols };
}

export const cornerOf = ({ left, top, cell, turned }: CellsLayout, { row, col }: CellAt): [number, number] =>
  turned ? [left + row * cell, top + col * cell] : [left + col * cell, top + row * cell];

export function cellAt(layout: CellsLayout, x: number, y: number): CellAt | null {
  const [across, down] = [Math.floor((x - layout.left) / layout.cell), Math.floor((y - layout.top) / layout.cell)];
  const [row, col] = layout.turned ? [across, down] : [down, across];
  return row >= 0 && col >= 0 && row < layout.rows && col < layout.cols ? { row, col } : null;
}

// ---- What is drawn

export interface CellsLook {
  theme: Theme;
  /** The head that is shown elsewhere on the page, and the heads that are switched off, by their names. */
  lit: string;
  off: Set<string>;
}

/** Filled where it was measured, an outline where it is an estimate. */
function cellItem(grid: HeadGrid, at: CellAt, colour: string, x: number, y: number, size: number, theme: Theme): Item[] {
  const radius = size >= 20 ? 4 : 2;
  if (isMeasured(grid, at)) return [{ type: "rect", x, y, w: size, h: size, fill: colour, radius }];
  return [
    { type: "rect", x, y, w: size, h: size, fill: colour, radius },
    { type: "rect", x: x + 3, y: y + 3, w: size - 6, h: size - 6, fill: theme.ground, radius: Math.max(0, radius - 2) },
  ];
}

export function cellItems(grid: HeadGrid, layout: CellsLayout, { theme, lit, off }: CellsLook): Item[] {
  const items: Item[] = [];
  const largest = largestOf(grid);
  const { size } = layout;
  grid.layers.forEach((_, row) => {
    for (let col = 0; col < grid.heads[row]; col++) {
      const at = { row, col };
      const [x, y] = cornerOf(layout, at);
      items.push(...cellItem(grid, at, cellColour(grid, valueAt(grid, at), largest, theme), x, y, size, theme));
      const name = nameOf(grid, at);
      if (off.has(name)) items.push(...switchedOffItems(x, y, size, theme));
      if (lit === name) items.push(...ring(x, y, size, theme));
    }
  });
  return [...items, ...numberItems(grid, layout, theme)];
}

export const switchedOffItems = (x: number, y: number, size: number, theme: Theme): Item[] => [
  { type: "stroke", x1: x + 3, y1: y + 3, x2: x + size - 3, y2: y + size - 3, stroke: theme.ground, width: 4 },
  { type: "stroke", x1: x + 3, y1: y + 3, x2: x + size - 3, y2: y + size - 3, stroke: theme.text, width: 2 },
];

/** A ring with a gap of ground, which shows on every colour. */
const ring = (x: number, y: number, size: number, theme: Theme): Item[] => [
  { type: "rect", x: x - 0.5, y: y - 0.5, w: size + 1, h: size + 1, stroke: theme.ground, radius: 4 },
  { type: "rect", x: x - 1.5, y: y - 1.5, w: size + 3, h: size + 3, stroke: theme.text, radius: 5 },
  { type: "rect", x: x - 2.5, y: y - 2.5, w: size + 5, h: size + 5, stroke: theme.text, radius: 6 },
];

const FIGURES = 12; // px of the numbers beside the cells

function numberItems(grid: HeadGrid, layout: CellsLayout, theme: Theme): Item[] {
  const heads = Math.max(0, ...grid.heads);
  const layers = grid.layers.map(String);
  const below = layout.turned ? layers : Array.from({ length: heads }, (_, h) => String(h));
  const beside = layout.turned ? Array.from({ length: heads }, (_, h) => String(h)) : layers;
  const every = (room: number) => Math.max(1, Math.ceil(room / layout.cell));
  const text = (at: { x: number; y: number; anchor: "middle" | "end" }, label: string): Item => ({
    type: "text",
    ...at,
    text: label,
    size: FIGURES,
    fill: theme.muted,
  });
  const bottom = layout.top + (layout.turned ? layout.cols : layout.rows) * layout.cell + 9;
  return [
    ...beside.flatMap((label, i) =>
      i % every(13) ? [] : [text({ x: layout.left - 7, y: layout.top + i * layout.cell + layout.size / 2, anchor: "end" }, label)],
    ),
    ...below.flatMap((label, i) =>
      i % every(17) ? [] : [text({ x: layout.left + i * layout.cell + layout.size / 2, y: bottom, anchor: "middle" }, label)],
    ),
  ];
}

/** What the colours stand for: names with their numbers of heads, or the two ends of the scale. */
export function legendEntries(grid: HeadGrid, theme: Theme): Entry[] {
  const largest = largestOf(grid);
  if (grid.scale === "role")
    return (grid.names ?? []).flatMap(({ name }, i) => {
      const count = grid.values.flat().filter((value) => value === i).length;
      return count ? [{ colour: cellColour(grid, i, largest, theme), name: `${name} ${count}` }] : [];
    });
  const end = (value: number, words: string | undefined): Entry => ({
    colour: cellColour(grid, value, largest, theme),
    name: [valueText(grid, value), words].filter(Boolean).join(" "),
  });
  return grid.scale === "signed" ? [end(-largest, grid.low), end(largest, grid.high)] : [end(0, grid.low), end(largest, grid.high)];
}
