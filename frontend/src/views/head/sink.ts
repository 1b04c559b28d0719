// A token that gets most of the attention shown: lines to it would hide all others, so they are left out; said below the drawing, with a
// switch.

import { el, on } from "../../controls/dom";
import type { State } from "../../core/input/contract";
import type { Reading } from "../../core/reading/reading";
import { visible } from "../../core/words/tokens";
import type { Stage } from "../../registry";

/** From this share on, a token is called a sink. */
const SINK = 0.5;
/** Longer maps are not added up: the view is to be drawn at once. */
const MOST_WEIGHTS = 2_000_000;
/** In a shorter text a large share says nothing: there are too few tokens to share the attention. */
const FEWEST = 4;

const known = new WeakMap<Reading, { column: number; share: number } | null>();

/** The column that gets half or more of the attention of the heads shown, and its share; null where there is none. */
function sinkOf(reading: Reading): { column: number; share: number } | null {
  const { rows, cols, maps, quantity } = reading;
  const n = cols.labels.length;
  if (quantity.method !== "attention" || !maps.length || Math.min(n, rows.labels.length) < FEWEST) return null;
  if (maps.length * maps[0].weights.length > MOST_WEIGHTS) return null;
  let found = known.get(reading);
  if (found === undefined) {
    const sums = new Float64Array(n);
    for (const { weights } of maps)
      for (let start = 0; start < weights.length; start += n) for (let col = 0; col < n; col++) sums[col] += weights[start + col];
    const column = sums.indexOf(Math.max(...sums));
    const share = sums[column] / (maps.length * rows.labels.length);
    known.set(reading, (found = share >= SINK ? { column, share } : null));
  }
  return found;
}

/** The column whose lines are left out; −1 where there is none, or where the reader wants to see them. */
export const mutedColumn = (reading: Reading, state: State): number => (state.mute_sinks ? (sinkOf(reading)?.column ?? -1) : -1);

export interface SinkNote {
  update(reading: Reading | null): void;
}

export function sinkNote(stage: Stage): SinkNote {
  const words = el("span");
  const button = el("button", { type: "button", class: "quiet", "data-name": "mute_sinks" });
  const line = el("p", { class: "hint", role: "status", hidden: true }, words, " ", button);
  on(button, "click", () => stage.set({ mute_sinks: !stage.state().mute_sinks }));
  return {
    update(reading) {
      const sink = reading && sinkOf(reading);
      line.hidden = !sink;
      if (!sink) return;
      const { labels } = stage;
      const { mute_sinks: muted } = stage.state();
      const [several, alone] = [reading!.maps.length > 1, muted ? labels.sink_muted : labels.sink_share];
      words.textContent = (muted && several ? labels.sinks_muted : alone)
        .replace("{token}", visible(reading!.cols.labels[sink.column]))
        .replace("{share}", `${Math.round(100 * sink.share)} %`);
      button.textContent = muted ? labels.sink_show : labels.sink_mute;
      stage.element.append(line);
    },
  };
}
