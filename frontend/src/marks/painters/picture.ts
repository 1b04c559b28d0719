// A scene as a picture: a file, made in the browser without a server, or an element that prints as sharp as paper is.

import type { Bitmap, Scene } from "../scene";
import { bitmapCanvas, paint } from "./canvas";
import { toSvg } from "./svg";

function pngOf(bitmap: Bitmap): string {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [bitmap.cols, bitmap.rows];
  canvas.getContext("2d")!.drawImage(bitmapCanvas(bitmap), 0, 0);
  return canvas.toDataURL("image/png");
}

/** Tokens are text in it, as in the file: toSvg escapes them. */
export function svgElement(scene: Scene): Element {
  return document.importNode(new DOMParser().parseFromString(toSvg(scene, pngOf), "image/svg+xml").documentElement, true);
}

export type Format = "svg" | "png";

async function picture(scene: Scene, format: Format): Promise<Blob> {
  if (format === "svg") return new Blob([toSvg(scene, pngOf)], { type: "image/svg+xml" });
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
