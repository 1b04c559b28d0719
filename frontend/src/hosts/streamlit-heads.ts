// The heads in a figure of the app: a click on one is sent to Python, and the chosen one has a ring around each of its points and cells.
// The figure itself never changes for this: Plotly would take a fifth of a second to draw it again, and the reader waits for the answer.

import { readHead } from "../generated/heads";

type Head = [layer: number, head: number, stack: string];

interface Component {
  data: [lit: Head | null, ground: string, ink: string]; // the colours of the page, and of the text on it
  parentElement: HTMLElement;
  setTriggerValue: (name: string, value: unknown) => void;
}

/** What was clicked: a point that carries a head, or a cell of a grid whose text is the label of one. */
interface Clicked {
  customdata?: unknown;
  text?: unknown;
  data?: { type?: string };
}

/** What Plotly keeps in the element of a figure. */
interface Plot extends HTMLElement {
  on: (event: "plotly_click" | "plotly_afterplot", listener: (event?: { points: Clicked[]; event?: MouseEvent }) => void) => void;
}

/** What Plotly keeps in the elements of a trace and of a point: its index in the trace, and its radius in pixels. */
interface Trace {
  customdata?: unknown[];
  hoverinfo?: string;
  marker?: { opacity?: unknown };
}
type TraceGroup = SVGGElement & { __data__?: { trace?: Trace }[] };
type PointPath = SVGPathElement & { __data__?: { i: number; mrc?: number } };

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

const SVG = "http://www.w3.org/2000/svg";
const RINGS = "eyeline-rings";
/** Pixels between a dot and its ring; widths of the ring's two lines, the page colour below and the ink above, to show on any colour. */
const MARGIN = 4;
const BELOW = 5;
const ABOVE = 2;
/** Pixels: of a dot for which Plotly keeps no radius. */
const RADIUS = 4;
/** Pixels: a click this near to a dot is meant for it, also where a line lies over the dot. */
const NEAR = 6;

/** The head of a point; null where the point stands for none. */
function headOf(customdata: unknown): Head | null {
  if (!Array.isArray(customdata) || customdata.length < 2) return null;
  const [layer, head, stack] = customdata as unknown[];
  return [Number(layer), Number(head), String(stack ?? "")];
}

function clickedHead({ customdata, text, data }: Clicked): Head | null {
  if (data?.type !== "heatmap") return headOf(customdata);
  const named = readHead(String(text));
  return named && [named.layer, named.head, named.stack];
}

const isSame = (a: Head | null, b: Head | null): boolean => !!a && !!b && a.every((part, index) => part === b[index]);

const traceOf = (group: TraceGroup | null): Trace | undefined => group?.__data__?.[0]?.trace;

const headAt = (point: PointPath): Head | null =>
  headOf(traceOf(point.closest<TraceGroup>(".trace"))?.customdata?.[point.__data__?.i ?? -1]);

/** The head of the dot that lies nearest to a click, where one is near enough. */
function nearest(plot: HTMLElement, { clientX, clientY }: MouseEvent): Head | null {
  let best: [distance: number, head: Head | null] = [NEAR, null];
  for (const point of plot.querySelectorAll<PointPath>(".scatterlayer path.point")) {
    const box = point.getBoundingClientRect();
    const distance = Math.hypot(box.x + box.width / 2 - clientX, box.y + box.height / 2 - clientY);
    if (distance < best[0] && headAt(point)) best = [distance, headAt(point)];
  }
  return best[1];
}

/** Where a point is drawn, in pixels of its panel. */
function positionOf(point: PointPath): [x: number, y: number] {
  const [x, y] = (/translate\(([^)]*)\)/.exec(point.getAttribute("transform") ?? "")?.[1] ?? "0,0").split(",");
  return [Number(x), Number(y)];
}

/** The smallest step between these numbers; `otherwise` where they are all the same. */
function step(numbers: number[], otherwise: number): number {
  const sorted = [...new Set(numbers.map((value) => Math.round(value * 10) / 10))].sort((a, b) => a - b);
  const steps = sorted.slice(1).map((value, index) => value - sorted[index]);
  return steps.length ? Math.min(...steps) : otherwise;
}

