// One head, large: points, lines between them, labels, legend and how far it can be trusted.

import type { Facts, State } from "../../../core/input/contract";
import type { Labels } from "../../../core/words/labels";
import type { SpaceData } from "../../../core/reading/space";
import type { Theme } from "../../../core/theme";
import type { Clouds, Item, Scene, Segments } from "../../../marks/scene";
import type { Attention, Colouring } from "./colouring";
import { labelItems, type Wanted } from "./labels";
import { factPhrases, legendRows, wrapped } from "./legend";
import { type Link, visibleRed } from "./links";
import { pathItems, type PathPoint } from "./path";

export interface PlotBox {
  x: number;
  y: number;
  w: number;
  h: number;
}

export interface PlotInput {
  data: SpaceData;
  state: State;
  theme: Theme;
  labels: Labels;
  colouring: Colouring;
  attention: Attention;
  clouds: Clouds;
  at: Float32Array;
  facts: Facts;
  heading: string;
  width: number;
  height: number;
  box: PlotBox;
  links: Link[];
  red: Link[];
  chosen: number | null;
  hovered: number;
  lasso: number[];
  size: number;
  /** Of spaces with the same axes for all layers: where the chosen token's key lies in each layer, and the layers' numbers. */
  path: PathPoint[];
}

const LINE = 16;

/** Room for the head's name and facts above, for the legend below. */
export function plotBox(
  width: number,
  height: number,
  facts: Facts,
  colouring: Colouring,
  values: boolean,
  byKind: boolean,
  theme: Theme,
  labels: Labels,
): PlotBox {
  const top = LINE * (1 + wrapped(factPhrases(facts, labels), width - 40).length) + 8;
  const bottom = legendRows(colouring.legend, values, byKind, width, theme, labels).height + 6;
  return { x: 0, y: top, w: width, h: Math.max(120, height - top - bottom) };
}

/** Point sizes and opacity that suit the number of points: few are large and solid, many small and thin. */
export function pointLook(count: number, box: { w: number; h: number }, k: number): { size: number; opacity: number } {
  const room = Math.sqrt((box.w * box.h) / Math.max(1, count));
  const size = Math.max(3.2, Math.min(8, room * 0.55)) * Math.min(1.8, k ** 0.22);
  return { size, opacity: Math.max(0.4, Math.min(0.8, room / 9)) };
}

/** More lines than this have no arrowheads: they would hide the points. */
const MOST_ARROWS = 400;

export function segments(links: Link[], at: Float32Array, box: PlotBox, colour: string, widest: number): Segments {
  const ends = new Float32Array(4 * links.length);
  links.forEach(({ from, to }, i) =>
    ends.set([box.x + at[2 * from], box.y + at[2 * from + 1], box.x + at[2 * to], box.y + at[2 * to + 1]], 4 * i),
  );
  return {
    type: "segments",
    ends,
    weights: Float32Array.from(links, (link) => link.weight),
    colour,
    widest,
    arrows: links.length <= MOST_ARROWS,
  };
}

/** Who gets a label, the most important first. */
function wanted({ data, state, attention, links, red: pairs, chosen, hovered, at, box }: PlotInput): Wanted[] {
  const list: Wanted[] = [];
  for (const point of [chosen, hovered >= 0 ? hovered : null]) if (point !== null) list.push({ point, bold: true });
  const from = chosen ?? (hovered >= 0 ? hovered : null);
  for (const { from: a, to: b } of pairs) list.push({ point: a }, { point: b });
  if (state.links !== "best" || state.text !== null)
    for (const link of links) {
      const numbered = link.from === from || link.to === from;
      for (const point of [link.from, link.to])
        if (point !== from) list.push({ point, number: numbered ? link.weight.toFixed(3) : undefined });
    }
  const seen = (i: number) => at[2 * i] >= 0 && at[2 * i] <= box.w && at[2 * i + 1] >= 0 && at[2 * i + 1] <= box.h;
  let near = 0;
  const zoomed: Wanted[] = [];
  for (let i = 0; i < data.count; i++) {
    if (!seen(i)) continue;
    if (attention.some && (state.find.trim() ? attention.isIn(i) && attention.isMatch(i) : attention.isIn(i))) list.push({ point: i });
    else if (++near <= 150) zoomed.push({ point: i });
  }
  return near <= 150 && !attention.some ? [...list, ...zoomed] : list;
}

