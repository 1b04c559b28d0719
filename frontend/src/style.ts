// The look of everything that is not drawn on a canvas. It lives in a shadow root: nothing leaks in or out.

import { DARK, LIGHT, MONO, SANS, type Theme } from "./core/theme";
import rules from "./style.css";

const NAMES = ["ground", "text", "muted", "faint", "hairline", "accent", "query", "key", "mark"] as const;

const variables = (theme: Theme): string =>
  [...NAMES.map((name) => `--${name}:${theme[name]}`), `color-scheme:${theme.dark ? "dark" : "light"}`].join(";");

export const CSS = `
.view{${variables(LIGHT)};--sans:${SANS};--mono:${MONO}}
.view[data-theme=dark]{${variables(DARK)}}
${rules}`;
