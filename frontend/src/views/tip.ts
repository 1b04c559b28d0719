// The small box with exact numbers beside the pointer.

import { el } from "../controls/dom";
import { visible } from "../core/words/tokens";

export class Tip {
  readonly element = el("div", { class: "tip", hidden: true });

  /** Lines of words; a token is passed as {token} and isolated from the text around it. */
  show(x: number, y: number, lines: (string | { token: string } | { number: string })[][], room: { width: number; height: number }): void {
    const part = (piece: string | { token: string } | { number: string }): Node => {
      if (typeof piece === "string") return document.createTextNode(piece);
      if ("token" in piece) return el("bdi", {}, visible(piece.token));
      return el("span", { class: "number" }, piece.number);
    };
    this.element.replaceChildren(...lines.map((line) => el("div", {}, ...line.map(part))));
    this.element.hidden = false;
    const { offsetWidth: w, offsetHeight: h } = this.element;
    const left = x + 14 + w > room.width ? x - 14 - w : x + 14;
    this.element.style.left = `${Math.max(0, left)}px`;
    this.element.style.top = `${Math.max(0, Math.min(room.height - h, y + 12))}px`;
  }

  hide(): void {
    this.element.hidden = true;
  }
}
