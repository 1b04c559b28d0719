// Saves a scene as a file, in the browser, without asking anyone.

import { bitmapCanvas, paint } from "./canvas";
import { pdfOf } from "./pdf";
import type { Bitmap, Scene } from "../scene";
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

export type Format = "svg" | "png" | "pdf";

export async function picture(scene: Scene, format: Format): Promise<Blob> {
  if (format === "svg") return new Blob([await toSvg(scene, pngOf)], { type: "image/svg+xml" });
  const canvas = document.createElement("canvas");
  paint(canvas, scene, format === "pdf" ? 3 : 2);
  if (format === "pdf") {
    const pixels = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height);
    return pdfOf(pixels, scene.width, scene.height);
  }
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
