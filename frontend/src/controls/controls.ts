// The few kinds of control there are. Each is an element and a way to make it agree with the state.

import type { State } from "../core/input/contract";
import type { Labels } from "../core/words/labels";
import { el, on } from "./dom";

export interface Control {
  element: HTMLElement;
  sync(state: State): void;
}

export interface Option {
  value: string;
  label: string;
}

let serial = 0;
const uid = (): string => `s${++serial}`;

/** A menu; its options may depend on the state. */
export function select(
  name: string,
  title: string,
  options: (state: State) => Option[],
  value: (state: State) => string,
  choose: (value: string) => void,
): Control {
  const menu = el("select", { "aria-label": title, name });
  let written = "";
  on(menu, "change", () => choose(menu.value));
  return {
    element: el("label", { class: "field" }, el("span", { class: "name" }, title), menu),
    sync(state) {
      const wanted = options(state);
      const key = JSON.stringify(wanted);
      if (key !== written) menu.replaceChildren(...wanted.map((o) => el("option", { value: o.value }, o.label)));
      written = key;
      menu.value = value(state);
    },
  };
}

/** A menu with a button for the one before and the one after. */
export function stepper(
  inner: Control,
  words: { previous: string; next: string },
  move: (by: number) => void,
  ends: (state: State) => [boolean, boolean],
): Control {
  const back = el("button", { type: "button", class: "step", "aria-label": words.previous }, "‹");
  const forward = el("button", { type: "button", class: "step", "aria-label": words.next }, "›");
  on(back, "click", () => move(-1));
  on(forward, "click", () => move(1));
  const element = el("span", { class: "stepper" }, inner.element, back, forward);
  return {
    element,
    sync(state) {
      inner.sync(state);
      [back.disabled, forward.disabled] = ends(state);
    },
  };
}

/** Two or three choices side by side. Buttons, not radio buttons: those would take the arrow keys, which move head and layer. */
export function segmented(
  name: string,
  title: string,
  options: Option[],
  value: (state: State) => string,
  choose: (value: string) => void,
): Control {
  const buttons = options.map((option) => {
    const button = el("button", { type: "button", value: option.value, "data-name": name }, option.label);
    on(button, "click", () => choose(option.value));
    return button;
  });
  const element = el("span", { class: "segmented", role: "group", "aria-label": title }, ...buttons);
  return {
    element,
    sync: (state) => buttons.forEach((button) => button.setAttribute("aria-pressed", String(button.value === value(state)))),
  };
}

export function checkbox(
  name: string,
  title: string,
  value: (state: State) => boolean,
  choose: (value: boolean) => void,
  enabled: (state: State) => boolean = () => true,
): Control {
  const input = el("input", { type: "checkbox", name });
  on(input, "change", () => choose(input.checked));
  return {
    element: el("label", { class: "check" }, input, el("span", {}, title)),
    sync(state) {
      input.checked = value(state);
      input.disabled = !enabled(state);
    },
  };
}

/** From 0 to 1, finer near 0: most weights are small. */
export function slider(name: string, title: string, value: (state: State) => number, choose: (value: number) => void): Control {
  const input = el("input", { type: "range", min: 0, max: 1, step: 0.005, name, "aria-label": title });
  const shown = el("output", { class: "number" });
  const cube = (t: number): number => Math.round(t ** 3 * 1e4) / 1e4;
  on(input, "input", () => choose(cube(Number(input.value))));
  return {
    element: el("label", { class: "slider" }, el("span", {}, title), shown, input),
    sync(state) {
      const now = value(state);
      if (cube(Number(input.value)) !== now) input.value = String(Math.cbrt(now));
      shown.textContent = now.toFixed(now > 0 && now < 0.001 ? 4 : 3);
    },
  };
}

