// Paints a scene on a canvas.

import { breathe } from "../../core/schedule";
import { MONO, SANS } from "../../core/theme";
import { paintClouds } from "../scatter/clouds";
import { arrowhead, paintArrowhead } from "../arrows";
import { batches, ends } from "../lines";
import { paintSegments } from "../scatter/segments";
import type { Bitmap, Item, Lines, Rect, Scene, Text } from "../scene";

export type Context = CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D;

export const font = (item: { size: number; mono?: boolean; bold?: boolean }): string =>
  `${item.bold ? "600 " : ""}${item.size}px ${item.mono ? MONO : SANS}`;

/** Sizes the canvas to the scene at the screen's density and paints it. */
export function paint(canvas: HTMLCanvasElement, scene: Scene, density = globalThis.devicePixelRatio || 1): void {
  const [width, height] = [Math.round(scene.width * density), Math.round(scene.height * density)];
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  canvas.style.width = `${scene.width}px`;
  canvas.style.height = `${scene.height}px`;
  const context = canvas.getContext("2d")!;
  context.setTransform(density, 0, 0, density, 0, 0);
  context.fillStyle = scene.background;
  context.fillRect(0, 0, scene.width, scene.height);
  for (const item of scene.items) paintItem(context, item);
}

export function paintItem(context: Context, item: Item): void {
  context.globalAlpha = ("opacity" in item ? item.opacity : undefined) ?? 1;
  switch (item.type) {
    case "rect":
      paintRect(context, item);
      break;
    case "text":
      paintText(context, item);
      break;
    case "stroke":
      context.strokeStyle = item.stroke;
      context.lineWidth = item.width;
      context.beginPath();
      context.moveTo(item.x1, item.y1);
      context.lineTo(item.x2, item.y2);
      context.stroke();
      break;
    case "curve":
      context.strokeStyle = item.stroke;
      context.lineWidth = item.width;
      context.setLineDash(item.dash ?? []);
      context.beginPath();
      context.moveTo(item.d[0], item.d[1]);
      context.bezierCurveTo(item.d[2], item.d[3], item.d[4], item.d[5], item.d[6], item.d[7]);
      context.stroke();
      context.setLineDash([]);
      break;
    case "lines":
      if (item.set.count > MANY) paintManyLines(context, item);
      else paintLines(context, item);
      break;
    case "bitmap":
      paintBitmap(context, item);
      break;
    case "clouds":
      paintClouds(context, item);
      break;
    case "segments":
      paintSegments(context, item);
      break;
    case "clip":
      context.save();
      context.beginPath();
      context.rect(item.x, item.y, item.w, item.h);
      context.clip();
      for (const inner of item.items) paintItem(context, inner);
      context.restore();
  }
  context.globalAlpha = 1;
}

function paintRect(context: Context, item: Rect): void {
  context.beginPath();
  if (item.radius) context.roundRect(item.x, item.y, item.w, item.h, item.radius);
  else context.rect(item.x, item.y, item.w, item.h);
  if (item.fill) {
    context.fillStyle = item.fill;
    context.fill();
  }
  if (item.stroke) {
    context.strokeStyle = item.stroke;
    context.lineWidth = 1;
    context.stroke();
  }
}

function paintText(context: Context, item: Text): void {
  context.font = font(item);
  context.fillStyle = item.fill;
  context.textBaseline = "middle";
  context.textAlign = item.anchor === "middle" ? "center" : item.anchor === "end" ? "right" : "left";
  if (!item.rotate) {
    context.fillText(item.text, item.x, item.y);
    return;
  }
  context.save();
  context.translate(item.x, item.y);
  context.rotate((item.rotate * Math.PI) / 180);
  context.fillText(item.text, 0, 0);
  context.restore();
}

const MANY = 2000;
const painted = new WeakMap<Lines, OffscreenCanvas>();

