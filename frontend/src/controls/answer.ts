// The model's answer above a view: bars for what it answers, what is switched off, and what that changes.

import type { Spec, State } from "../core/input/contract";
import { counted, type Labels } from "../core/words/labels";
import { allPart, edgePart, headPart, layerPart, offParts, partName, toggledOff } from "../core/state/off";
import { answerRows, changeText, withoutHead, type ChangedAnswer, type PredictionSpec } from "../core/reading/prediction";
import { shownKind } from "../core/state/state";
import type { Control } from "./controls";
import { el, on } from "./dom";
import { switchHint } from "./switch-hint";
import type { Switched, SwitchOff } from "./toolbar";

export interface AnswerHost {
  spec: Spec;
  labels: Labels;
  /** Whether a model answers again when something is switched off. */
  answers: boolean;
  /** Where a new answer comes as an event "eyeline:answer". */
  element: HTMLElement;
  state(): State;
  set(patch: Partial<State>): void;
  announce(text: string): void;
}

export interface AnswerControl extends Control {
  switchOff: SwitchOff | null;
  destroy(): void;
}

/** The head that is shown alone, as a part that can be switched off. */
export function shownPart(spec: Spec, state: State): string | null {
  const stack = spec.stacks[state.stack];
  const isGrid = shownKind(spec.kind, state) === "model";
  if (isGrid || state.heads.length !== 1 || state.combine !== "each") return null;
  return headPart(spec.stacks.length, stack.name, stack.layers[state.layer].layer, state.heads[0]);
}

/** The control, or null for a view of a model that answers nothing. */
export function answerControl(host: AnswerHost): AnswerControl | null {
  const { prediction } = host.spec;
  return prediction === undefined ? null : controlOf(host, prediction);
}

function controlOf(host: AnswerHost, prediction: PredictionSpec): AnswerControl {
  const { spec, labels } = host;
  const rows = el("div", { class: "answers", "aria-label": labels.answer, role: "group" });
  const tools = el("div", { class: "switched", role: "group", "aria-label": labels.switched_off });
  let changed: ChangedAnswer | null = null;

  const percent = (part: number) => `${Math.round(100 * Math.min(1, Math.max(0, part)))}%`;

  /** As long as the probability is now; a mark stands where it was before. */
  const bar = (before: number, after: number | null) => {
    const fill = el("span", { class: after !== null && after > before ? "answer-fill up" : "answer-fill" });
    fill.style.width = percent(after ?? before);
    if (after === null) return [fill];
    const mark = el("span", { class: "answer-before" });
    mark.style.left = percent(before);
    return [fill, mark];
  };

  const drawRows = (after: PredictionSpec | null) => {
    const tokens = spec.texts[spec.stacks[0].query_text].tokens;
    rows.replaceChildren(
      el("span", { class: "name" }, labels.answer),
      ...answerRows(prediction, after).map(({ position, bars }) =>
        el(
          "span",
          { class: "answer", "data-position": position ?? "" },
          prediction.choices.length > 1 && position !== null && el("span", { class: "answer-at" }, tokens[position] ?? String(position)),
          ...bars.map(({ name, before, after: now }) =>
            el(
              "span",
              { class: "answer-choice", "data-choice": name, "data-before": before ?? "", "data-after": now ?? "" },
              el("span", { class: "answer-token" }, name),
              prediction.kind !== "number" && el("span", { class: "answer-track" }, ...bar(before ?? 0, after && (now ?? 0))),
              el("span", { class: "answer-number" }, after ? changeText("", before, now).trim() : before!.toFixed(2)),
            ),
          ),
        ),
      ),
    );
  };

  const button = (name: string, text: string, act: () => void) => {
    const element = el("button", { type: "button", class: "quiet", "data-name": name }, text);
    on(element, "click", act);
    return element;
  };

  const drawTools = (state: State) => {
    const off = offParts(state.off);
    const stack = spec.stacks[state.stack];
    const [queries, keys] = [stack.query_text, stack.key_text].map((text) => spec.texts[text].tokens);
    const head = shownPart(spec, state);
    const effect = head === null ? null : withoutHead(spec, state.stack, state.layer, state.heads[0]);
    tools.replaceChildren();
    if (host.answers) {
      if (head !== null && !off.includes(head) && spec.kind !== "sentence")
        // a sentence has this button below it
        tools.append(button("switch-off", counted(labels.switch_off, head), () => host.set({ off: toggledOff(state.off, head) })));
      for (const part of off) {
        const name = partName(part, queries, keys, labels.all_layers);
        const chip = button("off", `${name} ×`, () => host.set({ off: toggledOff(host.state().off, part) }));
        chip.setAttribute("aria-label", counted(labels.switch_on, name));
        tools.append(chip);
      }
      if (off.length) tools.append(button("undo", labels.undo_all, () => host.set({ off: "" })));
      tools.append(el("span", { class: "hint" }, switchHint(spec, state, labels)));
    } else if (effect !== null) {
      tools.append(el("span", { class: "effect" }, counted(labels.without, head!), " ", effect));
    }
    if (changed?.error && changed.off === state.off) tools.append(el("span", { class: "hint", role: "alert" }, changed.error));
    tools.hidden = tools.childElementCount === 0;
  };

  const sync = (state: State) => {
    const current = changed && changed.off === state.off && state.off ? (changed.prediction ?? null) : null;
    drawRows(current);
    rows.toggleAttribute("data-waiting", state.off !== "" && host.answers && changed?.off !== state.off);
    drawTools(state);
  };

  const take = (event: Event) => {
    changed = (event as CustomEvent<ChangedAnswer>).detail;
    sync(host.state());
    const first = answerRows(prediction, changed.prediction ?? null)[0]?.bars[0];
    if (first && changed.prediction) host.announce(changeText(first.name, first.before, first.after));
  };
  host.element.addEventListener("eyeline:answer", take);

  const switchOff: SwitchOff = (what) => {
    const state = host.state();
    host.set({ off: toggledOff(state.off, switchedPart(spec, state, what)) });
  };

  return {
    element: el("div", { class: "answer-bar" }, rows, tools),
    sync,
    switchOff: host.answers ? switchOff : null,
    destroy: () => host.element.removeEventListener("eyeline:answer", take),
  };
}

function switchedPart(spec: Spec, state: State, { heads, layer = state.layer, queries = [], keys = [] }: Switched): string {
  const stack = spec.stacks[state.stack];
  const { layer: number, n_heads } = stack.layers[layer];
  const name =
    heads === "all"
      ? allPart(spec.stacks.length, stack.name)
      : heads === "layer"
        ? layerPart(spec.stacks.length, stack.name, number, n_heads)
        : headPart(spec.stacks.length, stack.name, number, heads);
  return queries.length ? edgePart(name, queries, keys) : name;
}
