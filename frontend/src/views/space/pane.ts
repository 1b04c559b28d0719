// One head of one space, large: the canvas, what the pointer does on it, and what is kept between two drawings.

import { el } from "../../controls/dom";
import type { State } from "../../core/input/contract";
import type { SpaceData, Tops } from "../../core/reading/space";
import { headName } from "../../generated/heads";
import { BOUNDS } from "../../generated/state";
import { paint } from "../../marks/painters/canvas";
import { placed, type Camera, type Cloud } from "../../marks/scatter/cloud";
import type { Clouds, Scene } from "../../marks/scene";
import type { DrawnSpace, Stage } from "../../registry";
import { isCoarse } from "../pointer";
import { Tip } from "../tip";
import { cameraOf, pannedBy, turnedBy, zoomedAt } from "./camera";
import { attentionOf, colouring, pointColours, type Attention, type Colouring } from "./scene/colouring";
import { Gestures, type GestureActions } from "./gestures";
import { linksFor, pairLinks, topLinks, type Link } from "./scene/links";
import { Nearest } from "./nearest";
import { pathOf, placedPath, type PathPoint } from "./scene/path";
import { plotBox, plotScene, pointLook, type PlotBox } from "./scene/scene";
import { tipLines } from "./tips";
import { zoomButtons } from "./zoom-buttons";

/** Lines drawn while the picture moves. */
const MOVING = 1500;

interface Loaded {
  key: string;
  cloud: Cloud;
  tops: Tops;
  norms: Uint8Array | null;
}

export class Pane {
  readonly element = el("div", { class: "plotbox" });
  private canvas = el("canvas", { class: "plot grab whole", role: "application", tabindex: "0" });
  private tip = new Tip();
  private loaded: Loaded | null = null;
  private colouring: { key: string; value: Colouring } | null = null;
  private colours: { key: string; words: Uint32Array; attention: Attention } | null = null;
  private clouds: { key: string; item: Clouds } | null = null;
  private index: { at: Float32Array; nearest: Nearest } | null = null;
  private at: Float32Array = new Float32Array(0);
  private box: PlotBox = { x: 0, y: 0, w: 1, h: 1 };
  private current: Scene | null = null;
  private labelled: number[] = [];
  private strongest: { key: string; links: Link[] } | null = null;
  private links: Link[] = [];
  private red: Link[] = [];
  private path: { key: string; clouds: Cloud[] } | null = null;
  private walked: PathPoint[] = [];
  private hovered = -1;
  private gestures: Gestures;
  private resting = 0;
  height = 480;

  /** `same`: the points are those of the first space, so that a chosen point means the same token here. */
  constructor(
    private stage: Stage,
    readonly data: SpaceData,
    private same: boolean,
  ) {
    this.canvas.setAttribute("aria-label", stage.labels.drawing);
    const middle = (factor: number) => this.zoomTo(factor, this.box.w / 2, this.box.h / 2);
    const all = () => stage.set({ zoom: { x: 0, y: 0, k: 1 } });
    this.element.append(this.canvas, zoomButtons(stage.labels, middle, all), this.tip.element);
    this.gestures = new Gestures(this.canvas, this.actions());
  }

  /** What a gesture does to the state. */
  private actions(): GestureActions {
    const { stage } = this;
    return {
      corner: () => this.box,
      drawsLasso: () => stage.state().tool === "lasso",
      hover: (x, y) => this.hover(this.under(x, y)),
      leave: () => this.hover(-1),
      click: (x, y) => this.choose(this.under(x, y)),
      zoom: (factor, x, y) => this.zoomTo(factor, x, y),
      dragStart: () => {
        this.hovered = -1;
        this.tip.hide();
      },
      drag: (dx, dy) => {
        const { zoom, turn } = stage.state();
        stage.set(this.data.space.dims === 3 ? { turn: turnedBy(turn, dx, dy) } : { zoom: pannedBy(this.box, zoom, dx, dy) });
      },
      dragEnd: () => stage.redraw(),
      lasso: () => this.render(),
      lassoEnd: (outline) => stage.set({ lasso: outline.length >= 6 && this.same ? this.nearest().inside(outline) : [] }),
      pinch: ({ dx, dy }, factor, x, y) =>
        stage.set({ zoom: zoomedAt(this.box, pannedBy(this.box, stage.state().zoom, dx, dy), factor, x, y) }),
    };
  }

