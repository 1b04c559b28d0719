// The Reading menu: which weights are left in, and how heads are combined.

import type { Kind, State } from "../core/input/contract";
import { type Control, checkbox, menu, numbers, segmented, slider } from "./controls";
import type { ToolbarHost } from "./toolbar";

export function readingMenu(host: ToolbarHost, kind: Kind, first: Control[] = []): Control {
  const { spec, labels, set } = host;
  const controls: Control[] = [...first];
  controls.push(
    checkbox(
      "hide_special",
      labels.hide_special,
      (s) => s.hide_special,
      (v) => set({ hide_special: v }),
    ),
    checkbox(
      "hide_sink",
      labels.hide_sink,
      (s) => s.hide_sink,
      (v) => set({ hide_sink: v }),
    ),
    checkbox(
      "renormalise",
      labels.renormalise,
      (s) => s.renormalise,
      (v) => set({ renormalise: v }),
    ),
    slider(
      "threshold",
      labels.threshold,
      (s) => s.threshold,
      (v) => set({ threshold: v }),
    ),
    checkbox(
      "rescale",
      labels.rescale,
      (s) => s.rescale,
      (v) => set({ rescale: v }),
    ),
  );
  if (kind === "head") {
    controls.push(
      segmented(
        "combine",
        labels.combine,
        (["each", "mean", "max"] as const).map((value) => ({ value, label: labels[value] })),
        (s) => s.combine,
        (v) => set({ combine: v as State["combine"] }),
      ),
    );
    const layers = numbers(
      "combine_layers",
      labels.combine_layers,
      labels,
      (s) => spec.stacks[s.stack].layers.length,
      (s, i) => String(spec.stacks[s.stack].layers[i].layer),
      (s) => s.combine_layers,
      (combine_layers) => set({ combine_layers }),
    );
    controls.push({
      element: layers.element,
      sync(state) {
        layers.sync(state);
        layers.element.hidden = state.combine === "each";
      },
    });
  }
  const used = (s: State) =>
    [s.hide_special, s.hide_sink, s.renormalise, s.threshold > 0, s.rescale, kind === "head" && s.combine !== "each"].filter(Boolean)
      .length;
  return menu(labels.reading, "reading", controls, used);
}
