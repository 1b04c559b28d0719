// The app's front: brings the core, and tells the page its theme, its language and its visitor. Draws nothing.

import { share, type Core } from "./streamlit-core";

declare const eyeline: Core;

share(eyeline);

interface Front {
  data: { language: string; visitor: string };
  parentElement: HTMLElement;
  setStateValue: (name: string, value: unknown) => void;
}

/** Milliseconds after a change of the system's theme at which the page is looked at: Streamlit changes its colours a little later. */
const LOOKS = [50, 400, 1500];
let front: Front | null = null;
/** The theme in which Python has drawn the figures. */
let drawnIn: string | undefined;

/** Any CSS colour as "#rrggbb". */
function hexOf(colour: string): string {
  const context = document.createElement("canvas").getContext("2d")!;
  context.fillStyle = colour;
  return context.fillStyle;
}

const isDark = (colour: string): boolean => Number.parseInt(hexOf(colour).slice(1, 3), 16) < 128;

/** Note the page's theme where the views look for it. */
function noteTheme(element: HTMLElement): void {
  const ground = getComputedStyle(element).getPropertyValue("--st-background-color").trim();
  if (ground) document.documentElement.dataset.theme = isDark(ground) ? "dark" : "light";
}

/** Figures are drawn in Python, in the colours of the theme: a page whose theme has changed is drawn again. */
function followTheme(): void {
  if (!front?.parentElement.isConnected) return;
  noteTheme(front.parentElement);
  const { theme } = document.documentElement.dataset;
  if (theme === drawnIn) return;
  drawnIn = theme;
  front.setStateValue("theme", theme);
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const wait of LOOKS) setTimeout(followTheme, wait);
});

export default function (component: Front): void {
  const { data, parentElement } = component;
  front = component;
  noteTheme(parentElement);
  drawnIn ??= document.documentElement.dataset.theme;
  document.documentElement.lang = data.language;
  if (document.cookie.includes("eyeline_visitor=")) return;
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store is missing in some browsers and on plain http
  document.cookie = `eyeline_visitor=${data.visitor}; path=/; max-age=31536000; SameSite=Strict`;
}