/** The edges of the cube that the points lie in, so that a turn of the picture can be seen. */
function cube(clouds: Clouds, box: PlotBox, theme: Theme): Item[] {
  const [{ cloud, camera }] = clouds.plots;
  if (cloud.dims === 2) return [];
  const at = (corner: number, row: number[]) => row[0] * (corner & 1) + row[1] * ((corner >> 1) & 1) + row[2] * (corner >> 2) + row[3];
  const pointOf = (corner: number): [number, number] => [box.x + at(corner, camera.x), box.y + at(corner, camera.y)];
  return [0, 1, 2, 3, 4, 5, 6, 7].flatMap((a) =>
    [1, 2, 4].flatMap((bit): Item[] => {
      if (a & bit) return [];
      const [[x1, y1], [x2, y2]] = [pointOf(a), pointOf(a | bit)];
      return [{ type: "stroke", x1, y1, x2, y2, stroke: theme.hairline, width: 1 }];
    }),
  );
}

export function plotScene(input: PlotInput): { scene: Scene; labelled: number[] } {
  const { data, theme, labels, colouring, clouds, at, box, width, height, facts, chosen, hovered, links, lasso, size } = input;
  const { items: names, labelled } = labelItems(data, wanted(input), at, box, size * 0.9 + 3, theme);
  const ring = (point: number, stroke: string): Item => {
    const r = size * 1.1 + 2;
    return { type: "rect", x: box.x + at[2 * point] - r, y: box.y + at[2 * point + 1] - r, w: 2 * r, h: 2 * r, radius: r, stroke };
  };
  const many = links.length > 60; // then they go below the points, fainter the more there are
  const lines = links.length
    ? [
        {
          ...segments(links, at, box, theme.link, input.state.links === "chosen" ? 5 : many ? 1.6 : 3),
          opacity: many ? Math.max(0.25, (60 / links.length) ** 0.35) : 1,
        },
      ]
    : [];
  const inside: Item[] = [...cube(clouds, box, theme), ...(many ? [...lines, clouds] : [clouds, ...lines])];
  if (input.red.length) inside.push(segments(input.red.map(visibleRed), at, box, theme.pair, 4));
  for (let i = 0; i + 3 < lasso.length; i += 2)
    inside.push({
      type: "stroke",
      x1: box.x + lasso[i],
      y1: box.y + lasso[i + 1],
      x2: box.x + lasso[i + 2],
      y2: box.y + lasso[i + 3],
      stroke: theme.accent,
      width: 1.5,
    });
  inside.push(...pathItems(input.path, box, theme), ...names);
  if (chosen !== null) inside.push(ring(chosen, theme.text));
  if (hovered >= 0 && hovered !== chosen) inside.push(ring(hovered, theme.accent));
  const legend = legendRows(colouring.legend, data.values, input.state.colour_points === "kind", width, theme, labels);
  const phrases = wrapped(factPhrases(facts, labels), width - 40);
  return {
    labelled,
    scene: {
      width,
      height,
      background: theme.ground,
      items: [
        { type: "clip", x: box.x, y: box.y, w: box.w, h: box.h, items: inside },
        { type: "text", x: 0, y: 8, text: input.heading, size: 14, bold: true, fill: theme.text },
        ...phrases.map((text, i): Item => ({ type: "text", x: 0, y: 8 + LINE * (i + 1), text, size: 12, fill: theme.muted })),
        ...legend.items(0, height - legend.height),
      ],
    },
  };
}