  private zoomTo(factor: number, x: number, y: number): void {
    this.stage.set({ zoom: zoomedAt(this.box, this.stage.state().zoom, factor, x, y) });
  }

  /** A click: this point and its sentence; on nothing, lets go. */
  private choose(point: number): void {
    const state = this.stage.state();
    this.hovered = -1;
    this.tip.hide();
    if (point < 0) return this.stage.set({ point: null, lasso: [] });
    if (point === state.point) return this.stage.set({ point: null });
    this.stage.set(this.same ? { point, text: this.data.textOf(point) } : { point: null, text: this.data.textOf(point) });
  }

  private nearest(): Nearest {
    if (this.index?.at !== this.at) this.index = { at: this.at, nearest: new Nearest(this.at, this.box) };
    return this.index.nearest;
  }

  private under(x: number, y: number): number {
    const attention = this.colours?.attention;
    return this.nearest().find(x, y, isCoarse() ? 22 : 10, attention?.some ? (i) => attention.isIn(i) : undefined);
  }

  private hover(point: number): void {
    if (point === this.hovered) return;
    this.hovered = point;
    this.render();
    if (point < 0 || !this.loaded) return this.tip.hide();
    const chosen = this.same ? this.stage.state().point : null;
    this.tip.show(
      this.box.x + this.at[2 * point],
      this.box.y + this.at[2 * point + 1],
      tipLines(this.data, this.loaded.tops, point, chosen, this.stage.labels),
      { width: this.element.clientWidth, height: this.height },
    );
  }

  /** What the strongest pairs are kept by; null where the state does not ask for them. */
  private pairsKey = ({ links, layer, heads, text }: State): string | null =>
    links === "top" && text !== null ? [layer, heads[0], text].join() : null;

  async load(state: State): Promise<void> {
    const [layer, head] = [state.layer, state.heads[0]];
    const pairsKey = this.pairsKey(state);
    if (pairsKey !== null && this.strongest?.key !== pairsKey) {
      const { weights } = await this.data.map(layer, head, state.text!);
      this.strongest = { key: pairsKey, links: topLinks(this.data, weights, state.text!, BOUNDS.links_top[1]) };
    }
    const pathKey = `${head}.${state.point}`;
    if (this.path?.key !== pathKey) this.path = { key: pathKey, clouds: await pathOf(this.data, head, this.same ? state.point : null) };
    const wantsNorms = state.colour_points === "norm";
    const key = `${layer}.${head}.${wantsNorms}`;
    if (this.loaded?.key === key) return;
    const [cloud, tops, norms] = await Promise.all([
      this.data.cloud(layer, head),
      this.data.tops(layer, head),
      wantsNorms ? this.data.norms(layer, head) : null,
    ]);
    this.loaded = { key, cloud, tops, norms };
    this.clouds = null;
    this.colouring = null;
    this.hovered = -1;
    this.tip.hide();
  }

  get tops(): Tops | null {
    return this.loaded?.tops ?? null;
  }

