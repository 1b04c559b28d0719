// What the colours of a grid of heads stand for, below it.

import type { HeadGrid } from "../core/input/contract";
import type { Theme } from "../core/theme";
import { legendEntries } from "../marks/heads-grid";
import { el } from "./dom";

/** The squares with their words; `hollow`: words for estimates and for what was measured, where the grid has both. */
export function legendOf(grid: HeadGrid, theme: Theme, hollow?: { estimate: string; measured: string }): HTMLElement[] {
  const entry = (colour: string, name: string, isHollow = false) => {
    const square = el("span", { class: isHollow ? "swatch hollow" : "swatch" });
    square.style.setProperty("--colour", colour);
    return el("span", {}, square, name);
  };
  const isPartial = grid.measured?.some((row) => row.includes(0));
  return [
    ...legendEntries(grid, theme).map(({ colour, name }) => entry(colour, name)),
    ...(hollow && isPartial ? [entry(theme.muted, hollow.estimate, true), entry(theme.muted, hollow.measured)] : []),
  ];
}
