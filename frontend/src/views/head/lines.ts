// The head view as lines: pointer, keyboard and scrolling around the scene.

import { el, on } from "../../controls/dom";
import { shownHeads } from "../../controls/heads";
import { matches } from "../../core/reading/axes";
import { matchesInOrder, stepped } from "../../core/reading/find";
import type { Reading } from "../../core/reading/reading";
import { paint, paintAhead } from "../../marks/painters/canvas";
import type { Entry, Lines, Scene } from "../../marks/scene";
import type { DrawnLine, Stage, Summary } from "../../registry";
import { type Focus, focusOf, lockedIndices, numbersShown, sideOf, spoken, toggled, type Side } from "./focus";
import { linesLayout, MOST_ZOOM, rowAt, rowY, visibleRows, type LinesLayout } from "./layout";
import { isCoarse } from "../pointer";
import { TokenOptions } from "../options";
import { legendOf, type LinesInput, linesItem, linesScene, widestToken } from "./scene-lines";
import { mutedColumn } from "./sink";
import { fadeOff, switchedLine } from "./switch-off";
import { zoomGestures } from "./zoom-gestures";

const MOVING = 5000; // lines drawn while scrolling
const FIRST = 300; // lines drawn at once when a page opens; the fainter ones follow
const REST = 140; // ms

export class LinesPart {
  private canvas = el("canvas", { class: "plot points", role: "img" });
  private spacer = el("div");
  private scroll = el("div", { class: "scroll" });
  private options: Record<Side, TokenOptions>;
  private reading: Reading | null = null;
  private layout: LinesLayout | null = null;
  private hovered: { side: Side; index: number } | null = null;
  private whole: { key: string; lines: Lines } | null = null;
  private current: Scene | null = null;
  private lines: Lines | null = null;
  private drawnAt = 0;
  private searched = "";
  private match = -1;
  private resting = 0;
  private opening = true;
  private isPartial = false;
  private runs = 0; // calls of render so far
  private keep: { row: number; y: number } | null = null;

  constructor(private stage: Stage) {
    this.canvas.setAttribute("aria-label", stage.labels.drawing);
    const list = (side: Side, label: string) =>
      new TokenOptions(label, {
        move: (index) => this.reach(side, index),
        choose: (index) => this.reading && stage.set(toggled(this.reading, stage.state(), side, index)),
        leave: () => this.hover(null),
      });
    this.options = { query: list("query", stage.labels.queries), key: list("key", stage.labels.keys) };
    this.spacer.append(this.options.query.element, this.options.key.element, this.canvas);
    this.scroll.append(this.spacer);
    stage.element.append(this.scroll);
    on(this.scroll, "scroll", () => this.scrolled(), { passive: true });
    zoomGestures(this.scroll, (factor, clientY) => this.zoomBy(factor, clientY));
    on(this.canvas, "pointermove", (event) => this.hover(event.pointerType === "touch" ? null : this.at(event)));
    on(this.canvas, "pointerleave", () => this.hover(null));
    on(this.canvas, "click", (event) => {
      const target = this.at(event);
      if (target && this.reading) stage.set(toggled(this.reading, stage.state(), target.side, target.index));
      else this.switched(event);
    });
    on(this.canvas, "contextmenu", (event) => {
      if (!this.at(event) && this.switched(event)) event.preventDefault();
    });
  }

  async draw(current: () => boolean): Promise<void> {
    const reading = await this.stage.reader.read(this.stage.state(), shownHeads(this.stage.spec, this.stage.state()));
    if (!current()) return;
    this.reading = reading;
    this.whole = null;
    this.measure();
    if (this.keep) this.scroll.scrollTop = this.keep.row * this.layout!.row - this.keep.y;
    this.keep = null;
    this.bringMatch();
    this.render(this.opening ? FIRST : Infinity);
    if (this.opening) this.finishSoon();
    this.opening = false;
  }

  /** What was just searched for is brought into the window, if no match is there already. */
  private bringMatch(): void {
    const { find } = this.stage.state();
    if (find === this.searched) return;
    this.searched = find;
    this.match = -1;
    this.hovered = null;
    const { rows, cols } = this.reading!;
    const indices = [rows, cols].flatMap((axis) => matches(axis, find).flatMap((yes, i) => (yes ? [i] : [])));
    const [first, last] = visibleRows(this.layout!, Infinity, this.scroll.scrollTop);
    if (!indices.length || indices.some((i) => i > first && i < last - 1)) return;
    this.scroll.scrollTop = Math.min(...indices) * this.layout!.row - this.layout!.height / 3;
  }

