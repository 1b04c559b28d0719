// Zoom of the head view's lines.

import { MOST_ZOOM } from "../views/head/layout";
import type { Control } from "./controls";
import { el, on } from "./dom";
import type { ToolbarHost } from "./toolbar";

/** Larger and smaller lines; the heatmap has buttons of its own. */
export function lineZoom({ labels, state, set }: ToolbarHost): Control {
  const to = (k: number) => set({ zoom: { x: 0, y: 0, k } });
  const button = (name: string, text: string, label: string, act: () => void) => {
    const created = el("button", { type: "button", class: "box", "data-name": name, "aria-label": label, title: label }, text);
    on(created, "click", act);
    return created;
  };
  const larger = button("zoom_in", "+", labels.zoom_in, () => to(Math.min(MOST_ZOOM, state().zoom.k * 1.25)));
  const smaller = button("zoom_out", "−", labels.zoom_out, () => to(Math.max(1, state().zoom.k / 1.25)));
  const reset = button("zoom_reset", "1×", labels.zoom_reset, () => to(1));
  const element = el("span", { class: "boxes", role: "group", "aria-label": labels.zoom }, larger, smaller, reset);
  return {
    element,
    sync(now) {
      element.hidden = now.as !== "lines";
      larger.disabled = now.zoom.k >= MOST_ZOOM;
      smaller.disabled = reset.disabled = now.zoom.k <= 1;
    },
  };
}
