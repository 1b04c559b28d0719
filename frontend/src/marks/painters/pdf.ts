// Writes a scene as a PDF of one page: lines and shapes as curves, text as text. Characters that the fonts of PDF lack are small pictures.

import { parse } from "../../core/colours";
import { arrowhead } from "../arrows";
import { batches, ends, FAINT_ARROW } from "../lines";
import { asBitmap, DIAMOND, pointsOf, type Shape, shapesOf } from "../scatter/clouds";
import { bins, arrowheadOf } from "../scatter/segments";
import type { Bitmap, Item, Lines, Rect, Scene, Segments, Text } from "../scene";
import { bytesOf, PdfFile } from "./pdf-file";
import { encoded, fontOf, FONTS, quoted, widthOf } from "./pdf-text";
import { MOST_SHAPES } from "./svg";

/** What only a browser can do: how wide a text is on screen, and its picture. */
export interface Letters {
  widthOf(item: Text): number;
  /** The text as pixels in its colour, its middle in the middle of the picture; w and h in px of the scene. */
  pictureOf(item: Text): Pick<Bitmap, "w" | "h" | "cols" | "rows" | "pixels">;
}

const POINTS = 0.75; // to a CSS pixel
const BASELINE = 0.35; // below the middle of a text, of its size
const ROUND = 0.5523; // a quarter of a circle as a Bézier curve

