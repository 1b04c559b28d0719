// What a view is to the frame around it, and which views there are.

import type { Facts, Kind, Spec, State } from "./core/input/contract";
import type { Labels } from "./core/words/labels";
import type { Reader } from "./core/reading/reading";
import type { Theme } from "./core/theme";
import type { Entry, Scene } from "./marks/scene";
import type { SwitchOff, Toolbar, ToolbarHost } from "./controls/toolbar";
import { headView } from "./views/head/view";

/** What the frame offers a view. */
export interface Stage {
  spec: Spec;
  reader: Reader;
  labels: Labels;
  element: HTMLElement; // where the view puts itself
  /** The state as it was given, before defaults were filled in. */
  given: Partial<State>;
  state(): State;
  set(patch: Partial<State>): void;
  theme(): Theme;
  /** Height from the top of this element to where the window ends, less what stands below; null where the view shares its page. */
  room(from: HTMLElement): number | null;
  redraw(): void;
  /** For screen readers. */
  announce(text: string): void;
  /** null where no model answers. */
  switchOff: SwitchOff | null;
}

export interface DrawnLine {
  from: number;
  to: number;
  head: number;
  weight: number;
  opacity: number;
}
export interface DrawnThumbnail {
  layer: number;
  head: number;
  name: string;
  x: number;
  y: number;
  width: number;
  height: number;
  colour: string;
  /** Switched off; views without a model have none. */
  off?: boolean;
}
/** The lines of one head in a sheet of a layer. */
export interface DrawnLines {
  head: string;
  links: number;
  red: number;
}
export interface DrawnCells {
  head: number;
  name: string;
  rows: number;
  columns: number;
  window: { left: number; top: number; right: number; bottom: number };
  cell: number;
}
export interface DrawnKey {
  key: number;
  token: string;
  score: number;
  bias: number | null;
  weight: number;
  masked: boolean;
  contribution: number[];
}
export interface DrawnNumber {
  side: "query" | "key";
  position: number;
  value: number;
}

export interface DrawnLink {
  from: number;
  to: number;
  weight: number;
}
export interface DrawnSpace {
  model: string;
  head: string;
  points: number;
  facts: Facts;
  links: DrawnLink[];
  red: DrawnLink[];
  labelled: number[];
  hovered: number;
  path: number[]; // the layers that the chosen token's path goes through
  positions: number[][]; // px on the canvas, of the first 20,000 points
  sentence?: Summary | null;
}

/** What is on screen, in the terms of the data; browser tests read this instead of pixels. */
export interface Summary {
  kind: Kind;
  as?: "lines" | "heatmap";
  queries?: string[];
  keys?: string[];
  lines?: DrawnLine[];
  numbers?: DrawnNumber[];
  cells?: DrawnCells;
  pointed?: { row: number; col: number } | null;
  thumbnails?: DrawnThumbnail[];
  sheet?: DrawnLines[];
  /** Lines of text; the first and the last token in sight; tokens that are shaded. */
  rows?: number;
  seen?: { left: number; right: number };
  shaded?: number[];
  keys_shown?: DrawnKey[];
  spaces?: DrawnSpace[];
  /** Of a generation: the row that is lit, what its other keys have together, the shares of the parts, the grid of heads. */
  lit?: DrawnNumber[];
  rest?: number;
  written?: number;
  shares?: number[];
  grid?: number[][];
  playing?: boolean;
  /** Σ softmax × value over the keys shown. */
  output?: number[];
  expanded?: { q: number; k: number; product: number }[];
}

export interface ViewInstance {
  /** Draws what the state says; stops early once `current()` is false. */
  draw(current: () => boolean): Promise<void>;
  scene(): Scene | null;
  summary(): Summary;
  title(): string;
  caption(): string;
  /** What the colours of a saved picture stand for, where the picture itself does not say it. */
  legend?(): Entry[];
  /** True when the view has used the key. */
  key?(event: KeyboardEvent): boolean;
  /** Goes to the next match of what is searched for, or to the one before. */
  find?(by: 1 | -1): void;
  destroy(): void;
}

/** How a kind of view is drawn, and its controls where they are not the usual ones. */
export interface ViewKind {
  create(stage: Stage): ViewInstance;
  toolbar?(host: ToolbarHost): Toolbar;
  /** On a phone the picture stands above its controls. */
  pictureFirst?: boolean;
}

/** The head view comes with the core; the others are added by code of their own, which only pages that show them carry. */
const kinds = new Map<Kind, ViewKind>([["head", { create: headView, pictureFirst: true }]]);
const waiting = new Map<Kind, (() => void)[]>();

export function addView(kind: Kind, view: ViewKind): void {
  kinds.set(kind, view);
  for (const resolve of waiting.get(kind) ?? []) resolve();
  waiting.delete(kind);
}

export function viewKind(kind: Kind): ViewKind {
  const view = kinds.get(kind);
  if (!view) throw new Error(`The code of the ${kind} view is not on this page.`);
  return view;
}

/** Resolves as soon as the code of this kind of view is on the page. */
export function whenLoaded(kind: Kind): Promise<void> {
  if (kinds.has(kind)) return Promise.resolve();
  return new Promise((resolve) => waiting.set(kind, [...(waiting.get(kind) ?? []), resolve]));
}
