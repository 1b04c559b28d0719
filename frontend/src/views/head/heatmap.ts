// The head view as a heatmap: wheel, pinch, drag and buttons around the scene.

import { el, on } from "../../controls/dom";
import { shownHeads } from "../../controls/heads";
import type { Zoom } from "../../core/input/contract";
import { matchesInOrder, stepped } from "../../core/reading/find";
import { shownNumber } from "../../core/reading/quantity";
import type { Reading } from "../../core/reading/reading";
import { paint } from "../../marks/painters/canvas";
import { pyramid, shades, signedShades, type Pyramid } from "../../marks/heatmap";
import type { Scene } from "../../marks/scene";
import type { Stage, Summary } from "../../registry";
import { Tip } from "../tip";
import { TokenOptions } from "../options";
import { focusOf, lockedIndices, numbersShown, sideOf, spoken, toggled, topIndices, type Side } from "./focus";
import { cellAt, heatmapFrame, type Cell, type Margins } from "./heatmap-frame";
import { heatmapScene, seen, type HeatmapInput } from "./scene-heatmap";
import { switchedCell } from "./switch-off";
import { cellSize, hold, panned, zoomed, type Frame } from "./zoom";

export class HeatmapPart {
  private canvas = el("canvas", { class: "plot grab", role: "img" });
  private buttons = el("div", { class: "zoom" });
  private tip = new Tip();
  private reading: Reading | null = null;
  private pyramid: Pyramid | null = null;
  private built = "";
  private zoom: Zoom = { x: 0, y: 0, k: 1 };
  private frame: Frame = { width: 1, height: 1, cols: 1, rows: 1 };
  private margins: Margins = { left: 0, top: 0, width: 0 };
  private hovered: Cell | null = null;
  private current: Scene | null = null;
  private pointers = new Map<number, { x: number; y: number }>();
  private travelled = 0;
  private options: Record<Side, TokenOptions>;
  private waiting = 0;
  private searched = "";
  private match = -1;

  constructor(private stage: Stage) {
    const { labels } = stage;
    this.canvas.setAttribute("aria-label", labels.drawing);
    const button = (text: string, label: string, act: () => void) => {
      const element = el("button", { type: "button", "aria-label": label, title: label }, text);
      on(element, "click", act);
      return element;
    };
    this.buttons.append(
      button("+", labels.zoom_in, () => this.by(1.6)),
      button("−", labels.zoom_out, () => this.by(1 / 1.6)),
      button("⤢", labels.zoom_fit, () => this.to({ x: 0, y: 0, k: 1 })),
    );
    const list = (side: Side, label: string) =>
      new TokenOptions(label, {
        move: (index) => this.reach(side, index),
        choose: (index) => this.reading && stage.set(toggled(this.reading, stage.state(), side, index)),
        leave: () => this.point(null, 0, 0),
      });
    this.options = { query: list("query", labels.queries), key: list("key", labels.keys) };
    stage.element.append(this.options.query.element, this.options.key.element, this.canvas, this.buttons, this.tip.element);
    on(this.canvas, "wheel", (event) => this.wheel(event), { passive: false });
    on(this.canvas, "pointerdown", (event) => this.down(event));
    on(this.canvas, "pointermove", (event) => this.move(event));
    for (const type of ["pointerup", "pointercancel"] as const) on(this.canvas, type, (event) => this.up(event));
    on(this.canvas, "pointerleave", () => this.point(null, 0, 0));
    on(this.canvas, "contextmenu", (event) => {
      const { x, y } = this.spot(event);
      if (switchedCell(this.stage, this.reading, this.cellAt(x, y))) event.preventDefault();
    });
  }

  async draw(current: () => boolean): Promise<void> {
    const state = this.stage.state();
    const reading = await this.stage.reader.read(state, shownHeads(this.stage.spec, state));
    if (!current()) return;
    this.reading = reading;
    const [map] = reading.maps;
    const cols = reading.cols.labels.length;
    const { signed } = reading.quantity;
    const key = `${map.name} ${state.rescale} ${state.threshold} ${state.stack} ${state.drawn}`;
    if (this.built !== key || this.weights !== map.weights)
      this.pyramid = pyramid((signed ? signedShades : shades)(map.weights, cols, map.max, state.rescale, state.threshold));
    [this.built, this.weights] = [key, map.weights];
    if (this.searched !== state.find) [this.searched, this.match, this.hovered] = [state.find, -1, null];
    [this.frame, this.margins] = heatmapFrame(reading, this.stage.element.clientWidth, innerHeight);
    this.zoom = hold(this.frame, state.zoom);
    this.render();
  }
  private weights: Float32Array | null = null;

