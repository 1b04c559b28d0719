// A table in words that belongs to a view: its title is shown, a click unfolds it.

import type { TableSpec } from "../core/input/contract";
import { el } from "./dom";

export function folded({ title, about, columns, rows }: TableSpec): HTMLElement {
  const line = (cells: string[], kind: "th" | "td") => el("tr", {}, ...cells.map((cell) => el(kind, {}, cell)));
  return el(
    "details",
    { class: "folded" },
    el("summary", {}, title),
    el("p", { class: "notice" }, about),
    el("table", {}, el("thead", {}, line(columns, "th")), el("tbody", {}, ...rows.map((row) => line(row, "td")))),
  );
}
