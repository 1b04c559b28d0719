// What is drawn, as a list of primitives. The canvas and the SVG painter read the same list, so a saved picture is what was seen.

import type { Theme } from "../core/theme";
import type { Plot } from "./scatter/cloud";
import type { LineSet } from "./lines";

export interface Rect {
  type: "rect";
  x: number;
  y: number;
  w: number;
  h: number;
  fill?: string;
  stroke?: string;
  radius?: number;
  opacity?: number;
}
export interface Text {
  type: "text";
  x: number;
  y: number;
  text: string;
  size: number;
  fill: string;
  anchor?: "start" | "middle" | "end";
  mono?: boolean;
  bold?: boolean;
  rotate?: number;
  opacity?: number;
}
export interface Stroke {
  type: "stroke";
  x1: number;
  y1: number;
  x2: number;
  y2: number;
  stroke: string;
  width: number;
  opacity?: number;
}
/** A cubic curve: its start, its two handles and its end, x before y. */
export interface Curve {
  type: "curve";
  d: [number, number, number, number, number, number, number, number];
  stroke: string;
  width: number;
  dash?: number[];
  opacity?: number;
}
/** Attention lines between two columns: row r of the left side is at y1(r), column c of the right side at y2(c). */
export interface Lines {
  type: "lines";
  set: LineSet;
  x1: number;
  x2: number;
  y1: Float32Array;
  y2: Float32Array;
  spread: number;
  /** How many maps there are, where numbers below zero have colours of their own behind those of the maps. */
  maps?: number;
  colours: string[];
  widest: number;
  curved: boolean;
  /** Whether the ground is dark. */
  dark?: boolean;
  /** Weak lines are thin, not faint. */
  thin?: boolean;
  /** Arrowheads at the key side, where few lines are drawn. */
  arrows?: boolean;
}
/** Pixels stretched over a rectangle without smoothing: [row, column] as RGBA words. */
export interface Bitmap {
  type: "bitmap";
  x: number;
  y: number;
  w: number;
  h: number;
  cols: number;
  rows: number;
  pixels: Uint32Array;
}
/** Scatters, each in its own box; x, y, w, h hold them all. */
export interface Clouds {
  type: "clouds";
  x: number;
  y: number;
  w: number;
  h: number;
  plots: Plot[];
}
/** Straight lines of one colour, the wider and the less transparent the larger their weight. */
export interface Segments {
  type: "segments";
  ends: Float32Array;
  weights: Float32Array;
  colour: string;
  widest: number;
  opacity?: number;
  /** Arrowheads at the second end. */
  arrows?: boolean;
}
export interface Clip {
  type: "clip";
  x: number;
  y: number;
  w: number;
  h: number;
  items: Item[];
}

export type Item = Rect | Text | Stroke | Curve | Lines | Bitmap | Clouds | Segments | Clip;

export interface Scene {
  width: number;
  height: number;
  background: string;
  items: Item[];
}

/** A colour of a picture and what it stands for. */
export interface Entry {
  colour: string;
  name: string;
}

/** A small square of each colour with its name, in as many rows as the width asks for, and how high they are. */
function legendItems(legend: Entry[], x: number, y: number, width: number, fill: string): [Item[], number] {
  const items: Item[] = [];
  let [left, rows] = [0, legend.length ? 1 : 0];
  for (const { colour, name } of legend) {
    const wide = 24 + 8 * [...name].length;
    if (left > 0 && left + wide > width) [left, rows] = [0, rows + 1];
    const middle = y + 18 * (rows - 1) + 8;
    items.push({ type: "rect", x: x + left, y: middle - 5, w: 10, h: 10, fill: colour });
    items.push({ type: "text", x: x + left + 14, y: middle, text: name, size: 12, fill });
    left += wide;
  }
  return [items, 18 * rows];
}

export interface Framing {
  title: string;
  legend: Entry[];
  caption: string[]; // its lines
  theme: Pick<Theme, "text" | "muted">;
}

/** The scene with a title above, a legend and the lines of a caption below, as a figure of its own. */
export function framed(scene: Scene, { title, legend, caption, theme }: Framing): Scene {
  const top = 36;
  const pad = 12;
  const [squares, legendHeight] = legendItems(legend, pad, scene.height + top + 4, scene.width, theme.text);
  const below = scene.height + top + legendHeight;
  const bottom = legendHeight + 10 + 18 * caption.length;
  return {
    width: scene.width + 2 * pad,
    height: scene.height + top + bottom,
    background: scene.background,
    items: [
      { type: "text", x: pad, y: 18, text: title, size: 14, fill: theme.text, bold: true },
      ...scene.items.map((item) => moved(item, pad, top)),
      ...squares,
      ...caption.map((line, i): Item => ({ type: "text", x: pad, y: below + 14 + 18 * i, text: line, size: 12, fill: theme.muted })),
    ],
  };
}

export function moved(item: Item, dx: number, dy: number): Item {
  switch (item.type) {
    case "stroke":
      return { ...item, x1: item.x1 + dx, x2: item.x2 + dx, y1: item.y1 + dy, y2: item.y2 + dy };
    case "curve":
      return { ...item, d: item.d.map((at, i) => at + (i % 2 ? dy : dx)) as Curve["d"] };
    case "lines":
      return { ...item, x1: item.x1 + dx, x2: item.x2 + dx, y1: item.y1.map((y) => y + dy), y2: item.y2.map((y) => y + dy) };
    case "segments":
      return { ...item, ends: item.ends.map((at, i) => at + (i % 2 ? dy : dx)) };
    case "clouds":
      return { ...item, x: item.x + dx, y: item.y + dy, plots: item.plots.map((plot) => ({ ...plot, x: plot.x + dx, y: plot.y + dy })) };
    case "clip":
      return { ...item, x: item.x + dx, y: item.y + dy, items: item.items.map((inner) => moved(inner, dx, dy)) };
    default:
      return { ...item, x: item.x + dx, y: item.y + dy };
  }
}