  private render(): void {
    if (!this.reading || !this.pyramid) return;
    this.current = heatmapScene(this.input());
    paint(this.canvas, this.current);
    this.placeOptions();
  }

  /** Only the active token is an option: a map may have thousands. */
  private placeOptions(): void {
    const { rows, cols } = this.reading!;
    const cell = cellSize(this.frame, this.zoom.k);
    const window = seen({ frame: this.frame, zoom: this.zoom });
    const { left, top } = this.margins;
    const state = this.stage.state();
    const locked = (side: Side) => (side === sideOf(state) ? lockedIndices(this.reading!, state) : new Set<number>());
    this.options.query.update(
      rows,
      [0, -1],
      (i) => ({ x: 16, y: top + (i - window.top) * cell, w: left - 18, h: Math.max(12, cell) }),
      locked("query"),
    );
    this.options.key.update(
      cols,
      [0, -1],
      (i) => ({ x: left + (i - window.left) * cell, y: 16, w: Math.max(12, cell), h: top - 18 }),
      locked("key"),
    );
  }

  /** Keyboard: points at the token and what it looks at most (or what looks at it most), in sight, and says it. */
  private reach(side: Side, index: number): void {
    if (!this.reading) return;
    const focus = focusOf(this.reading, { ...this.stage.state(), locked: [] }, { side, index })!;
    const other = topIndices(numbersShown(this.reading, focus)!.values, 1)[0] ?? 0;
    this.hovered = side === "query" ? { row: index, col: other } : { row: other, col: index };
    const window = seen({ frame: this.frame, zoom: this.zoom });
    const outside =
      this.hovered.row < window.top ||
      this.hovered.row >= window.bottom ||
      this.hovered.col < window.left ||
      this.hovered.col >= window.right;
    if (outside) {
      const half = (low: number, high: number) => (high - low) / 2;
      this.to({
        ...this.zoom,
        x: (this.hovered.col - half(window.left, window.right)) / this.frame.cols,
        y: (this.hovered.row - half(window.top, window.bottom)) / this.frame.rows,
      });
    } else this.render();
    this.stage.announce(spoken(this.reading, focus, this.stage.labels));
  }

  private input(): HeatmapInput {
    const { stage, margins } = this;
    return {
      reading: this.reading!,
      pyramid: this.pyramid!,
      state: stage.state(),
      theme: stage.theme(),
      labels: stage.labels,
      zoom: this.zoom,
      frame: this.frame,
      hovered: this.hovered,
      ...margins,
    };
  }