const n = (value: number): string => String(Math.round(value * 100) / 100);
const colour = (hex: string): string =>
  parse(hex.length === 4 ? hex.replace(/[^#]/g, "$&$&") : hex)
    .map((part) => n(part / 255))
    .join(" ");
const to = (x: number, y: number, operator: string): string => `${n(x)} ${n(y)} ${operator}`;
const corners = (points: number[]): string =>
  `${to(points[0], points[1], "m")} ${to(points[2], points[3], "l")} ${to(points[4], points[5], "l")} h`;

export async function toPdf(scene: Scene, letters: Letters): Promise<Blob> {
  const page = new Page(letters);
  const content = page.content(scene);
  const file = new PdfFile();
  const fonts = FONTS.map((name) => file.add(`<< /Type /Font /Subtype /Type1 /BaseFont /${name} /Encoding /WinAnsiEncoding >>`));
  const images: number[] = [];
  for (const bitmap of page.images) images.push(await addImage(file, bitmap));
  const stream = await file.addStream("", bytesOf(content));
  const named = (letter: string, numbers: number[]) => numbers.map((number, i) => `/${letter}${i} ${number} 0 R`).join(" ");
  const faded = [...page.opacities].map(([value, i]) => `/G${i} << /ca ${value} /CA ${value} >>`).join(" ");
  const resources = `<< /Font << ${named("F", fonts)} >> /XObject << ${named("I", images)} >> /ExtGState << ${faded} >> >>`;
  const box = `[0 0 ${n(scene.width * POINTS)} ${n(scene.height * POINTS)}]`;
  const pages = file.add(`<< /Type /Pages /Kids [${stream + 2} 0 R] /Count 1 >>`);
  file.add(`<< /Type /Page /Parent ${pages} 0 R /MediaBox ${box} /Contents ${stream} 0 R /Resources ${resources} >>`);
  return file.written(file.add(`<< /Type /Catalog /Pages ${pages} 0 R >>`));
}

/** Pixels as an image, with a mask where some let the ground through. */
async function addImage(file: PdfFile, { cols, rows, pixels }: Pick<Bitmap, "cols" | "rows" | "pixels">): Promise<number> {
  const rgb = new Uint8Array(3 * pixels.length);
  const alpha = new Uint8Array(pixels.length);
  pixels.forEach((pixel, i) => {
    rgb.set([pixel & 255, (pixel >>> 8) & 255, (pixel >>> 16) & 255], 3 * i);
    alpha[i] = pixel >>> 24;
  });
  const image = (space: string) =>
    `/Type /XObject /Subtype /Image /Width ${cols} /Height ${rows} /ColorSpace /${space} /BitsPerComponent 8`;
  const solid = alpha.every((value) => value === 255);
  const mask = solid ? "" : ` /SMask ${await file.addStream(image("DeviceGray"), alpha)} 0 R`;
  return file.addStream(image("DeviceRGB") + mask, rgb);
}

/** The operators of a page, and the images and opacities that they name. */
class Page {
  readonly images: Pick<Bitmap, "cols" | "rows" | "pixels">[] = [];
  readonly opacities = new Map<string, number>();

  constructor(private letters: Letters) {}

  content(scene: Scene): string {
    const flipped = `${POINTS} 0 0 -${POINTS} 0 ${n(scene.height * POINTS)} cm`; // y grows downwards, as on screen
    const ground = `${colour(scene.background)} rg 0 0 ${n(scene.width)} ${n(scene.height)} re f`;
    return [flipped, ground, ...scene.items.map((item) => this.item(item))].join("\n");
  }

  private item(item: Item): string {
    switch (item.type) {
      case "rect":
        return this.rect(item);
      case "text":
        return this.text(item);
      case "stroke":
        return `${this.pen(item.stroke, item.width, item.opacity)} ${to(item.x1, item.y1, "m")} ${to(item.x2, item.y2, "l")} S`;
      case "lines":
        return this.lines(item);
      case "bitmap":
        return item.cols && item.rows ? this.image(item, [item.w, 0, 0, -item.h, item.x, item.y + item.h]) : "";
      case "segments":
        return this.segments(item);
      case "clouds":
        if (pointsOf(item) > MOST_SHAPES) return this.item(asBitmap(item, 2));
        return shapesOf(item)
          .map(({ fill, opacity, shapes }) => `${this.brush(fill, opacity)}\n${shapes.map((shape) => `${outline(shape)} f`).join("\n")}`)
          .join("\n");
      case "clip":
        return [`q ${n(item.x)} ${n(item.y)} ${n(item.w)} ${n(item.h)} re W n`, ...item.items.map((inner) => this.item(inner)), "Q"].join(
          "\n",
        );
    }
  }

  private faded(opacity = 1): string {
    const value = n(opacity);
    if (!this.opacities.has(value)) this.opacities.set(value, this.opacities.size);
    return `/G${this.opacities.get(value)} gs`;
  }
  private brush = (fill: string, opacity?: number): string => `${this.faded(opacity)} ${colour(fill)} rg`;
  private pen = (stroke: string, width: number, opacity?: number): string => `${this.faded(opacity)} ${colour(stroke)} RG ${n(width)} w`;

  private rect(item: Rect): string {
    const path = item.radius
      ? rounded(item.x, item.y, item.w, item.h, Math.min(item.radius, item.w / 2, item.h / 2))
      : `${n(item.x)} ${n(item.y)} ${n(item.w)} ${n(item.h)} re`;
    const filled = item.fill ? `${this.brush(item.fill, item.opacity)} ${path} f` : "";
    return item.stroke ? `${filled} ${this.pen(item.stroke, 1, item.opacity)} ${path} S` : filled;
  }

  private text(item: Text): string {
    const turn = ((item.rotate ?? 0) * Math.PI) / 180;
    const [cos, sin] = [Math.cos(turn), Math.sin(turn)];
    const share = item.anchor === "middle" ? 0.5 : item.anchor === "end" ? 1 : 0;
    const at = (along: number, down: number) => [item.x + along * cos - down * sin, item.y + along * sin + down * cos];
    const bytes = encoded(item.text);
    if (bytes === null) {
      const picture = this.letters.pictureOf(item);
      const [x, y] = at(-share * picture.w, picture.h / 2);
      return this.image(picture, [picture.w * cos, picture.w * sin, picture.h * sin, -picture.h * cos, x, y], item.opacity);
    }
    const width = this.letters.widthOf(item);
    const [x, y] = at(-share * width, BASELINE * item.size);
    const own = widthOf(bytes, fontOf(item)) * item.size;
    const stretched = own > 0 && width > 0 ? (100 * width) / own : 100; // as wide as on screen
    const matrix = [cos, sin, sin, -cos, x, y].map((value) => String(Math.round(value * 1e4) / 1e4)).join(" ");
    const font = `/F${fontOf(item)} ${n(item.size)} Tf ${n(stretched)} Tz`;
    return `${this.brush(item.fill, item.opacity)} BT ${font} ${matrix} Tm ${quoted(bytes)} Tj ET`;
  }

  private image(bitmap: Pick<Bitmap, "cols" | "rows" | "pixels">, matrix: number[], opacity?: number): string {
    const index = this.images.push(bitmap) - 1;
    return `q ${this.faded(opacity)} ${matrix.map(n).join(" ")} cm /I${index} Do Q`;
  }

  private lines(item: Lines): string {
    const bend = (item.x2 - item.x1) * 0.4;
    const path = (i: number): string => {
      const [x1, y1, x2, y2] = ends(item, i);
      const curve = `${n(x1 + bend)} ${n(y1)} ${n(x2 - bend)} ${n(y2)} ${to(x2, y2, "c")}`;
      return `${to(x1, y1, "m")} ${item.curved ? curve : to(x2, y2, "l")}`;
    };
    const parts = batches(item).map((batch) => {
      const drawn = `${this.pen(batch.colour, batch.width, batch.opacity)}\n${batch.members.map(path).join("\n")} S`;
      if (!item.arrows || batch.opacity < FAINT_ARROW) return drawn;
      const arrowheads = batch.members.map((i) => {
        const [, , x2, y2] = ends(item, i);
        return `${corners(arrowhead(x2 - 1, y2, x2, y2, batch.width))} f`;
      });
      return `${drawn}\n${this.brush(batch.colour, batch.opacity)}\n${arrowheads.join("\n")}`;
    });
    return parts.join("\n");
  }

  private segments(item: Segments): string {
    const parts = bins(item).map(({ width, opacity, members }) => {
      const look = `${this.pen(item.colour, width(item.widest), opacity)} ${colour(item.colour)} rg`;
      const line = (i: number) =>
        `${to(item.ends[4 * i], item.ends[4 * i + 1], "m")} ${to(item.ends[4 * i + 2], item.ends[4 * i + 3], "l")} S`;
      const arrowheads = item.arrows ? members.map((i) => `${corners(arrowheadOf(item, i, width(item.widest)))} f`) : [];
      return [look, ...members.map(line), ...arrowheads].join("\n");
    });
    return `q 1 J\n${parts.join("\n")}\nQ`; // round ends
  }
}

function rounded(x: number, y: number, w: number, h: number, r: number): string {
  const k = r * (1 - ROUND);
  const [right, bottom] = [x + w, y + h];
  const curve = (...points: number[]) => `${points.map(n).join(" ")} c`;
  return [
    to(x + r, y, "m"),
    to(right - r, y, "l"),
    curve(right - k, y, right, y + k, right, y + r),
    to(right, bottom - r, "l"),
    curve(right, bottom - k, right - k, bottom, right - r, bottom),
    to(x + r, bottom, "l"),
    curve(x + k, bottom, x, bottom - k, x, bottom - r),
    to(x, y + r, "l"),
    curve(x, y + k, x + k, y, x + r, y),
    "h",
  ].join(" ");
}

function outline({ x, y, radius, diamond }: Shape): string {
  if (!diamond) return rounded(x - radius, y - radius, 2 * radius, 2 * radius, radius);
  const r = radius * DIAMOND;
  return `${to(x - r, y, "m")} ${to(x, y - r, "l")} ${to(x + r, y, "l")} ${to(x, y + r, "l")} h`;
}
