// Where one token gets most of the attention that is drawn: said below the drawing, with a button that hides it.

import { shownHeads } from "../../controls/heads";
import { el, on } from "../../controls/dom";
import { visible } from "../../core/words/tokens";
import type { Stage } from "../../registry";

/** From this share on, a token is called a sink. */
const SINK = 0.5;
/** Longer maps are not added up: the view is to be drawn at once. */
const MOST_WEIGHTS = 2_000_000;
/** In a shorter text a large share says nothing: there are too few tokens to share the attention. */
const FEWEST = 4;

export interface SinkOffer {
  update(current: () => boolean): Promise<void>;
  hide(): void;
}

export function sinkOffer(stage: Stage): SinkOffer {
  const words = el("span");
  const button = el("button", { type: "button", class: "quiet", "data-name": "hide_the_sink" }, stage.labels.sink_hide);
  const line = el("p", { class: "hint", role: "status", hidden: true }, words, " ", button);
  on(button, "click", () => stage.set({ hide_sink: true }));

  /** The column that gets most, and its share. */
  const strongest = async (): Promise<{ token: number; label: string; share: number } | null> => {
    const state = stage.state();
    const { rows, cols, maps } = await stage.reader.read(state, shownHeads(stage.spec, state));
    const n = cols.labels.length;
    if (!maps.length || n < FEWEST || maps.length * maps[0].weights.length > MOST_WEIGHTS) return null;
    const sums = new Float64Array(n);
    for (const map of maps) for (let i = 0; i < map.weights.length; i++) sums[i % n] += map.weights[i];
    const best = sums.indexOf(Math.max(...sums));
    return { token: cols.groups[best][0], label: cols.labels[best], share: sums[best] / (maps.length * rows.labels.length) };
  };

  return {
    async update(current) {
      const state = stage.state();
      const strong = state.hide_sink || state.drawn !== 0 ? null : await strongest();
      const sink = strong && strong.share >= SINK ? await stage.reader.sink(state.stack, state.layer) : null;
      if (!current()) return;
      line.hidden = !strong || sink !== strong.token;
      if (line.hidden || !strong) return;
      words.textContent = stage.labels.sink_share
        .replace("{token}", visible(strong.label))
        .replace("{share}", `${Math.round(100 * strong.share)} %`);
      stage.element.append(line);
    },
    hide() {
      line.hidden = true;
    },
  };
}