  private spot(event: MouseEvent): { x: number; y: number } {
    const box = this.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  /** The weight under a point, or null beside the map. */
  private cellAt = (x: number, y: number): Cell | null => cellAt(this.frame, this.margins, this.zoom, x, y);

  private wheel(event: WheelEvent): void {
    const { x, y } = this.spot(event);
    const further = event.deltaY > 0 && this.zoom.k <= 1; // nothing left to zoom out of: the page scrolls on
    if (!this.cellAt(x, y) || further) return;
    event.preventDefault();
    const factor = Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : event.ctrlKey ? 0.01 : 0.0025));
    this.to(zoomed(this.frame, this.zoom, factor, x - this.margins.left, y - this.margins.top));
  }

  private down(event: PointerEvent): void {
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, this.spot(event));
    if (this.pointers.size === 1) this.travelled = 0;
  }

  private move(event: PointerEvent): void {
    const now = this.spot(event);
    const before = this.pointers.get(event.pointerId);
    if (!before) return this.point(this.cellAt(now.x, now.y), now.x, now.y);
    this.pointers.set(event.pointerId, now);
    const [dx, dy] = [now.x - before.x, now.y - before.y];
    this.travelled += Math.abs(dx) + Math.abs(dy);
    if (this.pointers.size === 2) return this.pinch(event.pointerId, before, now);
    if (this.travelled < 4) return;
    this.tip.hide();
    this.hovered = null;
    this.to(panned(this.frame, this.zoom, dx, dy));
  }

  private pinch(id: number, before: { x: number; y: number }, now: { x: number; y: number }): void {
    const [, other] = [...this.pointers].find(([pointer]) => pointer !== id)!;
    const apart = (p: { x: number; y: number }) => Math.max(8, Math.hypot(p.x - other.x, p.y - other.y));
    this.to(
      zoomed(
        this.frame,
        this.zoom,
        apart(now) / apart(before),
        (now.x + other.x) / 2 - this.margins.left,
        (now.y + other.y) / 2 - this.margins.top,
      ),
    );
  }

  private up(event: PointerEvent): void {
    this.pointers.delete(event.pointerId);
    if (event.type !== "pointerup" || event.button !== 0 || this.travelled >= 4 || this.pointers.size) return;
    const { x, y } = this.spot(event);
    const cell = this.cellAt(x, y);
    const side = sideOf(this.stage.state());
    if (event.pointerType === "touch") this.point(cell, x, y);
    if (cell && this.reading) this.stage.set(toggled(this.reading, this.stage.state(), side, side === "query" ? cell.row : cell.col));
  }

  private point(cell: Cell | null, x: number, y: number): void {
    const moved = cell?.row !== this.hovered?.row || cell?.col !== this.hovered?.col;
    this.hovered = cell;
    if (moved) this.render();
    if (!cell || !this.reading) return this.tip.hide();
    const { rows, cols, maps, quantity } = this.reading;
    const weight = maps[0].weights[cell.row * cols.labels.length + cell.col];
    this.tip.show(
      x,
      y,
      [
        [
          { token: rows.labels[cell.row] },
          " → ",
          { token: cols.labels[cell.col] },
          "  ",
          { number: shownNumber(weight, quantity.largest) },
        ],
        [`${maps[0].name} · ${rows.groups[cell.row][0]} → ${cols.groups[cell.col][0]}`],
      ],
      { width: this.margins.width, height: this.current!.height },
    );
  }

  private by(factor: number): void {
    this.to(zoomed(this.frame, this.zoom, factor, this.frame.width / 2, this.frame.height / 2));
  }

  /** Drawn at once; the state follows when the hand rests. */
  private to(zoom: Zoom): void {
    this.zoom = hold(this.frame, zoom);
    this.render();
    clearTimeout(this.waiting);
    this.waiting = window.setTimeout(() => this.stage.set({ zoom: this.zoom }), 120);
  }

  find(by: 1 | -1): void {
    if (!this.reading) return;
    const { find } = this.stage.state();
    if (find !== this.searched) [this.searched, this.match] = [find, -1]; // as in lines
    const list = matchesInOrder(this.stage.spec, this.stage.state(), this.reading.rows, this.reading.cols);
    if (!list.length) return;
    this.match = stepped(this.match, by, list.length);
    this.reach(list[this.match].side, list[this.match].index);
  }

  key(event: KeyboardEvent): boolean {
    if (event.key === "+" || event.key === "=") this.by(1.6);
    else if (event.key === "-") this.by(1 / 1.6);
    else if (event.key === "0") this.to({ x: 0, y: 0, k: 1 });
    else return false;
    return true;
  }

  scene(): Scene | null {
    return this.current;
  }

  summary(): Summary {
    if (!this.reading) return { kind: "head", as: "heatmap" };
    const { rows, cols, maps } = this.reading;
    const cells = {
      head: maps[0].head,
      name: maps[0].name,
      rows: rows.labels.length,
      columns: cols.labels.length,
      window: seen({ frame: this.frame, zoom: this.zoom }),
      cell: cellSize(this.frame, this.zoom.k),
    };
    return { kind: "head", as: "heatmap", queries: rows.labels, keys: cols.labels, cells, pointed: this.hovered };
  }

  destroy(): void {
    clearTimeout(this.waiting);
    for (const side of ["query", "key"] as const) this.options[side].element.remove();
    this.canvas.remove();
    this.buttons.remove();
    this.tip.element.remove();
  }
}
