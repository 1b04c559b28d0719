// The quiet line under each view, and the page behind it: carried in the bundle, so that it opens offline.

import page from "../../../docs/attention-is-not-importance.md";
import type { Labels } from "../core/words/labels";
import { blocks, type Block, type Inline } from "../core/words/markdown";
import { el, on } from "./dom";

function span(part: Inline): Node {
  switch (part.type) {
    case "text":
      return document.createTextNode(part.text);
    case "link":
      return el("a", { href: part.href, target: "_blank", rel: "noopener noreferrer" }, part.text);
    default:
      return el(part.type, {}, part.text);
  }
}

function written(block: Block): HTMLElement {
  switch (block.type) {
    case "heading":
      return el(block.level === 1 ? "h2" : "h3", {}, ...block.inline.map(span));
    case "paragraph":
      return el("p", {}, ...block.inline.map(span));
    case "list":
      return el(block.ordered ? "ol" : "ul", {}, ...block.items.map((item) => el("li", {}, ...item.map(span))));
  }
}

export interface Note {
  line: HTMLElement;
  dialog: HTMLDialogElement;
  /** What the drawing shows, and what it does not. */
  about(text: string): void;
  /** The keys of the view on screen. */
  help(text: string): void;
}

/** The dialog keeps its keys to itself, escape included: the view behind it must not answer them. */
export function note(labels: Labels): Note {
  const close = el("button", { type: "button", class: "close", "aria-label": labels.close, title: labels.close }, "×");
  const dialog = el("dialog", { class: "page", "aria-label": labels.note_link }, el("div", { class: "corner" }, close));
  const opener = el("button", { type: "button", class: "quiet", "data-name": "note", "aria-haspopup": "dialog" }, labels.note_link);
  on(opener, "click", () => {
    if (!dialog.querySelector("article"))
      dialog.append(el("article", { tabindex: "0", "aria-label": labels.note_link }, ...blocks(labels.note_page || page).map(written)));
    dialog.showModal();
    dialog.querySelector("article")!.scrollTop = 0;
  });
  on(close, "click", () => dialog.close());
  on(dialog, "keydown", (event) => event.stopPropagation());
  on(dialog, "pointerdown", (event) => {
    const box = dialog.getBoundingClientRect();
    const inside = event.clientX >= box.left && event.clientX <= box.right && event.clientY >= box.top && event.clientY <= box.bottom;
    if (!inside) dialog.close();
  });
  const keys = el("span", { class: "keys", "aria-label": labels.keyboard });
  const words = el("span", {}, labels.note);
  return {
    line: el("p", { class: "note" }, el("span", {}, words, " ", opener), keys),
    dialog,
    about: (text) => (words.textContent = text),
    help: (text) => (keys.textContent = text),
  };
}
