// The query's text as words to choose from.

import { el, on } from "../../controls/dom";
import type { TextSpec } from "../../core/input/contract";
import { pieces } from "../../core/words/tokens";

export class Sentence {
  readonly element: HTMLElement;
  private buttons: HTMLButtonElement[] = [];
  private text: TextSpec | null = null;
  private shown = -1;

  constructor(
    label: string,
    private choose: (token: number) => void,
  ) {
    this.element = el("div", { class: "sentence", role: "radiogroup", "aria-label": label }, el("span", { class: "name" }, label));
    on(this.element, "keydown", (event) => this.key(event));
  }

  private key(event: KeyboardEvent): void {
    const shown = this.buttons.filter((button) => !button.hidden);
    const at = shown.indexOf(event.composedPath()[0] as HTMLButtonElement);
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: shown.length - 1 }[event.key];
    if (at < 0 || to === undefined || !shown[to]) return;
    event.preventDefault();
    event.stopPropagation();
    shown[to].focus();
    this.choose(this.buttons.indexOf(shown[to]));
  }

  update(text: TextSpec, chosen: number, allowed: Set<number>, isMatch: boolean[]): void {
    if (this.text !== text) {
      this.buttons = text.tokens.map((token, i) => {
        const { mark, body } = pieces(token);
        const button = el(
          "button",
          { type: "button", role: "radio", "data-token": i, "data-special": text.special[i] },
          mark && el("span", { class: "mark" }, mark),
          body,
        );
        on(button, "click", () => this.choose(i));
        return button;
      });
      this.element.replaceChildren(this.element.firstChild!, ...this.buttons);
      this.text = text;
    }
    this.buttons.forEach((button, i) => {
      button.hidden = !allowed.has(i);
      button.setAttribute("aria-checked", String(i === chosen));
      button.tabIndex = i === chosen ? 0 : -1;
      button.toggleAttribute("data-found", isMatch[i] ?? false);
    });
    if (this.shown !== chosen) this.bring(this.buttons[chosen]);
    this.shown = chosen;
  }

  /** Scrolls within the list only, never the page. */
  private bring(button: HTMLButtonElement | undefined): void {
    if (!button) return;
    const topOf = (each: HTMLElement) => each.offsetTop - this.element.offsetTop;
    const top = topOf(button);
    const { scrollTop, clientHeight } = this.element;
    if (top >= scrollTop && top + button.offsetHeight <= scrollTop + clientHeight) return;
    let first = this.buttons.indexOf(button); // the first button of the row before: no row is cut through at the top
    while (first > 0 && (this.buttons[first].hidden || topOf(this.buttons[first]) === top)) first--;
    const before = topOf(this.buttons[first]);
    this.element.scrollTop = before < button.offsetHeight ? 0 : before;
  }
}
