// Writes a scene as SVG. Tokens are data: everything that came from outside is escaped.

import { MONO, SANS } from "../../core/theme";
import { asBitmap, pointsOf, writeClouds } from "../scatter/clouds";
import { arrowhead, writeArrowhead } from "../arrows";
import { batches, ends } from "../lines";
import { writeSegments } from "../scatter/segments";
import type { Bitmap, Curve, Item, Lines, Scene, Text } from "../scene";

/** Turns pixels into the address of a PNG; passed in, since only a browser can. */
export type ToPng = (bitmap: Bitmap) => string;

export function escapeXml(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd") // XML allows no other characters
    .replace(/[&<>"']/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" })[c]!);
}

/** More points than this are written as pixels: a file of millions of shapes opens nowhere. */
const MOST_SHAPES = 60_000;

const n = (value: number): string => String(Math.round(value * 100) / 100);
const box = ({ x, y, w, h }: { x: number; y: number; w: number; h: number }): string =>
  `x="${n(x)}" y="${n(y)}" width="${n(w)}" height="${n(h)}"`;
const between = ({ x1, y1, x2, y2 }: { x1: number; y1: number; x2: number; y2: number }): string =>
  `x1="${n(x1)}" y1="${n(y1)}" x2="${n(x2)}" y2="${n(y2)}"`;
const rounded = (radius: number | undefined): string => (radius ? ` rx="${n(radius)}"` : "");
const outlined = (stroke: string | undefined): string => (stroke ? ` stroke="${stroke}"` : "");
const faded = (opacity: number | undefined): string => (opacity === undefined || opacity >= 1 ? "" : ` opacity="${n(opacity)}"`);

export function toSvg(scene: Scene, toPng: ToPng): string {
  let clips = 0;
  const write = (item: Item): string => {
    switch (item.type) {
      case "rect":
        return `<rect ${box(item)}${rounded(item.radius)} fill="${item.fill ?? "none"}"${outlined(item.stroke)}${faded(item.opacity)}/>`;
      case "text":
        return writeText(item);
      case "stroke":
        return `<line ${between(item)} stroke="${item.stroke}" stroke-width="${n(item.width)}"${faded(item.opacity)}/>`;
      case "curve":
        return writeCurve(item);
      case "lines":
        return writeLines(item);
      case "bitmap":
        return `<image ${box(item)} preserveAspectRatio="none" style="image-rendering:pixelated" href="${toPng(item)}"/>`;
      case "segments":
        return writeSegments(item);
      case "clouds":
        return pointsOf(item) > MOST_SHAPES ? write({ ...asBitmap(item, 2) }) : writeClouds(item);
      case "clip": {
        const id = `clip${clips++}`;
        return `<clipPath id="${id}"><rect ${box(item)}/></clipPath><g clip-path="url(#${id})">${item.items.map(write).join("")}</g>`;
      }
    }
  };
  const [width, height] = [n(scene.width), n(scene.height)];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    `<rect width="100%" height="100%" fill="${scene.background}"/>`,
    ...scene.items.map(write),
    "</svg>",
  ].join("\n");
}

function writeCurve({ d, stroke, width, dash, opacity }: Curve): string {
  const [x1, y1, ...rest] = d.map(n);
  const dashed = dash ? ` stroke-dasharray="${dash.map(n).join(" ")}"` : "";
  return `<path d="M${x1} ${y1}C${rest.join(" ")}" fill="none" stroke="${stroke}" stroke-width="${n(width)}"${dashed}${faded(opacity)}/>`;
}

function writeText(item: Text): string {
  const turn = item.rotate ? ` transform="rotate(${n(item.rotate)} ${n(item.x)} ${n(item.y)})"` : "";
  const anchor = item.anchor && item.anchor !== "start" ? ` text-anchor="${item.anchor}"` : "";
  const bold = item.bold ? ' font-weight="600"' : "";
  const family = escapeXml(item.mono ? MONO : SANS);
  const font = `font-size="${n(item.size)}" font-family="${family}"${bold}`;
  const look = `fill="${item.fill}"${anchor}${turn}${faded(item.opacity)} xml:space="preserve" style="unicode-bidi:isolate"`;
  return `<text x="${n(item.x)}" y="${n(item.y)}" dominant-baseline="central" ${font} ${look}>${escapeXml(item.text)}</text>`;
}

function writeLines(item: Lines): string {
  const bend = (item.x2 - item.x1) * 0.4;
  const path = (i: number): string => {
    const [x1, y1, x2, y2] = ends(item, i);
    return item.curved
      ? `M${n(x1)} ${n(y1)}C${n(x1 + bend)} ${n(y1)} ${n(x2 - bend)} ${n(y2)} ${n(x2)} ${n(y2)}`
      : `M${n(x1)} ${n(y1)}L${n(x2)} ${n(y2)}`;
  };
  return batches(item)
    .map((b) => {
      const look = `stroke="${b.colour}" stroke-opacity="${n(b.opacity)}" stroke-width="${n(b.width)}"`;
      const drawn = `<path d="${b.members.map(path).join("")}" fill="none" ${look}/>`;
      if (!item.arrows || b.faint) return drawn;
      const arrowheads = b.members.map((i) => {
        const [, , x2, y2] = ends(item, i);
        return writeArrowhead(arrowhead(x2 - 1, y2, x2, y2, b.width));
      });
      return `${drawn}<path d="${arrowheads.join("")}" fill="${b.colour}" fill-opacity="${n(b.opacity)}"/>`;
    })
    .join("");
}