  private measure(): void {
    const { rows, cols, maps } = this.reading!;
    const room = this.stage.room(this.scroll);
    const window = Math.max(360, room === null ? Math.min(760, innerHeight * 0.72) : Math.min(1200, room));
    const layout = linesLayout({
      width: this.stage.element.clientWidth,
      window,
      rows: rows.labels.length,
      cols: cols.labels.length,
      widest: (size) => [widestToken(rows, size), widestToken(cols, size)],
      maps: maps.length,
      zoom: this.stage.state().zoom.k,
      coarse: isCoarse(),
    });
    this.layout = layout;
    this.scroll.style.height = `${layout.height}px`;
    this.spacer.style.height = `${layout.full}px`;
    this.spacer.style.width = `${layout.width}px`;
  }

  /** Larger or smaller rows; the row under the pointer (or the first one) keeps its position. */
  zoomBy(factor: number, clientY?: number): void {
    const { layout } = this;
    if (!layout) return;
    const before = this.stage.state().zoom.k;
    const k = Math.max(1, Math.min(MOST_ZOOM, before * factor));
    if (k === before) return;
    const y = clientY === undefined ? 0 : Math.max(0, clientY - this.scroll.getBoundingClientRect().top - layout.top);
    this.keep = { row: (this.scroll.scrollTop + y) / layout.row, y };
    this.stage.set({ zoom: { x: 0, y: 0, k } });
  }

  key(event: KeyboardEvent): boolean {
    const factors: Record<string, number> = { "+": 1.25, "=": 1.25, "-": 1 / 1.25, "0": 0 };
    if (!(event.key in factors)) return false;
    this.zoomBy(factors[event.key]);
    return true;
  }

  /** While the list moves the strongest lines are enough; all of them when it rests. */
  private scrolled(): void {
    if (this.drawnAt === this.scroll.scrollTop) return;
    this.render(MOVING);
    this.finishSoon();
  }

  private finishSoon(): void {
    clearTimeout(this.resting);
    this.resting = window.setTimeout(() => void this.finishGently(), REST);
  }

  /** Draws the lines that were left out for speed, unless something else is drawn meanwhile. */
  private async finishGently(): Promise<void> {
    if (!this.isPartial) return;
    const run = this.runs;
    const whole = this.wholeLines();
    if (whole) await paintAhead(whole, this.canvas, () => run === this.runs);
    if (run === this.runs) this.render();
  }

  /** Draws them now, in one go. */
  private finish(): void {
    clearTimeout(this.resting);
    if (this.isPartial) this.render();
  }

  private input(): LinesInput {
    const { stage, reading, layout } = this;
    const scroll = this.scroll.scrollTop;
    return {
      reading: reading!,
      state: stage.state(),
      theme: stage.theme(),
      labels: stage.labels,
      layout: layout!,
      scroll,
      muted: mutedColumn(reading!, stage.state()),
    };
  }

  /** Every line in sight, kept until something moves; null where only some tokens' lines are shown. */
  private wholeLines(): Lines | null {
    const input = this.input();
    if (focusOf(input.reading, input.state, this.hovered)) return null;
    const key = `${input.scroll} ${input.layout.width} ${input.theme.dark}`;
    if (this.whole?.key !== key) this.whole = { key, lines: this.item(input, null) };
    return this.whole.lines;
  }

  private item(input: LinesInput, focus: Focus | null, budget?: number): Lines {
    const lines = linesItem(input, focus, budget);
    fadeOff(this.stage, input.reading, lines);
    return lines;
  }

  private render(budget = Infinity): void {
    if (!this.reading || !this.layout) return;
    this.runs++;
    const input = this.input();
    const focus = focusOf(input.reading, input.state, this.hovered);
    this.lines = (budget === Infinity ? this.wholeLines() : null) ?? this.item(input, focus, budget);
    this.isPartial = budget !== Infinity;
    this.drawnAt = input.scroll;
    this.current = linesScene(input, focus, this.lines);
    paint(this.canvas, this.current);
    this.placeOptions(input.scroll);
  }

