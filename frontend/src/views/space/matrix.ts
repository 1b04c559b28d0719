// Every head of a space as a small scatter, a row a layer, drawn layer by layer so that the page never stands still.

import { el, on } from "../../controls/dom";
import { headName } from "../../core/reading";
import { breathe } from "../../core/schedule";
import type { SpaceData } from "../../core/space";
import { paint, paintItem } from "../../marks/canvas";
import type { Plot } from "../../marks/cloud";
import type { Item, Scene } from "../../marks/scene";
import type { DrawnThumbnail, Stage } from "../../registry";
import { Tip } from "../tip";
import { cameraOf } from "./camera";
import { attentionOf, colouring, pointColours } from "./colouring";
import { factPhrases, legendRows, percent } from "./legend";

const GAP = 8;
const NAME = 18;
const LEAST = 78;
const MOST = 176;

interface Grid {
  cell: number;
  size: number;
  columns: number;
}

export class Matrix {
  readonly element = el("div", { class: "plotbox" });
  private canvas = el("canvas", { class: "plot points whole", role: "application", tabindex: "0" });
  private ring = el("div", { class: "ring", hidden: true });
  private scroll = el("div", { class: "scroll" });
  private tip = new Tip();
  private grid: Grid = { cell: LEAST, size: LEAST - GAP, columns: 1 };
  private current: Scene | null = null;
  private drawn: DrawnThumbnail[] = [];
  private at: { row: number; col: number } | null = null;

  constructor(
    private stage: Stage,
    readonly data: SpaceData,
    private same: boolean,
    titled: boolean,
  ) {
    this.canvas.setAttribute("aria-label", stage.labels.drawing);
    this.scroll.append(this.canvas, this.ring);
    if (titled) this.element.append(el("strong", { class: "model" }, data.space.model));
    this.element.append(this.scroll, this.tip.element);
    on(this.canvas, "pointermove", (event) => event.pointerType !== "touch" && this.point(this.under(event)));
    on(this.canvas, "pointerleave", () => this.point(null));
    on(this.canvas, "click", (event) => this.open(this.under(event)));
  }

  /** Px that all columns need. */
  get least(): number {
    return LEAST * this.data.stack.heads.length;
  }

  private under(event: MouseEvent): { row: number; col: number } | null {
    const box = this.canvas.getBoundingClientRect();
    const [col, row] = [
      Math.floor((event.clientX - box.left) / this.grid.cell),
      Math.floor((event.clientY - box.top) / (this.grid.cell + NAME)),
    ];
    return col >= 0 && row >= 0 && col < this.data.stack.heads.length && row < this.data.stack.layers.length ? { row, col } : null;
  }

  private corner = (row: number, col: number): [number, number] => [col * this.grid.cell + GAP / 2, row * (this.grid.cell + NAME) + NAME];

  point(cell: { row: number; col: number } | null): void {
    if (cell?.row === this.at?.row && cell?.col === this.at?.col) return;
    this.at = cell;
    this.ring.hidden = !cell;
    if (!cell) return this.tip.hide();
    const [x, y] = this.corner(cell.row, cell.col);
    const { size } = this.grid;
    this.ring.style.cssText = `left:${x - 2}px;top:${y - 2}px;width:${size + 4}px;height:${size + 4}px`;
    const phrases = factPhrases(this.data.facts(cell.row, cell.col), this.stage.labels);
    this.tip.show(
      x + size - this.scroll.scrollLeft,
      y + size / 2,
      [[{ token: this.name(cell.row, cell.col) }], ...phrases.map((phrase) => [phrase])],
      { width: this.element.clientWidth, height: this.scroll.clientHeight },
    );
  }

  private name = (row: number, col: number): string => headName(this.data.layer(row).layer, this.data.stack.heads[col]);

  private open(cell: { row: number; col: number } | null): void {
    if (cell) this.stage.set({ opened: true, layer: cell.row, heads: [cell.col], zoom: { x: 0, y: 0, k: 1 } });
  }

