// The row of head boxes: click switches, double click leaves this one alone.

import { headColour, luminance, parse } from "../core/colours";
import { headNumber, type Spec, type State } from "../core/input/contract";
import type { Labels } from "../core/words/labels";
import { headPart, offParts } from "../core/state/off";
import { themeOf } from "../core/theme";
import type { Control } from "./controls";
import { el, on } from "./dom";

/** Black or white, whichever can be read on the colour. */
export function inkOn(colour: string): string {
  return luminance(parse(colour)) > 0.179 ? "#000000" : "#ffffff";
}

/** A heatmap shows one head at a time: the first of those chosen. */
export const oneAtATime = (state: State): boolean => state.as === "heatmap" && state.combine === "each";

const ROOM = 64_000_000; // weights held for lines at once

/** The heads on screen: of very long texts only as many as fit into memory. */
export function shownHeads(spec: Spec, state: State): number[] {
  if (oneAtATime(state)) return state.heads.slice(0, 1);
  if (state.combine !== "each") return state.heads;
  const { query_text, key_text } = spec.stacks[state.stack];
  const cells = spec.texts[query_text].tokens.length * spec.texts[key_text].tokens.length;
  return state.heads.slice(0, Math.max(1, Math.floor(ROOM / Math.max(1, cells))));
}

/** What is said where only some of the chosen heads fit. */
export function leftOut(spec: Spec, state: State, labels: Labels): string {
  const shown = shownHeads(spec, state).length;
  if (oneAtATime(state) || shown === state.heads.length) return "";
  return labels.some_heads.replace("{n}", String(shown)).replace("{all}", String(state.heads.length));
}

export function headBoxes(
  spec: Spec,
  labels: Labels,
  state: () => State,
  set: (patch: Partial<State>) => void,
  switchOff: ((what: { heads: number }) => void) | null = null,
): Control {
  const boxes = el("span", { class: "boxes", role: "group", "aria-label": labels.heads, title: labels.head_hint });
  const count = () => spec.stacks[state().stack].layers[state().layer].n_heads;
  const all = el("button", { type: "button", class: "quiet", "data-name": "all" }, labels.all);
  const none = el("button", { type: "button", class: "quiet", "data-name": "none" }, labels.none);
  on(all, "click", () => set({ heads: Array.from({ length: count() }, (_, i) => i) }));
  on(none, "click", () => set({ heads: [] }));

  const unlock = el("button", { type: "button", class: "quiet", "data-name": "unlock", hidden: true });
  on(unlock, "click", () => set({ locked: [] }));

  const toggle = (head: number) => {
    const { heads } = state();
    if (oneAtATime(state())) set({ heads: [head] });
    else set({ heads: heads.includes(head) ? heads.filter((h) => h !== head) : [...heads, head].sort((a, b) => a - b) });
  };
  const box = (head: number) => {
    const button = el("button", { type: "button", class: "head", "data-head": head }, "");
    on(button, "click", () => toggle(head));
    on(button, "dblclick", () => set({ heads: [head] }));
    if (switchOff)
      on(button, "contextmenu", (event) => {
        event.preventDefault();
        switchOff({ heads: head });
      });
    return button;
  };
  return {
    element: el(
      "div",
      { class: "heads" },
      el("span", { class: "name" }, labels.heads),
      boxes,
      el("span", { class: "quick" }, all, none, unlock),
    ),
    sync(now) {
      const n = count();
      while (boxes.children.length > n) boxes.lastChild!.remove();
      for (let h = boxes.children.length; h < n; h++) boxes.append(box(h));
      const shown = new Set(shownHeads(spec, now));
      const { dark } = themeOf(now.theme);
      const off = new Set(offParts(now.off));
      const stack = spec.stacks[now.stack];
      ([...boxes.children] as HTMLElement[]).forEach((button, h) => {
        button.style.setProperty("--colour", headColour(h, dark));
        button.style.setProperty("--ink", inkOn(headColour(h, dark)));
        button.setAttribute("aria-pressed", String(shown.has(h)));
        const number = headNumber(stack.layers[now.layer], h);
        button.textContent = String(number);
        const isOff = off.has(headPart(spec.stacks.length, stack.name, stack.layers[now.layer].layer, h));
        button.toggleAttribute("data-off", isOff);
        button.setAttribute("aria-label", `${labels.head} ${number}${isOff ? `, ${labels.switched_off}` : ""}`);
      });
      all.hidden = none.hidden = oneAtATime(now);
      unlock.hidden = !now.locked.length;
      unlock.textContent = `${labels.unlock} ${now.locked.length}`;
    },
  };
}
