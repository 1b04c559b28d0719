// The notebook: anywidget gives a model with traits `_spec`, `_arrays`, `_still` and `state`, which is kept equal on both sides;
// `_answers` and `_answer`: a model behind the view, and what it answers while something is switched off; `_labels`: the words of
// another language than English.

import type { ArrayEntry, Spec, State, View } from "../core/input/contract";
import type { Labels } from "../core/words/labels";
import { mount } from "../mount";

interface WidgetModel {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  on(event: string, callback: () => void): void;
  off(event: string, callback: () => void): void;
}

function viewOf(model: WidgetModel): View {
  const raw = model.get("_spec");
  const spec = (typeof raw === "string" ? JSON.parse(raw) : raw) as Spec;
  return {
    kind: spec.kind,
    spec,
    arrays: model.get("_arrays") as Record<string, ArrayEntry>,
    state: (model.get("state") ?? {}) as Partial<State>,
  };
}

/** The still picture of this view, which the notebook keeps in its file, gives way to the live view. */
function hideStill(model: WidgetModel): void {
  const name = model.get("_still");
  if (typeof name !== "string" || name === "") return;
  for (const picture of document.getElementsByClassName(name)) (picture as HTMLElement).style.display = "none";
}

function render({ model, el }: { model: WidgetModel; el: HTMLElement }): () => void {
  hideStill(model);
  el.setAttribute("data-eyeline-live", "");
  let waiting: ReturnType<typeof setTimeout> | undefined;
  let { off } = (model.get("state") ?? {}) as Partial<State>;
  const handle = mount(el, viewOf(model), {
    answers: model.get("_answers") === true,
    labels: (model.get("_labels") ?? {}) as Partial<Labels>,
    onState(state) {
      model.set("state", state);
      clearTimeout(waiting); // a slider would otherwise send a message at every pixel
      const asksForAnswer = state.off !== (off ?? ""); // a reader waits for the answer
      off = state.off;
      if (asksForAnswer) model.save_changes();
      else waiting = setTimeout(() => model.save_changes(), 80);
    },
  });
  const stateChanged = () => handle.update((model.get("state") ?? {}) as Partial<State>);
  const specChanged = () => handle.update(viewOf(model));
  const answerChanged = () => el.dispatchEvent(new CustomEvent("eyeline:answer", { detail: model.get("_answer") }));
  model.on("change:_answer", answerChanged);
  model.on("change:state", stateChanged);
  model.on("change:_spec", specChanged);
  return () => {
    model.off("change:_answer", answerChanged);
    model.off("change:state", stateChanged);
    model.off("change:_spec", specChanged);
    handle.destroy();
  };
}

export default { render };