  private placeOptions(scroll: number): void {
    const { reading, layout } = this;
    const locked = lockedIndices(reading!, this.stage.state());
    for (const side of ["query", "key"] as const) {
      const axis = side === "query" ? reading!.rows : reading!.cols;
      const room = layout!.tokens[side === "query" ? 0 : 1];
      const x = side === "query" ? layout!.x1 - 8 - room : layout!.x2 + 8;
      const box = (i: number) => ({ x, y: rowY(layout!, i, scroll) - layout!.row / 2, w: room, h: layout!.row });
      this.options[side].update(
        axis,
        visibleRows(layout!, axis.labels.length, scroll),
        box,
        side === sideOf(this.stage.state()) ? locked : new Set(),
      );
    }
  }

  private at(event: MouseEvent): { side: Side; index: number } | null {
    const { layout, reading } = this;
    if (!layout || !reading) return null;
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const side: Side | null = x <= layout.x1 + 12 ? "query" : x >= layout.x2 - 12 ? "key" : null;
    const index = rowAt(layout, y, this.scroll.scrollTop);
    if (!side || y < layout.top || index < 0) return null;
    return index < (side === "query" ? reading.rows : reading.cols).labels.length ? { side, index } : null;
  }

  private switched(event: MouseEvent): boolean {
    const box = this.canvas.getBoundingClientRect();
    return switchedLine(this.stage, this.reading, this.lines, event.clientX - box.left, event.clientY - box.top);
  }

  private hover(to: { side: Side; index: number } | null): void {
    if (this.hovered?.side === to?.side && this.hovered?.index === to?.index) return;
    this.hovered = to;
    this.render();
  }

  /** Keyboard: brings the token into the window, shows its attention and says it. */
  private reach(side: Side, index: number): void {
    if (!this.layout || !this.reading) return;
    const top = index * this.layout.row;
    const room = this.layout.height - this.layout.top - this.layout.row;
    if (top < this.scroll.scrollTop) this.scroll.scrollTop = top;
    else if (top > this.scroll.scrollTop + room) this.scroll.scrollTop = top - room;
    this.hovered = { side, index };
    this.render();
    this.stage.announce(spoken(this.reading, focusOf(this.reading, this.stage.state(), this.hovered), this.stage.labels));
  }

  find(by: 1 | -1): void {
    if (!this.reading || !this.layout) return;
    const { find } = this.stage.state();
    if (find !== this.searched) [this.searched, this.match] = [find, -1]; // Enter came before the search was drawn
    const list = matchesInOrder(this.stage.spec, this.stage.state(), this.reading.rows, this.reading.cols);
    if (!list.length) return;
    this.match = stepped(this.match, by, list.length);
    const { side, index } = list[this.match];
    this.reach(side, index);
    const spokenFocus = spoken(this.reading, focusOf(this.reading, this.stage.state(), this.hovered), this.stage.labels);
    this.stage.announce(`${this.stage.labels.match} ${this.match + 1} / ${list.length}. ${spokenFocus}`);
  }

  /** What the lines are drawn from. */
  shown(): Reading | null {
    return this.reading;
  }

  scene(): Scene | null {
    this.finish();
    return this.current;
  }

  legend(): Entry[] {
    return this.reading ? legendOf(this.reading, this.stage.theme()) : [];
  }

  summary(): Summary {
    this.finish();
    const { reading, lines } = this;
    if (!reading || !lines) return { kind: "head", as: "lines", lines: [] };
    const { set } = lines;
    const drawn: DrawnLine[] = [];
    for (let i = 0; i < set.count; i++)
      drawn.push({
        from: reading.rows.groups[set.from[i]][0],
        to: reading.cols.groups[set.to[i]][0],
        head: reading.maps[set.map[i] % reading.maps.length].head,
        weight: set.weight[i],
        opacity: set.opacity[i],
      });
    const focus = focusOf(reading, this.stage.state(), this.hovered);
    const other: Side = focus?.side === "query" ? "key" : "query";
    const groups = other === "key" ? reading.cols.groups : reading.rows.groups;
    const numbers = [...(numbersShown(reading, focus)?.values ?? [])].map((value, i) => ({ side: other, position: groups[i][0], value }));
    return { kind: "head", as: "lines", queries: reading.rows.labels, keys: reading.cols.labels, lines: drawn, numbers };
  }

  destroy(): void {
    this.runs++;
    clearTimeout(this.resting);
    this.scroll.remove();
  }
}
