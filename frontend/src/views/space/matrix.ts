// Every head of a space as a small scatter, a row a layer, drawn layer by layer so that the page never stands still.

import { el, on } from "../../controls/dom";
import type { State } from "../../core/input/contract";
import { headName } from "../../generated/heads";
import { breathe } from "../../core/schedule";
import type { SpaceData } from "../../core/reading/space";
import { paint, paintItem } from "../../marks/painters/canvas";
import type { Plot } from "../../marks/scatter/cloud";
import type { Item, Scene } from "../../marks/scene";
import type { DrawnLines, DrawnThumbnail, Stage } from "../../registry";
import { Tip } from "../tip";
import { cameraOf } from "./camera";
import { attentionOf, colouring, pointColours, type Attention } from "./scene/colouring";
import { factPhrases, legendRows, percent } from "./scene/legend";
import { sheetLines } from "./scene/sheet-lines";

const GAP = 8;
const NAME = 18;
const LEAST = 84;
/** Pixels: in narrower pictures the names are smaller, so that "L11·H11" and "100 %" stand side by side. */
const NARROW = 92;
const MOST = 176;

/** Heads of a sheet in one line of it. */
const SHEET_ACROSS = 4;
const SHEET_MOST = 420;

interface Grid {
  cell: number;
  size: number;
  /** How many heads stand side by side. */
  across: number;
  /** The layers shown, as indices into the list of layers. */
  rows: number[];
  sheet: boolean;
}

export class Matrix {
  readonly element = el("div", { class: "plotbox" });
  private canvas = el("canvas", { class: "plot points whole", role: "application", tabindex: "0" });
  private ring = el("div", { class: "ring", hidden: true });
  private scroll = el("div", { class: "scroll" });
  private tip = new Tip();
  private grid: Grid = { cell: LEAST, size: LEAST - GAP, across: 1, rows: [], sheet: false };
  private current: Scene | null = null;
  private drawn: DrawnThumbnail[] = [];
  private linked: DrawnLines[] = [];
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

  /** The width that all columns need, in px. */
  get least(): number {
    return LEAST * this.data.stack.heads.length;
  }

  private under(event: MouseEvent): { row: number; col: number } | null {
    const box = this.canvas.getBoundingClientRect();
    const { cell, across, rows, sheet } = this.grid;
    const [right, line] = [Math.floor((event.clientX - box.left) / cell), Math.floor((event.clientY - box.top) / (cell + NAME))];
    if (right < 0 || line < 0 || right >= across) return null;
    const [row, col] = sheet ? [rows[0], line * across + right] : [rows[line], right];
    return row !== undefined && col < this.data.stack.heads.length ? { row, col } : null;
  }

  private corner = (row: number, col: number): [number, number] => {
    const { cell, across, rows, sheet } = this.grid;
    const line = sheet ? Math.floor(col / across) : rows.indexOf(row);
    return [(sheet ? col % across : col) * cell + GAP / 2, line * (cell + NAME) + NAME];
  };

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
    const heads = data.stack.heads.length;
    const rows = state.rows.length ? state.rows : data.stack.layers.map((_, i) => i);
    const sheet = rows.length === 1;
    const across = sheet ? Math.min(heads, SHEET_ACROSS, Math.max(1, Math.floor(this.element.clientWidth / 200))) : heads;
    const cell = Math.max(LEAST, Math.min(sheet ? SHEET_MOST : MOST, Math.floor(this.element.clientWidth / across)));
    this.grid = { cell, size: cell - GAP, across, rows, sheet };
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
      Math.max(240, Math.min(this.element.clientWidth, across * cell)),
      theme,
      labels,
    );
    const lines = sheet ? Math.ceil(heads / across) : rows.length;
    const height = lines * (cell + NAME) + 8 + legend.height;
    const frame = this.frame();
    const base: Item[] = [...frame, ...legend.items(GAP / 2, height - legend.height)];
    this.current = { width: across * cell, height, background: theme.ground, items: base };
    this.drawn = [];
    this.linked = [];
    const done: DrawnThumbnail[] = [];
    paint(this.canvas, this.current);
    const context = this.canvas.getContext("2d")!;
    const items: Item[] = [...base];
    let last = performance.now();
    for (const row of rows) {
      const plots: Plot[] = [];
      for (let col = 0; col < heads; col++) plots.push(this.plot(row, col, await data.cloud(row, col), await coloursOf(row, col)));
      const top = this.corner(row, 0)[1];
      const h = this.corner(row, heads - 1)[1] + this.grid.size - top;
      const linked = sheet ? (await Promise.all(plots.map((plot, col) => this.lines(row, col, plot, state, attention)))).flat() : [];
      if (!current()) return;
      for (const item of [{ type: "clouds", x: 0, y: top, w: across * cell, h, plots } as Item, ...linked]) {
        paintItem(context, item);
        items.push(item);
      }
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

  /** The lines of one head of a sheet, and its pairs in red. */
  private async lines(row: number, col: number, plot: Plot, state: State, attention: Attention): Promise<Item[]> {
    const isIn = (i: number) => attention.isIn(i) && (!state.find.trim() || attention.isMatch(i));
    const drawn = sheetLines(this.data, await this.data.tops(row, col), plot, state, isIn, this.stage.theme());
    this.linked.push({ head: this.name(row, col), links: drawn.links, red: drawn.red });
    return drawn.items;
  }

  /** Names, fidelity as a number and as a bar, and a hairline around each head. */
  private frame(): Item[] {
    const theme = this.stage.theme();
    const items: Item[] = [];
    for (const row of this.grid.rows)
      for (let col = 0; col < this.data.stack.heads.length; col++) {
        const [x, y] = this.corner(row, col);
        const { size } = this.grid;
        const fontSize = size < NARROW ? 10 : 12;
        const facts = this.data.facts(row, col);
        const fidelity = facts.top1_held_out ?? facts.top1_projected ?? null;
        items.push({ type: "rect", x: x - 0.5, y: y - 0.5, w: size + 1, h: size + 1, stroke: theme.hairline, radius: 2 });
        items.push({ type: "text", x, y: y - 8, text: this.name(row, col), size: fontSize, mono: true, fill: theme.text });
        if (fidelity === null) continue;
        items.push({
          type: "text",
          x: x + size,
          y: y - 8,
          text: percent(fidelity, 0),
          size: fontSize,
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
    const { heads } = this.data.stack;
    if (event.key in step) {
      const [dr, dc] = step[event.key];
      const hold = (value: number, n: number) => Math.max(0, Math.min(n - 1, value));
      const { rows, sheet, across } = this.grid;
      const line = this.at ? rows.indexOf(this.at.row) : 0;
      const col = this.at ? hold(this.at.col + (sheet ? dr * across + dc : dc), heads.length) : 0;
      this.point({ row: rows[this.at && !sheet ? hold(line + dr, rows.length) : line], col });
      this.ring.scrollIntoView({ block: "nearest", inline: "nearest" });
      const { row } = this.at!;
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
  sheet = (): DrawnLines[] => this.linked;

  destroy(): void {
    this.element.remove();
  }
}
