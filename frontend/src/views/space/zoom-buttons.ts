// The three buttons of a plot: nearer, farther, all of it.

import { el, on } from "../../controls/dom";
import type { Labels } from "../../core/words/labels";

export function zoomButtons(labels: Labels, by: (factor: number) => void, all: () => void): HTMLElement {
  const button = (name: string, label: string, text: string, act: () => void) => {
    const element = el("button", { type: "button", "data-name": name, "aria-label": label, title: label }, text);
    on(element, "click", act);
    return element;
  };
  return el(
    "div",
    { class: "zoom" },
    button("zoom_in", labels.zoom_in, "+", () => by(1.6)),
    button("zoom_out", labels.zoom_out, "−", () => by(1 / 1.6)),
    button("zoom_fit", labels.zoom_all, "⤢", all),
  );
}
