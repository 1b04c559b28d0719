// What is drawn, as a list of primitives. The canvas and the SVG painter read the same list, so a saved picture is what was seen.

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
  /** Heads at the key side, where few lines are drawn. */
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
  /** Heads at the second end. */
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

export type Item = Rect | Text | Stroke | Lines | Bitmap | Clouds | Segments | Clip;

export interface Scene {
  width: number;
  height: number;
  background: string;
  items: Item[];
}

/** The scene with a title above and the lines of a caption below, as a figure of its own. */
export function framed(scene: Scene, title: string, caption: string[], text: string, muted: string): Scene {
  const top = 36;
  const bottom = 10 + 18 * caption.length;
  const pad = 12;
  return {
    width: scene.width + 2 * pad,
    height: scene.height + top + bottom,
    background: scene.background,
    items: [
      { type: "text", x: pad, y: 18, text: title, size: 14, fill: text, bold: true },
      ...scene.items.map((item) => moved(item, pad, top)),
      ...caption.map(
        (line, i): Item => ({ type: "text", x: pad, y: scene.height + top + 14 + 18 * i, text: line, size: 12, fill: muted }),
      ),
    ],
  };
}

export function moved(item: Item, dx: number, dy: number): Item {
  switch (item.type) {
    case "stroke":
      return { ...item, x1: item.x1 + dx, x2: item.x2 + dx, y1: item.y1 + dy, y2: item.y2 + dy };
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
