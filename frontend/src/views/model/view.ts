// The model view: every layer × head as a thumbnail, drawn layer by layer so that the page never stands still.

import { amount, stackName } from "../../core/words/labels";
import { el, on } from "../../controls/dom";
import { headColour, layerColour } from "../../core/colours";
import { axes, matches } from "../../core/reading/axes";
import { headNumber, type State } from "../../core/input/contract";
import { drawnOf, drawnTitle } from "../../core/reading/quantity";
import { headName } from "../../generated/heads";
import { breathe } from "../../core/schedule";
import { paint } from "../../marks/painters/canvas";
import type { Item, Scene } from "../../marks/scene";
import { matchTicks, partEdges, thumbnailItem, thumbnailOf, type Thumbnail, type ThumbnailLook } from "../../marks/thumbnail";
import type { DrawnThumbnail, Stage, ViewInstance } from "../../registry";
import { isCoarse } from "../pointer";
import { cellAt, cornerOf, gridLayout, type GridLayout } from "./grid";
import { gridBy } from "../../controls/toolbar";
import { legendOf } from "../../controls/legend";
import { largestOf, legendEntries, lineColour, valueAt, valueText } from "../../marks/heads-grid";
import { Large } from "./large";
import { crossedOut, isHeadOff, switchedHead } from "./switch-off";

const DETAIL = 96; // cells a side kept for a heatmap thumbnail
const STRANDS = 40; // tokens a side kept for a bundle of lines

