// Saves a scene as a file, in the browser, without a server.

import type { Bitmap, Scene, Text } from "../scene";
import { bitmapCanvas, measure, paint, paintItem } from "./canvas";
import { toPdf, type Letters } from "./pdf";
import { toSvg } from "./svg";

async function pngOf(bitmap: Bitmap): Promise<string> {
  const blob = await bitmapCanvas(bitmap).convertToBlob({ type: "image/png" });
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as string);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}

const FINE = 4; // pixels of a letter's picture to a px
const letters: Letters = {
  widthOf: (item) => measure(item.text, item),
  pictureOf(item) {
    const [w, h] = [Math.ceil(measure(item.text, item)) + 2, Math.ceil(1.6 * item.size)];
    const [cols, rows] = [w * FINE, h * FINE];
    const context = new OffscreenCanvas(cols, rows).getContext("2d")!;
    context.scale(FINE, FINE);
    const alone: Text = { ...item, x: w / 2, y: h / 2, anchor: "middle", rotate: 0, opacity: 1 };
    paintItem(context, alone);
    return { w, h, cols, rows, pixels: new Uint32Array(context.getImageData(0, 0, cols, rows).data.buffer) };
  },
};

export type Format = "svg" | "png" | "pdf";

export async function picture(scene: Scene, format: Format): Promise<Blob> {
  if (format === "svg") return new Blob([await toSvg(scene, pngOf)], { type: "image/svg+xml" });
  if (format === "pdf") return toPdf(scene, letters);
  const canvas = document.createElement("canvas");
  paint(canvas, scene, 2);
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The browser made no picture."))), "image/png"),
  );
}

export async function savePicture(scene: Scene, format: Format, name: string): Promise<void> {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await picture(scene, format));
  link.download = `${name.replace(/[^\w.-]+/g, "-")}.${format}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
