// Scatters on a canvas (by WebGL, or pixel by pixel where it is missing) and as SVG.

import { format } from "../../core/colours";
import { bitmapCanvas, type Context } from "../painters/canvas";
import { DEPTH, LARGER, depthOf, drawingOrder, isLarge, placed } from "./cloud";
import { glPicture } from "./cloud-gl";
import { DUST, pixelsOf } from "./cloud-pixels";
import type { Bitmap, Clouds } from "../scene";

const painted = new WeakMap<Clouds, OffscreenCanvas>();

/** Painted once; the next time (the pointer moved, the points did not) the picture is only laid down again. */
export function paintClouds(context: Context, item: Clouds): void {
  const density = context.getTransform().a;
  const [width, height] = [Math.max(1, Math.round(item.w * density)), Math.max(1, Math.round(item.h * density))];
  let picture = painted.get(item);
  if (picture?.width !== width || picture.height !== height) painted.set(item, (picture = pictureOf(item, width, height, density)));
  context.drawImage(picture, item.x, item.y, item.w, item.h);
}

/** Tiny points are counted rather than painted: 144 heads of 20,000 take a tenth of what software WebGL needs. */
function pictureOf(item: Clouds, width: number, height: number, density: number): OffscreenCanvas {
  const plots = within(item);
  const tiny = plots.every((plot) => plot.size * density < DUST);
  const drawn = tiny ? null : glPicture(plots, width, height, density);
  if (!drawn) return bitmapCanvas({ cols: width, rows: height, pixels: pixelsOf(plots, width, height, density) });
  const copy = new OffscreenCanvas(width, height);
  copy.getContext("2d")!.drawImage(drawn, 0, 0);
  return copy;
}

const within = (item: Clouds) => item.plots.map((plot) => ({ ...plot, x: plot.x - item.x, y: plot.y - item.y }));

export const pointsOf = (item: Clouds): number => item.plots.reduce((sum, plot) => sum + plot.cloud.count, 0);

export function asBitmap(item: Clouds, density: number): Bitmap {
  const [cols, rows] = [Math.max(1, Math.round(item.w * density)), Math.max(1, Math.round(item.h * density))];
  return { type: "bitmap", x: item.x, y: item.y, w: item.w, h: item.h, cols, rows, pixels: pixelsOf(within(item), cols, rows, density) };
}

const n = (value: number): string => String(Math.round(value * 10) / 10);

interface Shape {
  x: number;
  y: number;
  radius: number;
  diamond: boolean;
}
/** Points of one colour. */
interface Shapes {
  fill: string;
  opacity: number;
  shapes: Shape[];
}

/** Half the diagonal of a diamond that has the area of a disc of radius 1. */
const DIAMOND = 1.253;

/** Queries as circles, keys as diamonds, by colour, in the order in which they are drawn; only those inside the box. */
function shapesOf(item: Clouds): Shapes[] {
  const parts: Shapes[] = [];
  for (const { cloud, camera, colours, size, x, y, w, h } of item.plots) {
    const at = placed(cloud, camera);
    const order = drawingOrder(cloud.count);
    for (const large of [false, true]) {
      const byColour = new Map<number, Shape[]>();
      for (const i of order) {
        const [px, py] = [at[2 * i], at[2 * i + 1]];
        if (isLarge(colours[i]) !== large || !(px >= 0 && px <= w && py >= 0 && py <= h)) continue;
        const radius = (size / 2) * (large ? LARGER : 1) * (1 + DEPTH * depthOf(cloud, camera, i));
        const list = byColour.get(colours[i]) ?? byColour.set(colours[i], []).get(colours[i])!;
        list.push({ x: x + px, y: y + py, radius, diamond: i >= cloud.keysFrom });
      }
      for (const [colour, shapes] of byColour) {
        const fill = format([colour & 255, (colour >>> 8) & 255, (colour >>> 16) & 255]);
        parts.push({ fill, opacity: (colour >>> 24) / 255, shapes });
      }
    }
  }
  return parts;
}

export const writeClouds = (item: Clouds): string =>
  shapesOf(item)
    .map(({ fill, opacity, shapes }) => `<g fill="${fill}" fill-opacity="${n(opacity)}">${shapes.map(writeShape).join("")}</g>`)
    .join("");

function writeShape({ x, y, radius, diamond }: Shape): string {
  if (!diamond) return `<circle cx="${n(x)}" cy="${n(y)}" r="${n(radius)}"/>`;
  const r = radius * DIAMOND;
  return `<path d="M${n(x - r)} ${n(y)}L${n(x)} ${n(y - r)}L${n(x + r)} ${n(y)}L${n(x)} ${n(y + r)}z"/>`;
}