/** A frame around the cells of a head in a grid: one cell, or the column of the head. */
function frame(chosen: PointPath[], all: PointPath[]): Box {
  const [own, every] = [chosen.map(positionOf), all.map(positionOf)];
  const [xs, ys] = [own.map(([x]) => x), own.map(([, y]) => y)];
  const side = 2 * (chosen[0].__data__?.mrc ?? RADIUS);
  const width = step(
    every.map(([x]) => x),
    side,
  );
  const height = step(
    every.map(([, y]) => y),
    side,
  );
  const [left, top] = [Math.min(...xs) - width / 2, Math.min(...ys) - height / 2];
  return { x: left, y: top, width: Math.max(...xs) + width / 2 - left, height: Math.max(...ys) + height / 2 - top };
}

/** The shapes around the points of a head: a frame in a grid, a square around a node, a circle around a dot. */
function shapes(trace: Trace, chosen: PointPath[], all: PointPath[]): [name: "rect" | "circle", at: Record<string, number>][] {
  if (trace.hoverinfo === "skip") return [["rect", { ...frame(chosen, all) }]];
  return chosen.map((point) => {
    const [[x, y], radius] = [positionOf(point), point.__data__?.mrc ?? RADIUS];
    if (trace.marker?.opacity === 0) return ["rect", { x: x - radius, y: y - radius, width: 2 * radius, height: 2 * radius }];
    return ["circle", { cx: x, cy: y, r: radius + MARGIN }];
  });
}

/** Draw the rings anew, below the dots, so that no other dot is hidden. */
function light(plot: HTMLElement, [lit, ground, ink]: Component["data"]): void {
  for (const old of plot.querySelectorAll(`.${RINGS}`)) old.remove();
  for (const group of plot.querySelectorAll<TraceGroup>(".scatterlayer > .trace")) {
    const [trace, all] = [traceOf(group), [...group.querySelectorAll<PointPath>("path.point")]];
    const chosen = all.filter((point) => isSame(headAt(point), lit));
    if (!trace || !chosen.length) continue;
    const rings = document.createElementNS(SVG, "g");
    rings.setAttribute("class", RINGS);
    for (const [width, colour] of [[BELOW, ground] as const, [ABOVE, ink] as const])
      for (const [name, at] of shapes(trace, chosen, all)) {
        const line = document.createElementNS(SVG, name);
        for (const [key, value] of Object.entries(at)) line.setAttribute(key, String(value));
        line.setAttribute("style", `fill: none; stroke: ${colour}; stroke-width: ${width}px; pointer-events: none`);
        rings.append(line);
      }
    group.parentNode?.insertBefore(rings, group.parentNode.firstChild);
  }
}

/** One figure of the page: it may be drawn anew, in another theme or with another choice, so that its element is looked for again. */
class Heads {
  plot: Plot | null = null;
  /** The listeners that were joined: Plotly drops them, and makes `on` anew, where it draws another figure into the same element. */
  on: Plot["on"] | null = null;
  readonly observer = new MutationObserver(() => this.find());

  constructor(
    readonly box: HTMLElement,
    public component: Component,
  ) {
    this.observer.observe(box, { childList: true, subtree: true });
  }

  find(): void {
    const plot = this.box.querySelector<Plot>(".js-plotly-plot");
    if (!plot?.on || plot.on === this.on) return;
    [this.plot, this.on] = [plot, plot.on];
    plot.on("plotly_afterplot", () => light(plot, this.component.data));
    plot.on("plotly_click", (event) => {
      const lit = event?.points.map(clickedHead).find(Boolean) ?? (event?.event && nearest(plot, event.event));
      if (!lit) return;
      const [, ground, ink] = this.component.data;
      light(plot, [lit, ground, ink]); // at once; Python sends it again
      this.component.setTriggerValue("head", lit);
    });
    light(plot, this.component.data);
  }
}

const known = new WeakMap<HTMLElement, Heads>();

export default function (component: Component): () => void {
  const { parentElement, data } = component;
  const box = parentElement.closest<HTMLElement>('[class*="st-key-wide-"]');
  if (!box) return () => {};
  const heads = known.get(parentElement) ?? new Heads(box, component);
  known.set(parentElement, heads);
  heads.component = component;
  heads.find();
  if (heads.plot) light(heads.plot, data);
  return () =>
    setTimeout(() => {
      if (parentElement.isConnected) return;
      heads.observer.disconnect();
      known.delete(parentElement);
    });
}
