// A token as text items: continuation mark dimmed, special tokens in small grey capitals, never wider than its room.

import type { Theme } from "../core/theme";
import { pieces, shorten, visible } from "../core/words/tokens";
import { measure } from "./painters/canvas";
import type { Text } from "./scene";

export interface TokenStyle {
  size: number;
  room: number; // px
  special: boolean;
  fill?: string;
  bold?: boolean;
  anchor?: "start" | "end";
  rotate?: number;
}

const widths = new Map<string, number>();

export function tokenWidth(text: string, size: number, bold = false): number {
  const key = `${size}${bold}${text}`;
  let width = widths.get(key);
  if (width === undefined) {
    if (widths.size > 20_000) widths.clear();
    widths.set(key, (width = measure(text, { size, mono: true, bold })));
  }
  return width;
}

const smallCapitals = (size: number): number => Math.max(9, size - 2);

export function naturalWidth(token: string, special: boolean, size: number): number {
  return tokenWidth(special ? visible(token).toUpperCase() : visible(token), special ? smallCapitals(size) : size);
}

/** The longest form of the text that fits. */
export function fitted(text: string, room: number, size: number): string {
  if (tokenWidth(text, size) <= room) return text;
  const n = [...text].length;
  let [low, high] = [1, n];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (tokenWidth(shorten(text, middle), size) <= room) low = middle;
    else high = middle - 1;
  }
  return shorten(text, low);
}

export function tokenItems(token: string, x: number, y: number, style: TokenStyle, theme: Theme): Text[] {
  const size = style.special ? smallCapitals(style.size) : style.size;
  const base = { type: "text" as const, y, size, mono: true, anchor: style.anchor ?? "start", rotate: style.rotate, bold: style.bold };
  if (style.special)
    return [{ ...base, x, text: fitted(visible(token).toUpperCase(), style.room, size), fill: style.fill ?? theme.muted }];
  const { mark, body } = pieces(token);
  const fill = style.fill ?? theme.text;
  if (!mark || style.rotate) return [{ ...base, x, text: fitted(mark + body, style.room, size), fill }];
  const markWidth = tokenWidth(mark, size, style.bold);
  const shown = fitted(body, style.room - markWidth, size);
  const bodyWidth = tokenWidth(shown, size, style.bold);
  const [markX, bodyX] = style.anchor === "end" ? [x - bodyWidth, x] : [x, x + markWidth];
  return [
    { ...base, x: markX, text: mark, fill: theme.muted, opacity: 0.7 },
    { ...base, x: bodyX, text: shown, fill },
  ];
}
