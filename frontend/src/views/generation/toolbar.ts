// The controls above a generation: whose row is shown, and whether the first position is lit.

import { headStepper, layerStepper, type Toolbar, type ToolbarHost } from "../../controls/toolbar";
import { checkbox, segmented, type Control } from "../../controls/controls";
import { el } from "../../controls/dom";
import type { State } from "../../core/input/contract";

export function generationToolbar(host: ToolbarHost): Toolbar {
  const { labels, set } = host;
  const whose = segmented(
    "shown",
    labels.whose_row,
    [
      { value: "mean", label: labels.mean_row },
      { value: "layer", label: labels.layer_row },
      { value: "head", label: labels.head_row },
    ],
    (s) => s.shown,
    (v) => set({ shown: v as State["shown"] }),
  );
  const layer = layerStepper(host);
  const head = headStepper(host);
  const sinks = checkbox(
    "mute_sinks",
    labels.mute_sinks_written,
    (s) => s.mute_sinks,
    (mute_sinks) => set({ mute_sinks }),
  );
  const bar: Control[] = [whose, layer, head, sinks];
  return {
    element: el(
      "div",
      { class: "controls", role: "toolbar", "aria-label": labels.reading },
      el("div", { class: "bar" }, ...bar.map((c) => c.element)),
    ),
    sync(state) {
      for (const control of bar) control.sync(state);
      (layer.element as HTMLElement).hidden = state.shown === "mean";
      (head.element as HTMLElement).hidden = state.shown !== "head";
    },
  };
}