/** Many lines are painted once and copied afterwards: leaving a token shows all lines again at once. */
function paintManyLines(context: Context, item: Lines): void {
  const { canvas } = context;
  let copy = painted.get(item);
  if (!copy || copy.width !== canvas.width || copy.height !== canvas.height) {
    copy = new OffscreenCanvas(canvas.width, canvas.height);
    const inner = copy.getContext("2d")!;
    inner.setTransform(context.getTransform());
    paintLines(inner, item);
    painted.set(item, copy);
  }
  context.save();
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.drawImage(copy, 0, 0);
  context.restore();
}

const SLICE = 1000; // lines painted between two pauses

/**
 * Paints the lines of an item beforehand, for a canvas of this size, with pauses in which the page can answer. The next painting of
 * the item only copies them. Stops when `current()` is false.
 */
export async function paintAhead(item: Lines, canvas: HTMLCanvasElement, current: () => boolean): Promise<void> {
  if (item.set.count <= MANY) return;
  const copy = new OffscreenCanvas(canvas.width, canvas.height);
  const context = copy.getContext("2d")!;
  const density = globalThis.devicePixelRatio || 1;
  context.setTransform(density, 0, 0, density, 0, 0);
  const pixel = new OffscreenCanvas(1, 1).getContext("2d")!;
  let waiting = 0;
  for (const count of lineChunks(context, item)) {
    waiting += count;
    if (waiting < SLICE) continue;
    waiting = 0;
    pixel.drawImage(copy, 0, 0); // makes the browser paint now, not at the next use
    await breathe();
    if (!current()) return;
  }
  painted.set(item, copy);
}

const CHUNK = 256; // one stroke of very many lines is slower than several of a few

function paintLines(context: Context, item: Lines): void {
  for (const _ of lineChunks(context, item));
}

/** Paints line after line, and says after each stroke how many it had. */
function* lineChunks(context: Context, item: Lines): Generator<number> {
  const bend = (item.x2 - item.x1) * 0.4;
  for (const batch of batches(item)) {
    context.strokeStyle = batch.colour;
    context.globalAlpha = batch.opacity;
    context.lineWidth = batch.width;
    for (let start = 0; start < batch.members.length; start += CHUNK) {
      const end = Math.min(batch.members.length, start + CHUNK);
      context.beginPath();
      for (let m = start; m < end; m++) {
        const [x1, y1, x2, y2] = ends(item, batch.members[m]);
        context.moveTo(x1, y1);
        if (item.curved) context.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2, y2);
        else context.lineTo(x2, y2);
      }
      context.stroke();
      yield end - start;
    }
    if (!item.arrows || batch.faint) continue;
    context.fillStyle = batch.colour;
    for (const i of batch.members) {
      const [, , x2, y2] = ends(item, i);
      paintArrowhead(context, arrowhead(x2 - 1, y2, x2, y2, batch.width));
    }
  }
}

export function bitmapCanvas(item: Pick<Bitmap, "cols" | "rows" | "pixels">): OffscreenCanvas {
  const canvas = new OffscreenCanvas(Math.max(1, item.cols), Math.max(1, item.rows));
  if (item.cols && item.rows) {
    const bytes = new Uint8ClampedArray(item.pixels.buffer as ArrayBuffer, item.pixels.byteOffset, item.pixels.byteLength);
    canvas.getContext("2d")!.putImageData(new ImageData(bytes, item.cols, item.rows), 0, 0);
  }
  return canvas;
}

function paintBitmap(context: Context, item: Bitmap): void {
  context.imageSmoothingEnabled = false;
  context.drawImage(bitmapCanvas(item), item.x, item.y, item.w, item.h);
}

let ruler: OffscreenCanvasRenderingContext2D | null = null;

export function measure(text: string, style: { size: number; mono?: boolean; bold?: boolean }): number {
  ruler ??= new OffscreenCanvas(1, 1).getContext("2d")!;
  ruler.font = font(style);
  return ruler.measureText(text).width;
}
