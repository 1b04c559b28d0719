// The tokens for people who do not see the canvas or do not point: a list box a column, one stop of the tab key each.

import { el, on } from "../controls/dom";
import type { Axis } from "../core/reading/axes";
import { visible } from "../core/words/tokens";

export interface Box {
  x: number;
  y: number;
  w: number;
  h: number;
}

let serial = 0;

export class TokenOptions {
  readonly element: HTMLElement;
  private active = 0;
  private count = 0;
  private id = `t${++serial}`;

  constructor(
    label: string,
    private act: { move(index: number): void; choose(index: number): void; leave(): void },
    /** Tokens stand side by side: left and right go from one to the next, up and down are left to the view. */
    private beside = false,
  ) {
    this.element = el("div", { class: "tokens", role: "listbox", tabindex: "0", "aria-label": label, "aria-multiselectable": "true" });
    on(this.element, "keydown", (event) => this.key(event));
    on(this.element, "focus", () => this.act.move(this.active));
    on(this.element, "blur", () => this.act.leave());
  }

  private key(event: KeyboardEvent): void {
    const moves: Record<string, number> = {
      [this.beside ? "ArrowRight" : "ArrowDown"]: this.active + 1,
      [this.beside ? "ArrowLeft" : "ArrowUp"]: this.active - 1,
      Home: 0,
      End: this.count - 1,
      PageDown: this.active + 10,
      PageUp: this.active - 10,
    };
    if (event.key in moves) {
      this.active = Math.max(0, Math.min(this.count - 1, moves[event.key]));
      this.act.move(this.active);
    } else if (event.key === "Enter" || event.key === " ") this.act.choose(this.active);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Options for what can be seen, and always for the active one. */
  update(axis: Axis, [first, last]: [number, number], boxOf: (i: number) => Box, chosen: Set<number>): void {
    this.count = axis.labels.length;
    this.active = Math.max(0, Math.min(this.active, this.count - 1));
    const wanted = new Set<number>([this.active]);
    for (let i = first; i <= last; i++) wanted.add(i);
    const options = [...wanted].filter((i) => i < this.count).sort((a, b) => a - b);
    while (this.element.children.length > options.length) this.element.lastChild!.remove();
    while (this.element.children.length < options.length) this.element.append(el("div", { role: "option" }));
    options.forEach((i, at) => {
      const option = this.element.children[at] as HTMLElement;
      const { x, y, w, h } = boxOf(i);
      const text = visible(axis.labels[i]);
      if (option.textContent !== text) option.textContent = text;
      option.id = `${this.id}-${i}`;
      option.style.cssText = `left:${x}px;top:${y}px;width:${w}px;height:${h}px`;
      option.setAttribute("aria-selected", String(chosen.has(i)));
      option.setAttribute("aria-posinset", String(i + 1));
      option.setAttribute("aria-setsize", String(this.count));
      option.toggleAttribute("data-active", i === this.active);
    });
    if (this.count) this.element.setAttribute("aria-activedescendant", `${this.id}-${this.active}`);
  }
}