  async draw(current: () => boolean): Promise<void> {
    const { data, stage } = this;
    const [state, theme, labels] = [stage.state(), stage.theme(), stage.labels];
    const [rows, columns] = [data.stack.layers.length, data.stack.heads.length];
    const cell = Math.max(LEAST, Math.min(MOST, Math.floor(this.element.clientWidth / columns)));
    this.grid = { cell, size: cell - GAP, columns };
    this.point(null);
    const attention = attentionOf(data, state, this.same);
    const perHead = state.colour_points === "norm" || (data.values && state.colour_points === "kind");
    let shared: Uint32Array | null = null;
    const coloursOf = async (row: number, col: number): Promise<Uint32Array> => {
      if (shared && !perHead) return shared;
      const norms = state.colour_points === "norm" ? { of: await data.norms(row, col), range: data.layer(row).norm_ranges[col] } : null;
      return (shared = pointColours(
        data,
        colouring(data, state.colour_points, data.stack.heads[col], theme, labels, norms),
        attention,
        state.find,
        0.55,
      ));
    };
    const byKind = colouring(data, state.colour_points === "norm" ? "kind" : state.colour_points, 0, theme, labels, null);
    const legend = legendRows(
      state.colour_points === "norm" ? null : byKind.legend,
      data.values,
      ["kind", "norm"].includes(state.colour_points),
      Math.max(240, Math.min(this.element.clientWidth, columns * cell)),
      theme,
      labels,
    );
    const height = rows * (cell + NAME) + 8 + legend.height;
    const frame = this.frame(rows, columns);
    const base: Item[] = [...frame, ...legend.items(GAP / 2, height - legend.height)];
    this.current = { width: columns * cell, height, background: theme.ground, items: base };
    this.drawn = [];
    const done: DrawnThumbnail[] = [];
    paint(this.canvas, this.current);
    const context = this.canvas.getContext("2d")!;
    const items: Item[] = [...base];
    let last = performance.now();
    for (let row = 0; row < rows; row++) {
      const plots: Plot[] = [];
      for (let col = 0; col < columns; col++) plots.push(this.plot(row, col, await data.cloud(row, col), await coloursOf(row, col)));
      if (!current()) return;
      const item: Item = { type: "clouds", x: 0, y: this.corner(row, 0)[1], w: columns * cell, h: this.grid.size, plots };
      paintItem(context, item);
      items.push(item);
      plots.forEach(({ x, y, w, h }, col) =>
        done.push({
          layer: data.layer(row).layer,
          head: data.stack.heads[col],
          name: this.name(row, col),
          x,
          y,
          width: w,
          height: h,
          colour: "",
        }),
      );
      if (performance.now() - last > 120) {
        await breathe();
        last = performance.now();
        if (!current()) return;
      }
    }
    this.current = { ...this.current, items };
    this.drawn = done;
  }

  private plot(row: number, col: number, cloud: Plot["cloud"], colours: Uint32Array): Plot {
    const { size } = this.grid;
    const [x, y] = this.corner(row, col);
    const { turn } = this.stage.state();
    const few = Math.max(1.1, Math.min(3.2, Math.sqrt((size * size) / Math.max(1, cloud.count)) * 0.55));
    return {
      cloud,
      camera: cameraOf(cloud.dims, { w: size, h: size }, { x: 0, y: 0, k: 1 }, turn),
      colours,
      size: few,
      x,
      y,
      w: size,
      h: size,
    };
  }

  /** Names, fidelity as a number and as a bar, and a hairline around each head. */
  private frame(rows: number, columns: number): Item[] {
    const theme = this.stage.theme();
    const items: Item[] = [];
    for (let row = 0; row < rows; row++)
      for (let col = 0; col < columns; col++) {
        const [x, y] = this.corner(row, col);
        const { size } = this.grid;
        const facts = this.data.facts(row, col);
        const fidelity = facts.top1_held_out ?? facts.top1_projected ?? null;
        items.push({ type: "rect", x: x - 0.5, y: y - 0.5, w: size + 1, h: size + 1, stroke: theme.hairline, radius: 2 });
        items.push({ type: "text", x, y: y - 8, text: this.name(row, col), size: 12, mono: true, fill: theme.text });
        if (fidelity === null) continue;
        items.push({
          type: "text",
          x: x + size,
          y: y - 8,
          text: percent(fidelity, 0).replace(" ", ""),
          size: 12,
          mono: true,
          fill: theme.muted,
          anchor: "end",
        });
        items.push({ type: "rect", x, y: y + size - 1.5, w: size * fidelity, h: 2, fill: theme.accent, opacity: 0.8 });
      }
    return items;
  }

  key(event: KeyboardEvent): boolean {
    const step: Record<string, [number, number]> = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    const { layers, heads } = this.data.stack;
    if (event.key in step) {
      const [dr, dc] = step[event.key];
      const hold = (value: number, n: number) => Math.max(0, Math.min(n - 1, value));
      this.point(this.at ? { row: hold(this.at.row + dr, layers.length), col: hold(this.at.col + dc, heads.length) } : { row: 0, col: 0 });
      this.ring.scrollIntoView({ block: "nearest", inline: "nearest" });
      const { row, col } = this.at!;
      this.stage.announce([this.name(row, col), ...factPhrases(this.data.facts(row, col), this.stage.labels)].join(". "));
      return true;
    }
    if ((event.key === "Enter" || event.key === " ") && this.at) {
      this.open(this.at);
      return true;
    }
    if (event.key !== "Escape" || !this.at) return false;
    this.point(null);
    return true;
  }

  scene = (): Scene | null => this.current;
  thumbnails = (): DrawnThumbnail[] => this.drawn;

  destroy(): void {
    this.element.remove();
  }
}
