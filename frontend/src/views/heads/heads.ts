// A grid of heads in a host of its own: cells to click, arrow keys, spoken names, a legend, and large buttons for fingers.

import { el, on } from "../../controls/dom";
import { legendOf } from "../../controls/legend";
import { themeOf, watchTheme } from "../../core/theme";
import {
  type CellAt,
  type CellsLayout,
  cellAt,
  cellItems,
  cellsLayout,
  cornerOf,
  isMeasured,
  nameOf,
  valueAt,
  valueText,
} from "../../marks/heads-grid";
import type { HeadGrid } from "../../core/input/contract";
import { paint } from "../../marks/painters/canvas";
import { toSvg } from "../../marks/painters/svg";
import type { Scene } from "../../marks/scene";
import { Tip } from "../tip";
import { CSS } from "../../style";
import { offParts } from "../../core/state/off";

export interface GridWords {
  previous: string;
  next: string;
  estimate: string;
  measured: string;
  switched_off: string;
}

export interface GridData extends HeadGrid {
  /** The head that is shown elsewhere (L8·H10), and those that are switched off, with ";" between. */
  lit?: string;
  off?: string;
  words: GridWords;
  theme?: "system" | "light" | "dark";
  /** How high the cells may be together, px; with cells of 16 px they may become higher. */
  height?: number;
}

export interface GridHandle {
  update(data: GridData): void;
  destroy(): void;
  /** What is on screen, for tests. */
  scene(): { cells: { name: string; x: number; y: number; size: number; value: number | null; measured: boolean }[]; turned: boolean };
  svg(): string;
}

let serial = 0;

