// The lines of one head in a sheet of a layer: from queries to keys, and the pairs that a reader named, in red.

import type { State } from "../../../core/input/contract";
import type { SpaceData, Tops } from "../../../core/reading/space";
import type { Theme } from "../../../core/theme";
import { placed, type Plot } from "../../../marks/scatter/cloud";
import type { Item } from "../../../marks/scene";
import { linksFor, pairLinks, visibleRed } from "./links";
import { segments } from "./scene";

export function sheetLines(
  data: SpaceData,
  tops: Tops,
  plot: Plot,
  state: State,
  isIn: (point: number) => boolean,
  theme: Theme,
): { items: Item[]; links: number; red: number } {
  const at = placed(plot.cloud, plot.camera);
  const links =
    state.links === "top"
      ? linksFor(data, tops, { ...state, text: null }, state.point, isIn, [])
      : linksFor(data, tops, state, state.point, isIn, []);
  const red = pairLinks(data, tops, state.pairs, state.text, state.every_pair).map(visibleRed);
  const items: Item[] = [];
  if (links.length)
    items.push({
      ...segments(links, at, plot, theme.link, 1.4),
      opacity: Math.max(0.25, Math.min(1, (60 / links.length) ** 0.35)),
    });
  if (red.length) items.push(segments(red, at, plot, theme.pair, 3));
  for (const point of new Set(red.flatMap(({ from, to }) => [from, to])))
    items.push({
      type: "text",
      x: plot.x + at[2 * point] + 4,
      y: plot.y + at[2 * point + 1] - 7,
      text: data.tokenOf(point),
      size: 11,
      mono: true,
      fill: theme.pair,
    });
  return {
    items: items.length ? [{ type: "clip", x: plot.x, y: plot.y, w: plot.w, h: plot.h, items }] : [],
    links: links.length,
    red: red.length,
  };
}
