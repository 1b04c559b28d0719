// Lines of a scatter, by weight: for the canvas and for SVG.

import { arrowhead, paintArrowhead, writeArrowhead } from "../arrows";
import type { Context } from "../painters/canvas";
import type { Segments } from "../scene";

const BINS = 10;

/** Segments of nearly the same weight, light ones first. */
function bins({ weights, opacity: most = 1 }: Segments): { width: (widest: number) => number; opacity: number; members: number[] }[] {
  const lists: number[][] = Array.from({ length: BINS }, () => []);
  weights.forEach((weight, i) => lists[Math.min(BINS - 1, Math.floor(Math.min(1, weight) * BINS))].push(i));
  return lists.flatMap((members, bin) => {
    const middle = (bin + 0.5) / BINS;
    return members.length
      ? [{ width: (widest: number) => 0.6 + (widest - 0.6) * middle, opacity: most * (0.2 + 0.6 * middle), members }]
      : [];
  });
}

/** Points cover the ends of the lines: the tip stops at their edge, this many px before the end. */
const POINT = 7;

/** The corners of the arrowhead of a segment. */
function arrowheadOf({ ends }: Segments, i: number, width: number): number[] {
  const [x1, y1, x2, y2] = ends.subarray(4 * i, 4 * i + 4);
  const distance = Math.hypot(x2 - x1, y2 - y1) || 1;
  const back = Math.min(POINT, distance / 3) / distance;
  return arrowhead(x1, y1, x2 - (x2 - x1) * back, y2 - (y2 - y1) * back, width);
}

export function paintSegments(context: Context, item: Segments): void {
  context.strokeStyle = item.colour;
  context.fillStyle = item.colour;
  context.lineCap = "round";
  for (const { width, opacity, members } of bins(item)) {
    context.lineWidth = width(item.widest);
    context.globalAlpha = opacity;
    for (const i of members) {
      context.beginPath(); // one path each: crossings of light lines must add up
      context.moveTo(item.ends[4 * i], item.ends[4 * i + 1]);
      context.lineTo(item.ends[4 * i + 2], item.ends[4 * i + 3]);
      context.stroke();
      if (item.arrows) paintArrowhead(context, arrowheadOf(item, i, width(item.widest)));
    }
  }
  context.lineCap = "butt";
}

export function writeSegments(item: Segments): string {
  const n = (value: number): string => String(Math.round(value * 100) / 100);
  return bins(item)
    .map(({ width, opacity, members }) => {
      const line = (i: number) =>
        `<path d="M${n(item.ends[4 * i])} ${n(item.ends[4 * i + 1])}L${n(item.ends[4 * i + 2])} ${n(item.ends[4 * i + 3])}"/>`;
      const look = `stroke="${item.colour}" stroke-linecap="round" stroke-width="${n(width(item.widest))}" stroke-opacity="${n(opacity)}"`;
      const lines = `<g fill="none" ${look}>${members.map(line).join("")}</g>`;
      if (!item.arrows) return lines;
      const arrowheads = members.map((i) => writeArrowhead(arrowheadOf(item, i, width(item.widest)))).join("");
      return `${lines}<path d="${arrowheads}" fill="${item.colour}" fill-opacity="${n(opacity)}"/>`;
    })
    .join("");
}
