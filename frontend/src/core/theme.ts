// Light or dark, for canvas and CSS alike.

import { DARK_PAGE, LIGHT_PAGE, type PageColours } from "../generated/colours";
import type { State } from "./input/contract";

export type Theme = PageColours & { dark: boolean };

export const LIGHT: Theme = { dark: false, ...LIGHT_PAGE };

export const DARK: Theme = { dark: true, ...DARK_PAGE };

/** Notebooks mark their body as light or dark; where there is no mark, the setting of the system counts. */
export function hostIsDark(): boolean {
  for (const element of [document.body, document.documentElement]) {
    if (!element) continue;
    const jupyter = element.getAttribute("data-jp-theme-light");
    if (jupyter) return jupyter === "false";
    const code = element.getAttribute("data-vscode-theme-kind");
    if (code) return !code.includes("light");
    const named = element.getAttribute("data-theme") ?? element.getAttribute("theme");
    if (named === "dark" || named === "light") return named === "dark";
    if (element.classList.contains("dark")) return true;
  }
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

const THEME_ATTRIBUTES = ["class", "data-theme", "data-jp-theme-light", "data-vscode-theme-kind"];

/** Calls back whenever the system's or the host's theme may have changed; returns a function that ends this. */
export function watchTheme(changed: () => void): () => void {
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", changed);
  const host = new MutationObserver(changed);
  for (const element of [document.documentElement, document.body])
    if (element) host.observe(element, { attributes: true, attributeFilter: THEME_ATTRIBUTES });
  return () => {
    system.removeEventListener("change", changed);
    host.disconnect();
  };
}

export const themeOf = (choice: State["theme"]): Theme => ((choice === "system" ? hostIsDark() : choice === "dark") ? DARK : LIGHT);

export const SANS = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Noto Sans CJK JP", sans-serif';
export const MONO = 'ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", "Noto Sans Mono CJK JP", monospace';