/** Numbers that can each be switched on and off, with all and none. */
export function numbers(
  name: string,
  title: string,
  words: { all: string; none: string },
  count: (state: State) => number,
  text: (state: State, i: number) => string,
  value: (state: State) => number[],
  choose: (value: number[]) => void,
): Control {
  const list = el("span", { class: "numbers" });
  const quick = (label: string, pick: () => number[]) => {
    const button = el("button", { type: "button", class: "quiet" }, label);
    on(button, "click", () => choose(pick()));
    return button;
  };
  let latest: State | null = null;
  const all = quick(words.all, () => Array.from({ length: latest ? count(latest) : 0 }, (_, i) => i));
  const none = quick(words.none, () => []);
  const element = el(
    "fieldset",
    { class: "choice", "data-name": name },
    el("legend", {}, title),
    el("span", { class: "quick" }, all, none),
    list,
  );
  return {
    element,
    sync(state) {
      latest = state;
      const n = count(state);
      while (list.children.length > n) list.lastChild!.remove();
      for (let i = list.children.length; i < n; i++) {
        const box = el("button", { type: "button", class: "box", "aria-pressed": "false" });
        on(box, "click", () => {
          const now = value(latest!);
          choose(now.includes(i) ? now.filter((other) => other !== i) : [...now, i].sort((a, b) => a - b));
        });
        list.append(box);
      }
      const chosen = new Set(value(state));
      [...list.children].forEach((box, i) => {
        box.textContent = text(state, i);
        box.setAttribute("aria-label", `${title} ${text(state, i)}`);
        box.setAttribute("aria-pressed", String(chosen.has(i)));
      });
    },
  };
}

/** A field for a token to find; how many matches there are is said beside it. */
export function search(
  { labels, set, find }: { labels: Labels; set(patch: Partial<State>): void; find(by: 1 | -1): void },
  matches: (state: State) => string,
): Control {
  const title = labels.find;
  const input = el("input", {
    type: "search",
    name: "find",
    placeholder: title,
    "aria-label": title,
    spellcheck: "false",
    autocomplete: "off",
  });
  on(input, "input", () => set({ find: input.value }));
  on(input, "keydown", (event) => event.key === "Enter" && !event.isComposing && find(event.shiftKey ? -1 : 1));
  const status = el("span", { class: "no-match", role: "status" });
  return {
    element: el("span", { class: "search" }, input, status),
    sync(state) {
      if (input.value !== state.find) input.value = state.find;
      status.textContent = state.find.trim() === "" ? "" : matches(state);
    },
  };
}

/** A button that opens a panel; escape or a click elsewhere closes it. */
export function menu(
  title: string,
  name: string,
  inside: Control[] | HTMLElement[],
  count: (state: State) => number = () => 0,
): Control & { close(): void } {
  const id = uid();
  const badge = el("span", { class: "badge", hidden: true });
  const button = el(
    "button",
    { type: "button", class: "opens", "aria-expanded": "false", "aria-controls": id, "data-name": name },
    title,
    badge,
  );
  // Focusable, so that pressing on the words of a label does not move the focus out of the menu, which would close it.
  const panel = el("div", { class: "panel", id, role: "group", "aria-label": title, tabindex: "-1", hidden: true });
  panel.append(...inside.map((part) => ("sync" in part ? (part as Control).element : (part as HTMLElement))));
  const element = el("span", { class: "menu" }, button, panel);
  const open = (yes: boolean) => {
    panel.hidden = !yes;
    button.setAttribute("aria-expanded", String(yes));
    const view = element.closest<HTMLElement>(".view");
    if (view) view.style.minHeight = "";
    if (!yes) return;
    panel.style.left = "0px"; // keep it inside the view
    const room = (element.getRootNode() as ShadowRoot).host?.getBoundingClientRect();
    if (room) panel.style.left = `${Math.min(0, room.right - panel.getBoundingClientRect().right - 4)}px`;
    // Notebooks cut off what reaches beyond the view.
    if (view) view.style.minHeight = `${panel.getBoundingClientRect().bottom - view.getBoundingClientRect().top + 12}px`;
  };
  on(button, "click", () => open(panel.hidden === true));
  on(element, "keydown", (event) => {
    if (event.key !== "Escape" || panel.hidden) return;
    open(false);
    button.focus();
    event.stopPropagation();
  });
  on(element, "focusout", (event) => {
    const to = event.relatedTarget as Node | null;
    if (to && !panel.hidden && !element.contains(to)) open(false);
  });
  const outside = (event: Event) => {
    if (!element.isConnected) document.removeEventListener("pointerdown", outside, true);
    else if (!panel.hidden && !event.composedPath().includes(element)) open(false);
  };
  document.addEventListener("pointerdown", outside, true);
  return {
    element,
    close: () => open(false),
    sync(state) {
      for (const part of inside) if ("sync" in part) (part as Control).sync(state);
      const n = count(state);
      badge.hidden = n === 0;
      badge.textContent = String(n);
    },
  };
}
