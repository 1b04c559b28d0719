// Writes a scene as SVG. Tokens are data: everything that came from outside is escaped.

import { MONO, SANS } from "../core/theme";
import { asBitmap, pointsOf, writeClouds } from "./clouds";
import { batches, ends } from "./lines";
import { writeSegments } from "./segments";
import type { Bitmap, Item, Lines, Scene, Text } from "./scene";

/** Turns pixels into the address of a PNG; passed in, since only a browser can. */
export type ToPng = (bitmap: Bitmap) => Promise<string>;

export function escape(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd") // XML allows no other characters
    .replace(/[&<>"']/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" })[c]!);
}

/** More points than this are written as pixels: a file of millions of shapes opens nowhere. */
const MOST_SHAPES = 60_000;

const n = (value: number): string => String(Math.round(value * 100) / 100);
const faded = (opacity: number | undefined): string => (opacity === undefined || opacity >= 1 ? "" : ` opacity="${n(opacity)}"`);

export async function toSvg(scene: Scene, toPng: ToPng): Promise<string> {
  let clips = 0;
  const write = async (item: Item): Promise<string> => {
    switch (item.type) {
      case "rect":
        return `<rect x="${n(item.x)}" y="${n(item.y)}" width="${n(item.w)}" height="${n(item.h)}"${item.radius ? ` rx="${n(item.radius)}"` : ""} fill="${item.fill ?? "none"}"${item.stroke ? ` stroke="${item.stroke}"` : ""}${faded(item.opacity)}/>`;
      case "text":
        return writeText(item);
      case "stroke":
        return `<line x1="${n(item.x1)}" y1="${n(item.y1)}" x2="${n(item.x2)}" y2="${n(item.y2)}" stroke="${item.stroke}" stroke-width="${n(item.width)}"${faded(item.opacity)}/>`;
      case "lines":
        return writeLines(item);
      case "bitmap":
        return `<image x="${n(item.x)}" y="${n(item.y)}" width="${n(item.w)}" height="${n(item.h)}" preserveAspectRatio="none" style="image-rendering:pixelated" href="${await toPng(item)}"/>`;
      case "segments":
        return writeSegments(item);
      case "clouds":
        return pointsOf(item) > MOST_SHAPES ? write({ ...asBitmap(item, 2) }) : writeClouds(item);
      case "clip": {
        const id = `clip${clips++}`;
        const inner = await Promise.all(item.items.map(write));
        return `<clipPath id="${id}"><rect x="${n(item.x)}" y="${n(item.y)}" width="${n(item.w)}" height="${n(item.h)}"/></clipPath><g clip-path="url(#${id})">${inner.join("")}</g>`;
      }
    }
  };
  const body = await Promise.all(scene.items.map(write));
  const [width, height] = [n(scene.width), n(scene.height)];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    `<rect width="100%" height="100%" fill="${scene.background}"/>`,
    ...body,
    "</svg>",
  ].join("\n");
}

function writeText(item: Text): string {
  const turn = item.rotate ? ` transform="rotate(${n(item.rotate)} ${n(item.x)} ${n(item.y)})"` : "";
  const anchor = item.anchor && item.anchor !== "start" ? ` text-anchor="${item.anchor}"` : "";
  const bold = item.bold ? ' font-weight="600"' : "";
  const family = escape(item.mono ? MONO : SANS);
  return `<text x="${n(item.x)}" y="${n(item.y)}" dominant-baseline="central" font-size="${n(item.size)}" font-family="${family}" fill="${item.fill}"${anchor}${bold}${turn}${faded(item.opacity)} xml:space="preserve" style="unicode-bidi:isolate">${escape(item.text)}</text>`;
}

function writeLines(item: Lines): string {
  const bend = (item.x2 - item.x1) * 0.4;
  const path = (i: number): string => {
    const [x1, y1, x2, y2] = ends(item, i);
    return item.curved ? `M${n(x1)} ${n(y1)}C${n(x1 + bend)} ${n(y1)} ${n(x2 - bend)} ${n(y2)} ${n(x2)} ${n(y2)}` : `M${n(x1)} ${n(y1)}L${n(x2)} ${n(y2)}`;
  };
  return batches(item)
    .map((b) => `<path d="${b.members.map(path).join("")}" fill="none" stroke="${b.colour}" stroke-opacity="${n(b.opacity)}" stroke-width="${n(b.width)}"/>`)
    .join("");
}