  render(): void {
    const { loaded, stage, data } = this;
    if (!loaded) return;
    const [state, theme] = [stage.state(), stage.theme()];
    const [layer, head] = [state.layer, state.heads[0]];
    const range = data.layer(layer).norm_ranges[head] ?? [0, 1];
    const colourKey = [loaded.key, state.colour_points, theme.dark].join();
    if (this.colouring?.key !== colourKey)
      this.colouring = {
        key: colourKey,
        value: colouring(
          data,
          state.colour_points,
          data.stack.heads[head],
          theme,
          stage.labels,
          loaded.norms && { of: loaded.norms, range },
        ),
      };
    const colours = this.colouring.value;
    const width = Math.max(240, this.element.clientWidth);
    const facts = data.facts(layer, head);
    this.box = plotBox(width, this.height, facts, colours, data.values, state.colour_points === "kind", theme, stage.labels);
    const look = pointLook(data.count, this.box, state.zoom.k);
    const wordKey = [
      colourKey,
      look.opacity.toFixed(3),
      state.find,
      state.text,
      state.lasso.length,
      state.lasso[0],
      state.lasso[state.lasso.length - 1],
    ].join();
    if (this.colours?.key !== wordKey) {
      const attention = attentionOf(data, state, this.same);
      this.colours = { key: wordKey, attention, words: pointColours(data, colours, attention, state.find, look.opacity) };
    }
    const camera = cameraOf(data.space.dims, this.box, state.zoom, state.turn);
    this.placeCloud(loaded.cloud, camera, look.size, wordKey);
    this.walked = placedPath(data, this.path?.key === `${head}.${state.point}` ? this.path.clouds : [], camera);
    this.link(state, loaded.tops);
    const { scene, labelled } = plotScene({
      data,
      state,
      theme,
      labels: stage.labels,
      colouring: colours,
      attention: this.colours.attention,
      clouds: this.clouds!.item,
      at: this.at,
      facts,
      heading: headName(data.layer(layer).layer, data.stack.heads[head]),
      width,
      height: this.height,
      box: this.box,
      links: this.links,
      red: this.red,
      chosen: this.same ? state.point : null,
      hovered: this.hovered,
      lasso: this.gestures.outline,
      size: look.size,
      path: this.walked,
    });
    this.current = scene;
    this.labelled = labelled;
    paint(this.canvas, scene);
  }

  /** The points where the camera puts them; made anew only when camera, size or colours change. */
  private placeCloud(cloud: Cloud, camera: Camera, size: number, colours: string): void {
    const key = JSON.stringify([camera, this.box, size, colours]);
    if (this.clouds?.key === key) return;
    const { x, y, w, h } = this.box;
    this.at = placed(cloud, camera);
    this.clouds = {
      key,
      item: { type: "clouds", x, y, w, h, plots: [{ cloud, camera, colours: this.colours!.words, size, x, y, w, h }] },
    };
  }

  private link(state: State, tops: Tops): void {
    const chosen = this.same ? state.point : null;
    const attention = this.colours!.attention;
    const isIn = (i: number) => attention.isIn(i) && (!state.find.trim() || attention.isMatch(i));
    let links = linksFor(
      this.data,
      tops,
      state,
      chosen ?? (this.hovered >= 0 ? this.hovered : null),
      isIn,
      this.strongest?.key === this.pairsKey(state) ? this.strongest.links : [],
    );
    if (this.gestures.moving && links.length > MOVING) {
      links = [...links].sort((a, b) => b.weight - a.weight).slice(0, MOVING);
      clearTimeout(this.resting);
      this.resting = window.setTimeout(() => this.stage.redraw(), 200);
    }
    this.links = links;
    this.red = pairLinks(this.data, tops, state.pairs, state.text, state.every_pair);
  }

  scene = (): Scene | null => this.current;

  summary(): DrawnSpace {
    const { data, at, box } = this;
    const state = this.stage.state();
    return {
      model: data.space.model,
      points: data.count,
      head: headName(data.layer(state.layer).layer, data.stack.heads[state.heads[0]]),
      facts: data.facts(state.layer, state.heads[0]),
      links: this.links,
      red: this.red,
      labelled: this.labelled,
      hovered: this.hovered,
      path: this.walked.map(({ layer }) => layer),
      positions: Array.from({ length: Math.min(data.count, 20_000) }, (_, i) => [box.x + at[2 * i], box.y + at[2 * i + 1]]),
    };
  }

  destroy(): void {
    clearTimeout(this.resting);
    this.element.remove();
  }
}
