// The app's front: brings the core, and tells the page its theme, its language and its visitor. Draws nothing.

import { share, type Core } from "./streamlit-core";

declare const eyeline: Core;

share(eyeline);

interface Front {
  data: { language: string; visitor: string };
  parentElement: HTMLElement;
}

/** Any CSS colour as "#rrggbb". */
function hexOf(colour: string): string {
  const context = document.createElement("canvas").getContext("2d")!;
  context.fillStyle = colour;
  return context.fillStyle;
}

const isDark = (colour: string): boolean => Number.parseInt(hexOf(colour).slice(1, 3), 16) < 128;

export default function ({ data, parentElement }: Front): void {
  const ground = getComputedStyle(parentElement).getPropertyValue("--st-background-color").trim();
  if (ground) document.documentElement.dataset.theme = isDark(ground) ? "dark" : "light";
  document.documentElement.lang = data.language;
  if (document.cookie.includes("eyeline_visitor=")) return;
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store is missing in some browsers and on plain http
  document.cookie = `eyeline_visitor=${data.visitor}; path=/; max-age=31536000; SameSite=Strict`;
}