/** Puts the grid into an element. `choose` hears of each cell that is clicked, tapped or entered. */
export function mountGrid(
  element: HTMLElement,
  first: GridData,
  choose: (head: { layer: number; head: number; stack: string }) => void,
): GridHandle {
  let data = first;
  let layout: CellsLayout = cellsLayout(300, 300, 1, 1);
  let at: CellAt | null = null;
  let drawnWidth = 0;
  const id = `g${++serial}`;
  const host = el("div");
  const root = host.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(CSS);
  root.adoptedStyleSheets = [sheet];
  const canvas = el("canvas", { class: "plot points whole", role: "img" });
  const option = el("div", { role: "option", id: `${id}-head` });
  const list = el("div", { class: "cells", role: "listbox", tabindex: "0", "aria-activedescendant": `${id}-head` }, canvas, option);
  const tip = new Tip();
  const legend = el("div", { class: "legend" });
  const step = (name: string, text: string, by: number) => {
    const button = el("button", { type: "button", "data-name": name }, text);
    on(button, "click", () => stepBy(by));
    return button;
  };
  const [previous, next] = [step("previous", "‹", -1), step("next", "›", 1)];
  const chosen = el("span", { class: "chosen", role: "status" });
  const bar = el("div", { class: "stepbar" }, previous, chosen, next);
  const box = el("div", { class: "view", "data-bare": true }, list, bar, legend, tip.element);
  root.append(box);
  element.append(host);

  const theme = () => themeOf(data.theme ?? "system");
  const scene = (): Scene => ({
    width: layout.width,
    height: layout.height,
    background: theme().ground,
    items: cellItems(data, layout, { theme: theme(), lit: data.lit ?? "", off: new Set(offParts(data.off ?? "")) }),
  });
  const said = (cell: CellAt): string => {
    const off = offParts(data.off ?? "").includes(nameOf(data, cell)) ? `, ${data.words.switched_off}` : "";
    const estimate = isMeasured(data, cell) ? "" : ` (${data.words.estimate})`;
    return `${nameOf(data, cell)} ${valueText(data, valueAt(data, cell))}${estimate}${off}`;
  };
  const named = (name: string | undefined): CellAt | null => {
    for (let row = 0; row < data.layers.length; row++)
      for (let col = 0; col < data.heads[row]; col++) if (nameOf(data, { row, col }) === name) return { row, col };
    return null;
  };
  const isHead = (cell: CellAt | null): cell is CellAt => !!cell && cell.row < data.layers.length && cell.col < data.heads[cell.row];

  const render = () => {
    const width = host.clientWidth;
    if (!width) return;
    drawnWidth = width;
    box.dataset.theme = theme().dark ? "dark" : "light";
    layout = cellsLayout(width, data.height ?? 420, data.layers.length, Math.max(1, ...data.heads));
    paint(canvas, scene());
    list.setAttribute("aria-label", data.title);
    canvas.setAttribute("aria-hidden", "true");
    place();
    const lit = named(data.lit);
    bar.hidden = !lit;
    chosen.textContent = lit ? said(lit) : "";
    previous.setAttribute("aria-label", data.words.previous);
    next.setAttribute("aria-label", data.words.next);
    legend.replaceChildren(...legendOf(data, theme(), data.words));
    element.setAttribute("data-drawn", "");
  };

  /** The cell that keys move from, as the option that screen readers say. */
  const place = () => {
    const cell = isHead(at) ? at : (named(data.lit) ?? { row: 0, col: 0 });
    const [x, y] = cornerOf(layout, cell);
    option.textContent = said(cell);
    option.setAttribute("aria-selected", String(nameOf(data, cell) === data.lit));
    option.style.cssText = `left:${x - 2}px;top:${y - 2}px;width:${layout.size + 4}px;height:${layout.size + 4}px`;
  };

  const point = (cell: CellAt | null) => {
    at = isHead(cell) ? cell : null;
    if (!at) return tip.hide();
    const [x, y] = cornerOf(layout, at);
    place();
    tip.show(x + layout.size, y, [[said(at)], ...(data.scale === "role" ? [] : [[data.title]])], {
      width: host.clientWidth,
      height: layout.height,
    });
  };

  const send = (cell: CellAt | null) => {
    if (isHead(cell)) choose({ layer: data.layers[cell.row], head: cell.col, stack: data.stack ?? "" });
  };

  const stepBy = (by: number) => {
    const every = data.layers.flatMap((_, row) => Array.from({ length: data.heads[row] }, (__, col) => ({ row, col })));
    const now = every.findIndex((cell) => nameOf(data, cell) === data.lit);
    send(every[(now + by + every.length) % every.length]);
  };

  const under = (event: MouseEvent): CellAt | null => {
    const { left, top } = canvas.getBoundingClientRect();
    return cellAt(layout, event.clientX - left, event.clientY - top);
  };
  on(canvas, "pointermove", (event) => event.pointerType !== "touch" && point(under(event)));
  on(canvas, "pointerleave", () => point(null));
  on(canvas, "click", (event) => send(under(event)));
  on(list, "focus", () => {
    if (list.matches(":focus-visible")) point(at ?? named(data.lit) ?? { row: 0, col: 0 });
  });
  on(list, "blur", () => tip.hide());
  on(list, "keydown", (event) => {
    const from = at ?? named(data.lit) ?? { row: 0, col: 0 };
    const moves: Record<string, [number, number]> = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    if (event.key in moves) {
      const [down, across] = moves[event.key];
      const [dr, dc] = layout.turned ? [across, down] : [down, across];
      const row = Math.max(0, Math.min(data.layers.length - 1, from.row + dr));
      point({ row, col: Math.max(0, Math.min(data.heads[row] - 1, from.col + dc)) });
    } else if (event.key === "Enter" || event.key === " ") send(from);
    else if (event.key === "Escape" && at) point(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  const watch = new ResizeObserver(() => Math.abs(host.clientWidth - drawnWidth) >= 1 && render());
  watch.observe(host);
  const unwatch = watchTheme(render);
  render();

  return {
    update(now) {
      data = now;
      render();
    },
    destroy() {
      watch.disconnect();
      unwatch();
      host.remove();
    },
    scene: () => ({
      turned: layout.turned,
      cells: data.layers.flatMap((_, row) =>
        Array.from({ length: data.heads[row] }, (__, col) => {
          const [x, y] = cornerOf(layout, { row, col });
          return {
            name: nameOf(data, { row, col }),
            x,
            y,
            size: layout.size,
            value: valueAt(data, { row, col }),
            measured: isMeasured(data, { row, col }),
          };
        }),
      ),
    }),
    svg: () => toSvg(scene(), () => ""),
  };
}
