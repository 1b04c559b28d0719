// The head view: lines or a heatmap, and what is said where neither can be drawn.

import { amount, stackName } from "../../core/words/labels";
import { el } from "../../controls/dom";
import { sinkNote } from "./sink";
import { leftOut, shownHeads } from "../../controls/heads";
import { headNumber } from "../../core/input/contract";
import { drawnOf, drawnTitle, drawnWhole } from "../../core/reading/quantity";
import { combinedName } from "../../core/reading/reading";
import { headName } from "../../generated/heads";
import type { Stage, ViewInstance } from "../../registry";
import { HeatmapPart } from "./heatmap";
import { LinesPart } from "./lines";

export function headView(stage: Stage): ViewInstance {
  let part: LinesPart | HeatmapPart | null = null;
  let message: HTMLElement | null = null;
  const hint = el("p", { class: "hint", role: "status", hidden: true });
  stage.element.append(hint);
  const sink = sinkNote(stage);

  const say = (text: string | null) => {
    message?.remove();
    message = text === null ? null : el("div", { class: "message", role: "status" }, text);
    if (message) stage.element.append(message);
  };

  const clear = () => {
    part?.destroy();
    part = null;
  };

  return {
    async draw(current) {
      const state = stage.state();
      const { labels } = stage;
      const wanted = state.as === "lines" ? LinesPart : HeatmapPart;
      if (!part && !message) say(labels.loading);
      const { rows, cols } = await stage.reader.sides(state);
      if (!current()) return;
      if (!shownHeads(stage.spec, state).length || !rows.labels.length || !cols.labels.length) {
        clear();
        hint.hidden = true;
        sink.update(null);
        say(shownHeads(stage.spec, state).length ? labels.empty_tokens : labels.empty_heads);
        return;
      }
      await stage.reader.weights(state.stack, state.layer, state.drawn);
      if (!current()) return;
      say(null);
      hint.textContent = leftOut(stage.spec, state, labels);
      hint.hidden = hint.textContent === "";
      if (part && !(part instanceof wanted)) clear();
      part ??= new wanted(stage);
      await part.draw(current);
      if (current()) sink.update(part instanceof LinesPart ? part.shown() : null);
    },
    scene: () => part?.scene() ?? null,
    summary: () => part?.summary() ?? { kind: "head", as: stage.state().as, lines: [] },
    title() {
      const state = stage.state();
      return drawnTitle(
        stage.spec,
        state,
        stage.labels,
        state.direction === "from" ? stage.labels.head_title : stage.labels.head_title_to,
      );
    },
    caption() {
      const state = stage.state();
      const stack = stage.spec.stacks[state.stack];
      const chosen = stack.layers[state.layer];
      const { layer } = chosen;
      const heads = shownHeads(stage.spec, state);
      const combined = state.combine === "each" ? null : combinedName(stage.spec, state, heads);
      const quantity = drawnOf(stage.spec, state);
      const what =
        combined ??
        drawnWhole(quantity, `${stage.labels.layer} ${layer}`, stage.labels.all_layers) ??
        (heads.length === 1
          ? headName(layer, headNumber(chosen, heads[0]))
          : `${stage.labels.layer} ${layer} · ${heads.length} ${stage.labels.heads.toLowerCase()}`);
      const [nq, nk] = [stack.query_text, stack.key_text].map((i) => stage.spec.texts[i].tokens.length);
      const size = stack.query_text === stack.key_text ? `${nq}` : `${nq} × ${nk}`;
      const name = stage.spec.stacks.length > 1 ? `${stackName(stage.labels, stack.name)} · ` : "";
      return `${stage.spec.model} · ${name}${what} · ${amount(stage.labels, "tokens", size)}`;
    },
    legend: () => (part instanceof LinesPart ? part.legend() : []),
    key(event) {
      return part?.key(event) ?? false;
    },
    find: (by) => part?.find(by),
    destroy: clear,
  };
}
