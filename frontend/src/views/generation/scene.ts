// The bars of shares and the grid of heads as scenes, and the whole view as one picture. Pure.

import type { HeadGrid } from "../../core/input/contract";
import type { Theme } from "../../core/theme";
import { cellItems, cellsLayout, type CellsLayout } from "../../marks/heads-grid";
import { measure } from "../../marks/painters/canvas";
import { type Item, moved, type Scene } from "../../marks/scene";

export interface BarsInput {
  shares: Float32Array; // written × part
  n: number;
  colours: string[];
  chosen: number;
  /** Change of log-probability of each written token, for each part that was taken away; null where it was not measured. */
  effects: { colours: string[]; values: (number | null)[][] } | null;
  tokens: string[];
  width: number;
  theme: Theme;
}

const BARS = 120;
const EFFECTS = 72;
const NAMES = 18;

export const barStep = (width: number, n: number): number => width / Math.max(1, n);

export const barAt = (x: number, width: number, n: number): number => Math.max(0, Math.min(n - 1, Math.floor(x / barStep(width, n))));

export function barsScene({ shares, n, colours, chosen, effects, tokens, width, theme }: BarsInput): Scene {
  const step = barStep(width, n);
  const gap = step > 6 ? 2 : step > 2 ? 0.5 : 0;
  const items: Item[] = [];
  const parts = colours.length;
  for (let t = 0; t < n; t++) {
    let y = BARS;
    for (let part = 0; part < parts; part++) {
      const h = shares[t * parts + part] * BARS;
      y -= h;
      if (h > 0.1) items.push({ type: "rect", x: t * step, y, w: step - gap, h, fill: colours[part], opacity: t === chosen ? 1 : 0.6 });
    }
  }
  const height = BARS + NAMES + (effects ? EFFECTS : 0);
  if (step >= 14)
    tokens.forEach((token, t) => {
      const text = token.trim() || "␣";
      const fits = measure(text, { size: 10, mono: true }) <= step + 6 || t === chosen;
      if (fits)
        items.push({
          type: "text",
          x: t * step + step / 2,
          y: BARS + 10,
          text,
          size: 10,
          mono: true,
          anchor: "middle",
          bold: t === chosen,
          fill: t === chosen ? theme.accent : theme.muted,
        });
    });
  else items.push({ type: "rect", x: chosen * step, y: BARS + 2, w: Math.max(2, step), h: 4, fill: theme.accent });
  if (effects) items.push(...effectItems(effects, n, step, gap, chosen, width, theme));
  return { width, height, background: theme.ground, items };
}

/** Bars from a line: below it where a token would have been less probable without the part, above it where more. */
function effectItems(
  effects: NonNullable<BarsInput["effects"]>,
  n: number,
  step: number,
  gap: number,
  chosen: number,
  width: number,
  theme: Theme,
): Item[] {
  const largest = Math.max(1e-6, ...effects.values.flat().map((value) => Math.abs(value ?? 0)));
  const [top, half] = [BARS + NAMES + 4, (EFFECTS - 8) / 2];
  const zero = top + half;
  const items: Item[] = [{ type: "stroke", x1: 0, x2: width, y1: zero, y2: zero, stroke: theme.hairline, width: 1 }];
  const each = (step - gap) / effects.colours.length;
  for (let t = 0; t < n; t++)
    effects.values[t].forEach((value, part) => {
      if (value === null || each < 0.4) return;
      const h = Math.max(0.5, (Math.abs(value) / largest) * half);
      items.push({
        type: "rect",
        x: t * step + part * each,
        y: value > 0 ? zero - h : zero,
        w: each,
        h,
        fill: effects.colours[part],
        opacity: t === chosen ? 1 : 0.6,
      });
    });
  return items;
}

// ---- A cell for each head: layers side by side, heads below each other

const LEAST = 16; // px of a cell
const MOST = 24;

/** Layers side by side, where their cells are large enough: they are the order in which a text is read. */
export function gridLayout(width: number, grid: HeadGrid): CellsLayout {
  const [rows, cols] = [grid.layers.length, Math.max(...grid.heads)];
  const upright = cellsLayout(width, 0, rows, cols);
  const cell = Math.min(MOST, Math.floor((width - upright.left) / rows));
  if (cell < LEAST) return upright;
  const below = upright.height - upright.cell * (upright.turned ? cols : rows);
  return { ...upright, cell, size: cell - 2, turned: true, width: upright.left + rows * cell, height: cols * cell + below };
}

export function gridScene(grid: HeadGrid, lit: string, width: number, theme: Theme): Scene {
  const layout = gridLayout(width, grid);
  const items = cellItems(grid, layout, { theme, lit, off: new Set() });
  return { width: Math.max(width, layout.width), height: layout.height, background: theme.ground, items };
}

// ---- The text as a picture

export interface TextRun {
  name: string;
  colour: string;
  quiet: boolean;
  tokens: { text: string; lit: number; chosen: boolean; later: boolean; near: boolean }[];
}

const LEFT = 110;
const LINE = 24;

export function textItems(runs: TextRun[], width: number, theme: Theme): { items: Item[]; height: number } {
  const items: Item[] = [];
  let [x, y] = [LEFT, 14];
  for (const run of runs) {
    if (!run.quiet) {
      if (x > LEFT) [x, y] = [LEFT, y + LINE];
      items.push({ type: "text", x: LEFT - 10, y, text: run.name, size: 13, bold: true, anchor: "end", fill: run.colour });
    }
    for (const token of run.tokens) {
      if (!token.near) continue;
      const size = run.quiet ? 11 : 15;
      const w = Math.max(4, measure(token.text, { size }));
      if (x + w > width) [x, y] = [LEFT, y + LINE];
      if (token.chosen) items.push({ type: "rect", x, y: y - 11, w, h: 22, fill: theme.accent, radius: 3 });
      else if (token.lit > 0.01)
        items.push({ type: "rect", x, y: y - 11, w, h: 22, fill: theme.key, opacity: Math.sqrt(token.lit), radius: 3 });
      const fill = token.chosen ? theme.ground : run.quiet || token.later ? theme.muted : theme.text;
      items.push({ type: "text", x, y, text: token.text, size, fill });
      x += w;
    }
  }
  return { items, height: y + LINE };
}

/** Scenes below each other, as one. */
export function stacked(width: number, scenes: { items: Item[]; height: number }[], theme: Theme, left = 0): Scene {
  let top = 0;
  const items: Item[] = [];
  for (const scene of scenes) {
    items.push(...scene.items.map((item) => moved(item, left, top)));
    top += scene.height + 16;
  }
  return { width, height: top, background: theme.ground, items };
}
