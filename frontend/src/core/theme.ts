// Light or dark, for canvas and CSS alike.

import type { State } from "./input/contract";

export interface Theme {
  dark: boolean;
  ground: string;
  text: string;
  muted: string;
  faint: string;
  hairline: string;
  accent: string;
  query: string;
  key: string;
  mark: string;
}

export const LIGHT: Theme = {
  dark: false,
  ground: "#ffffff",
  text: "#1a1d23",
  muted: "#5b6472",
  faint: "#f3f5f8",
  hairline: "#d9dde3",
  accent: "#2563eb",
  query: "#2563eb",
  key: "#ea580c",
  mark: "#fde68a",
};

export const DARK: Theme = {
  dark: true,
  ground: "#0f1115",
  text: "#e6e8ec",
  muted: "#9aa3b0",
  faint: "#191d24",
  hairline: "#2a2f37",
  accent: "#6b9bff",
  query: "#6b9bff",
  key: "#fb8a4c",
  mark: "#6b4e00",
};

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
