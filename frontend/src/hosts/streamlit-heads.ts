// The heads in a figure of the app: a click on one is told to the page, and the chosen one has a ring around each of its points and cells.
// The figure itself never changes for this: Plotly would take a fifth of a second to draw it again, and the reader waits for the answer.

type Head = [layer: number, head: number, stack: string];

interface Component {
  data: { lit: Head | null; ground: string; ink: string }; // the colours of the page, and of the text on it
  parentElement: HTMLElement;
  setTriggerValue: (name: string, value: unknown) => void;
}

/** What Plotly keeps in the element of a figure; `points` is what was clicked. */
interface Plot extends HTMLElement {
  on: (event: "plotly_click" | "plotly_afterplot", listener: (event?: { points: { customdata?: unknown }[] }) => void) => void;
}

/** What Plotly keeps in the elements of a trace and of a point: its place in the trace, and its radius in pixels. */
type TraceGroup = SVGGElement & { __data__?: { trace?: { customdata?: unknown[]; marker?: { opacity?: unknown } } }[] };
type PointPath = SVGPathElement & { __data__?: { i: number; mrc?: number } };

const SVG = "http://www.w3.org/2000/svg";
const RINGS = "eyeline-rings";
/** Pixels between a dot and its ring; widths of the ring's two lines, the page colour below and the ink above, to show on any colour. */
const MARGIN = 4;
const BELOW = 5;
const ABOVE = 2;
const RADIUS = 4;

/** The head of a point; null where the point stands for none. */
function headOf(customdata: unknown): Head | null {
  if (!Array.isArray(customdata) || customdata.length < 2) return null;
  const [layer, head, stack] = customdata as unknown[];
  return [Number(layer), Number(head), String(stack ?? "")];
}

const isSame = (a: Head | null, b: Head | null): boolean => !!a && !!b && a.every((part, index) => part === b[index]);

/** The lines around a point: a circle around a dot; a square on the invisible point of a cell. */
function ring(point: PointPath, isCell: boolean, colour: string, width: number): SVGElement {
  const radius = point.__data__?.mrc ?? RADIUS;
  const line = document.createElementNS(SVG, isCell ? "rect" : "circle");
  const shape = isCell ? { x: -radius, y: -radius, width: 2 * radius, height: 2 * radius } : { r: radius + MARGIN };
  for (const [name, value] of Object.entries(shape)) line.setAttribute(name, String(value));
  line.setAttribute("transform", point.getAttribute("transform") ?? "");
  line.setAttribute("style", `fill: none; stroke: ${colour}; stroke-width: ${width}px; pointer-events: none`);
  return line;
}

/** Draw the rings anew, below the dots, so that no other dot is hidden. */
function light(plot: HTMLElement, { lit, ground, ink }: Component["data"]): void {
  for (const old of plot.querySelectorAll(`.${RINGS}`)) old.remove();
  for (const group of plot.querySelectorAll<TraceGroup>(".scatterlayer > .trace")) {
    const trace = group.__data__?.[0]?.trace;
    const isChosen = (point: PointPath): boolean => isSame(headOf(trace?.customdata?.[point.__data__?.i ?? -1]), lit);
    const chosen = [...group.querySelectorAll<PointPath>("path.point")].filter(isChosen);
    if (!chosen.length) continue;
    const rings = document.createElementNS(SVG, "g");
    rings.setAttribute("class", RINGS);
    for (const [width, colour] of [[BELOW, ground] as const, [ABOVE, ink] as const])
      rings.append(...chosen.map((point) => ring(point, trace?.marker?.opacity === 0, colour, width)));
    group.parentNode?.insertBefore(rings, group.parentNode.firstChild);
  }
}

/** One figure of the page: it may be drawn anew, in another theme or with another choice, so that its element is looked for again. */
class Heads {
  plot: Plot | null = null;
  readonly observer = new MutationObserver(() => this.find());

  constructor(
    readonly box: HTMLElement,
    public component: Component,
  ) {
    this.observer.observe(box, { childList: true, subtree: true });
  }

  find(): void {
    const plot = this.box.querySelector<Plot>(".js-plotly-plot");
    if (!plot?.on || plot === this.plot) return;
    this.plot = plot;
    plot.on("plotly_afterplot", () => light(plot, this.component.data));
    plot.on("plotly_click", (event) => {
      const lit = event?.points.map((point) => headOf(point.customdata)).find(Boolean);
      if (!lit) return;
      light(plot, { ...this.component.data, lit }); // at once; the page says it again
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