export function modelView(stage: Stage): ViewInstance {
  const canvas = el("canvas", { class: "plot points whole", role: "application", tabindex: "0", "aria-label": stage.labels.drawing });
  const ring = el("div", { class: "ring", hidden: true });
  // The numbers of the layers stay in place while the grid moves sideways.
  const sides = el("div", { class: "sides", "aria-hidden": "true" }, el("div"));
  const scroll = el("div", { class: "scroll" }, sides, canvas, ring);
  const large = new Large(stage);
  // Says that there are heads beyond the right edge.
  const more = el("div", { class: "more", hidden: true, title: stage.labels.more_heads, "aria-hidden": "true" }, "›");
  const showMore = () => (more.hidden = scroll.scrollLeft + scroll.clientWidth >= scroll.scrollWidth - 2);
  on(scroll, "scroll", showMore, { passive: true });
  const legend = el("div", { class: "legend" });
  stage.element.append(scroll, legend, more, large.element);
  let grid: GridLayout = gridLayout(0, 0, 0);
  let current: Scene | null = null;
  let drawn: DrawnThumbnail[] = [];
  let thumbnails = new Map<string, Thumbnail>();
  let thumbnailsFor = "";
  const items = new WeakMap<Thumbnail, { look: string; item: Item }>();
  let at: { row: number; col: number } | null = null;
  let message: HTMLElement | null = null;

  const colourOf = (state: State, row: number, head: number) => {
    const grid = gridBy(stage.spec, state);
    if (grid) return lineColour(grid, valueAt(grid, { row, col: head }), largestOf(grid), stage.theme());
    return state.colour_by === "layer"
      ? layerColour(row, stage.spec.stacks[state.stack].layers.length, stage.theme().dark)
      : headColour(head, stage.theme().dark);
  };

  /** Heads of a layer; of a quantity that does not tell heads apart, the first column alone. */
  const headCount = (state: State, row: number) =>
    drawnOf(stage.spec, state).by_head ? (stage.spec.stacks[state.stack].layers[row]?.n_heads ?? 0) : 1;

  /** The layer and head in a cell, if that layer has that head. */
  const headIn = (cell: { row: number; col: number } | null) => {
    if (!cell) return null;
    const state = stage.state();
    const [row, head] = [state.rows[cell.row], state.columns[cell.col]];
    return row !== undefined && head < headCount(state, row) ? { row, head } : null;
  };

  /** Kept for each look and position: layers arrive one by one, and with each of them the earlier ones are drawn again. */
  const itemOf = (thumb: Thumbnail, how: ThumbnailLook, x: number, y: number, size: number): Item => {
    const look = [how.rescale, how.threshold, how.signed, how.colour, how.theme.dark, how.as, x, y, size].join();
    let kept = items.get(thumb);
    if (kept?.look !== look) items.set(thumb, (kept = { look, item: thumbnailItem(thumb, how, x, y, size, size) }));
    return kept.item;
  };

  const frameItems = (state: State): Item[] => {
    const theme = stage.theme();
    const { layers } = stage.spec.stacks[state.stack];
    const items: Item[] = [{ type: "text", x: 0, y: 12, text: stage.labels.layer, size: 12, fill: theme.muted }];
    state.rows.forEach((row, r) =>
      items.push({
        type: "text",
        x: grid.left - 10,
        y: cornerOf(grid, r, 0)[1] + grid.size / 2,
        text: String(layers[row].layer),
        size: 12,
        mono: true,
        fill: theme.muted,
        anchor: "end",
      }),
    );
    state.columns.forEach((head, c) =>
      items.push({
        type: "text",
        x: cornerOf(grid, 0, c)[0] + grid.size / 2,
        y: 12,
        text: `${grid.size > 48 ? "H" : ""}${headNumber(stage.spec.stacks[state.stack].layers[0], head)}`,
        size: 12,
        mono: true,
        fill: theme.muted,
        anchor: "middle",
      }),
    );
    return items;
  };

  /** All heads on one screen, as far as thumbnails can be seen at that size. */
  const height = () => stage.room(scroll) ?? 0.84 * innerHeight;

  const cells = (state: State): Item[] => {
    const theme = stage.theme();
    const quantity = drawnOf(stage.spec, state);
    const list: Item[] = [];
    drawn = [];
    const sides = axes(stage.spec, state, null);
    const [rowMatches, colMatches] = [matches(sides.rows, state.find), matches(sides.cols, state.find)];
    state.rows.forEach((row, r) =>
      state.columns.forEach((head, c) => {
        const record = stage.spec.stacks[state.stack].layers[row];
        const { layer } = record;
        if (head >= headCount(state, row)) return;
        const [x, y] = cornerOf(grid, r, c);
        const thumb = thumbnails.get(`${row}.${head}`);
        list.push({
          type: "rect",
          x: x - 0.5,
          y: y - 0.5,
          w: grid.size + 1,
          h: grid.size + 1,
          fill: thumb ? undefined : theme.faint,
          stroke: theme.hairline,
          radius: 2,
        });
        if (!thumb) return;
        const colour = colourOf(state, row, head);
        const how = { rescale: state.rescale, threshold: state.threshold, colour, theme, as: state.as, signed: quantity.signed };
        list.push(itemOf(thumb, how, x, y, grid.size));
        if (state.colour_parts) list.push(...partEdges(sides.rows.parts, sides.cols.parts, state.as, x, y, grid.size, theme.dark));
        list.push(...matchTicks(rowMatches, colMatches, state.as, x, y, grid.size, theme.accent));
        const off = isHeadOff(stage, row, head);
        if (off) list.push(...crossedOut(x, y, grid.size, theme));
        drawn.push({
          layer,
          head,
          name: headName(layer, headNumber(record, head)),
          x,
          y,
          width: grid.size,
          height: grid.size,
          colour,
          off,
        });
      }),
    );
    return list;
  };

  const placeSides = (state: State) => {
    const column = sides.firstElementChild as HTMLElement;
    const { layers } = stage.spec.stacks[state.stack];
    sides.hidden = grid.width <= scroll.clientWidth;
    column.style.cssText = `width:${grid.left - 4}px;height:${grid.height}px`;
    const labelAt = (text: string, y: number, name = "") => {
      const label = el("span", { class: name }, text);
      label.style.top = `${y}px`;
      return label;
    };
    column.replaceChildren(
      labelAt(stage.labels.layer, 12, "word"),
      ...state.rows.map((row, r) => labelAt(String(layers[row].layer), cornerOf(grid, r, 0)[1] + grid.size / 2)),
    );
  };

  const render = () => {
    const state = stage.state();
    current = { width: grid.width, height: grid.height, background: stage.theme().ground, items: [...frameItems(state), ...cells(state)] };
    paint(canvas, current);
  };

  /** Everything a thumbnail depends on except colour, threshold and position. */
  const key = (s: State) =>
    [s.stack, s.level, s.segments, s.query_part, s.key_part, s.hide_special, s.hide_sink, s.renormalise, s.as, s.drawn].join();

  const makeLayer = async (state: State, row: number, into: Map<string, Thumbnail>) => {
    const { rows, cols } = await stage.reader.sides({ ...state, layer: row });
    for (const head of state.columns) {
      if (head >= headCount(state, row) || into.has(`${row}.${head}`)) continue;
      const weights = await stage.reader.map({ ...state, layer: row }, row, head, rows, cols, "coarse");
      into.set(`${row}.${head}`, thumbnailOf(weights, cols.labels.length, state.as === "heatmap" ? DETAIL : STRANDS));
    }
  };

  const point = (cell: { row: number; col: number } | null) => {
    if (cell?.row === at?.row && cell?.col === at?.col) return;
    at = headIn(cell) ? cell : null;
    const head = headIn(at);
    ring.hidden = !head;
    if (!at || !head) return large.hide();
    const [x, y] = cornerOf(grid, at.row, at.col);
    ring.style.cssText = `left:${x - 2}px;top:${y - 2}px;width:${grid.size + 4}px;height:${grid.size + 4}px`;
    const box = { x: x - scroll.scrollLeft, y, size: grid.size, width: stage.element.clientWidth, height: grid.height };
    void large.show(
      stage.state(),
      head.row,
      head.head,
      colourOf(stage.state(), head.row, head.head),
      box,
      thumbnails.get(`${head.row}.${head.head}`),
    );
  };

  const open = (cell: { row: number; col: number } | null) => {
    const head = headIn(cell);
    if (head) stage.set({ opened: true, layer: head.row, heads: [head.head], locked: [], zoom: { x: 0, y: 0, k: 1 } });
  };

  const cellUnder = (event: MouseEvent) => {
    const box = canvas.getBoundingClientRect();
    const state = stage.state();
    return cellAt(grid, state.rows.length, state.columns.length, event.clientX - box.left, event.clientY - box.top);
  };
  on(canvas, "pointermove", (event) => event.pointerType !== "touch" && point(cellUnder(event)));
  on(canvas, "pointerleave", () => point(null));
  on(canvas, "click", (event) => open(cellUnder(event)));
  on(canvas, "contextmenu", (event) => {
    const head = headIn(cellUnder(event));
    if (head && switchedHead(stage, head.row, head.head)) event.preventDefault();
  });

  return {
    async draw(live) {
      const state = stage.state();
      message?.remove();
      message = null;
      const empty = !state.rows.length || !state.columns.length;
      scroll.hidden = empty;
      if (empty) more.hidden = true;
      if (empty) {
        drawn = [];
        current = null;
        stage.element.append((message = el("div", { class: "message", role: "status" }, stage.labels.empty_rows)));
        return;
      }
      if (thumbnailsFor !== key(state)) thumbnails = new Map();
      thumbnailsFor = key(state);
      grid = gridLayout(stage.element.clientWidth, state.rows.length, state.columns.length, isCoarse(), height());
      point(null);
      placeSides(state);
      const by = gridBy(stage.spec, state);
      legend.replaceChildren(...(by ? [el("strong", {}, by.title), ...legendOf(by, stage.theme(), stage.labels)] : []));
      legend.hidden = !by;
      render();
      showMore();
      let last = performance.now();
      for (const row of state.rows) {
        if (state.columns.every((head) => head >= headCount(state, row) || thumbnails.has(`${row}.${head}`))) continue;
        await makeLayer(state, row, thumbnails);
        if (!live()) return;
        if (performance.now() - last > 200) {
          render();
          await breathe();
          last = performance.now();
        }
        if (!live()) return;
      }
      render();
    },
    scene: () => current,
    legend() {
      const by = gridBy(stage.spec, stage.state());
      return by ? legendEntries(by, stage.theme()) : [];
    },
    summary: () => ({ kind: "model", as: stage.state().as, thumbnails: drawn }),
    title: () => drawnTitle(stage.spec, stage.state(), stage.labels, stage.labels.model_title),
    caption() {
      const state = stage.state();
      const stack = stage.spec.stacks[state.stack];
      const n = stage.spec.texts[stack.query_text].tokens.length;
      const name = stage.spec.stacks.length > 1 ? `${stackName(stage.labels, stack.name)} · ` : "";
      const { labels } = stage;
      const size = `${amount(labels, "layers", state.rows.length)} × ${amount(labels, "heads", state.columns.length)}`;
      return `${stage.spec.model} · ${name}${size} · ${amount(labels, "tokens", n)}`;
    },
    key(event) {
      const step: Record<string, [number, number]> = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
      const state = stage.state();
      if (state.opened) return false; // the view of the opened head is drawn next
      if (event.key in step) {
        const [dr, dc] = step[event.key];
        const hold = (value: number, n: number) => Math.max(0, Math.min(n - 1, value));
        point(at ? { row: hold(at.row + dr, state.rows.length), col: hold(at.col + dc, state.columns.length) } : { row: 0, col: 0 });
        ring.scrollIntoView({ block: "nearest", inline: "nearest" });
        const head = headIn(at);
        const layer = head && stage.spec.stacks[state.stack].layers[head.row];
        const by = gridBy(stage.spec, state);
        const number = head && by ? ` ${by.title}: ${valueText(by, valueAt(by, { row: head.row, col: head.head }))}` : "";
        if (head && layer) stage.announce(headName(layer.layer, headNumber(layer, head.head)) + number);
        return true;
      }
      if ((event.key === "Enter" || event.key === " ") && at) {
        open(at);
        return true;
      }
      const pointed = event.key === "o" ? headIn(at) : null;
      if (pointed) return switchedHead(stage, pointed.row, pointed.head);
      if (event.key === "Escape" && at) {
        point(null);
        return true;
      }
      return false;
    },
    destroy() {
      scroll.remove();
      legend.remove();
      more.remove();
      large.element.remove();
    },
  };
}
