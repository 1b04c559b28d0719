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

/** Queries as circles, keys as diamonds; only those inside the box. */
export function writeClouds(item: Clouds): string {
  const parts: string[] = [];
  for (const { cloud, camera, colours, size, x, y, w, h } of item.plots) {
    const at = placed(cloud, camera);
    const order = drawingOrder(cloud.count);
    for (const large of [false, true]) {
      const byColour = new Map<number, string[]>();
      for (const i of order) {
        const [px, py] = [at[2 * i], at[2 * i + 1]];
        if (isLarge(colours[i]) !== large || !(px >= 0 && px <= w && py >= 0 && py <= h)) continue;
        const radius = (size / 2) * (large ? LARGER : 1) * (1 + DEPTH * depthOf(cloud, camera, i));
        const list = byColour.get(colours[i]) ?? byColour.set(colours[i], []).get(colours[i])!;
        list.push(shape(x + px, y + py, radius, i >= cloud.keysFrom));
      }
      for (const [colour, shapes] of byColour) {
        const fill = format([colour & 255, (colour >>> 8) & 255, (colour >>> 16) & 255]);
        parts.push(`<g fill="${fill}" fill-opacity="${n((colour >>> 24) / 255)}">${shapes.join("")}</g>`);
      }
    }
  }
  return parts.join("");
}

function shape(x: number, y: number, radius: number, diamond: boolean): string {
  if (!diamond) return `<circle cx="${n(x)}" cy="${n(y)}" r="${n(radius)}"/>`;
  const r = radius * 1.253; // a diamond of the disc's area
  return `<path d="M${n(x - r)} ${n(y)}L${n(x)} ${n(y - r)}L${n(x + r)} ${n(y)}L${n(x)} ${n(y + r)}z"/>`;
}
