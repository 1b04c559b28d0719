// The controls of the space of queries and keys.

import type { ColourPoints, Links, State } from "../core/input/contract";
import { unmatched } from "../core/reading/space";
import { counts, wordPairs } from "../core/state/space-state";
import { checkbox, search, segmented, select, stepper, type Control } from "./controls";
import { el, on } from "./dom";
import { backButton, headStepper, layerStepper, stackMenu, toolbarOf, type Toolbar, type ToolbarHost } from "./toolbar";

/** Shown only while a head is opened, or only while none is. */
function only(control: Control, when: (state: State) => boolean): Control {
  return {
    element: control.element,
    sync(state) {
      control.element.hidden = !when(state);
      control.sync(state);
    },
  };
}

const opened = (state: State): boolean => state.opened;
/** One layer alone is shown, all its heads with lines. */
const isSheet = (state: State): boolean => !state.opened && state.rows.length === 1;
/** How long each layer is shown while layers play, in milliseconds. */
const STEP_MS = 900;

export function spaceToolbar(host: ToolbarHost): Toolbar {
  const { spec, labels } = host;
  const bar: Control[] = [only(backButton(host), opened)];
  if (spec.stacks.length > 1) bar.push(stackMenu(host));
  bar.push(
    only(sheet(host), (s) => !s.opened),
    only(layerStepper(host), opened),
  );
  if (spec.spaces?.[0]?.of === "shared") bar.push(only(play(host), opened));
  bar.push(
    only(headStepper(host), opened),
    colours(host),
    only(lines(host), (s) => s.opened || isSheet(s)),
    only(howMany(host), (s) => (s.opened || isSheet(s)) && s.links === "top"),
    only(texts(host), opened),
    only(tools(host), opened),
  );
  bar.push(
    search(host, (s) => (isMatch(host, s) ? "" : host.labels.no_match)),
    only(pairs(host), (s) => s.opened || isSheet(s)),
    lasso(host),
  );
  return toolbarOf(labels, bar);
}

function isMatch({ spec }: ToolbarHost, state: State): boolean {
  const needle = state.find.trim().toLocaleLowerCase();
  return spec.texts.some(
    (text) =>
      text.tokens.some((token) => token.toLocaleLowerCase().includes(needle)) ||
      text.word_texts.some((word) => word.toLocaleLowerCase() === needle),
  );
}

/** All layers, or the heads of one with lines. */
function sheet({ spec, labels, set }: ToolbarHost): Control {
  const all = (s: State) => spec.stacks[s.stack].layers;
  return select(
    "sheet",
    labels.sheet,
    (s) => [{ value: "", label: labels.all }, ...all(s).map((layer, i) => ({ value: String(i), label: String(layer.layer) }))],
    (s) => (s.rows.length === 1 ? String(s.rows[0]) : ""),
    (v) => set(v === "" ? { rows: undefined } : { rows: [Number(v)], links: "best" }),
  );
}

/** Steps through the layers, which stand on the same axes, from the one shown to the last and over again. */
function play({ spec, labels, state, set }: ToolbarHost): Control {
  const button = el("button", { type: "button", class: "quiet", "data-name": "play", "aria-pressed": "false" }, `▶ ${labels.play_layers}`);
  let timer = 0;
  const stop = () => {
    clearInterval(timer);
    timer = 0;
    button.setAttribute("aria-pressed", "false");
  };
  const step = () => {
    if (!button.isConnected || !state().opened) return stop();
    set({ layer: (state().layer + 1) % spec.stacks[state().stack].layers.length });
  };
  on(button, "click", () => {
    if (timer) return stop();
    button.setAttribute("aria-pressed", "true");
    step();
    timer = window.setInterval(step, STEP_MS);
  });
  return { element: button, sync: () => undefined };
}

function colours({ spec, labels, set }: ToolbarHost): Control {
  const tagged = spec.texts.some((text) => text.tags?.some((tag) => tag !== ""));
  const values = spec.spaces?.[0]?.of === "values";
  const names: [ColourPoints, string][] = [
    ["kind", values ? labels.head : labels.colour_kind],
    ["position", labels.colour_position],
    ["position5", labels.colour_position5],
    ["token", labels.colour_token],
  ];
  if (tagged) names.push(["tag", labels.colour_tag]);
  names.push(["text", labels.colour_text], ["norm", labels.colour_norm]);
  const options = names.map(([value, label]) => ({ value, label }));
  return select(
    "colour_points",
    labels.colour_by,
    () => options,
    (s) => s.colour_points,
    (v) => set({ colour_points: v as ColourPoints }),
  );
}

/** The strongest pairs are those of the chosen text, or of all. */
function lines({ labels, set }: ToolbarHost): Control {
  const names: [Links, string][] = [
    ["chosen", labels.links_chosen],
    ["best", labels.links_best],
    ["top", labels.links_top],
    ["none", labels.none],
  ];
  const options = names.map(([value, label]) => ({ value, label }));
  return select(
    "links",
    labels.lines,
    () => options,
    (s) => s.links,
    (v) => set({ links: v as Links }),
  );
}

const howMany = ({ labels, set }: ToolbarHost): Control =>
  select(
    "links_top",
    labels.how_many,
    (s) => [...new Set([5, 10, 20, 50, 100, s.links_top])].sort((a, b) => a - b).map((n) => ({ value: String(n), label: String(n) })),
    (s) => String(s.links_top),
    (v) => set({ links_top: Number(v) }),
  );

/** Every text by its first words; 10,000 of them would be too many for a menu, so there is a step to the next one too. */
function texts({ spec, labels, state, set }: ToolbarHost): Control {
  const n = (s: State) => counts(spec, s.stack).texts;
  const first = (s: State, i: number) =>
    spec.texts[spec.spaces![0].stacks[s.stack].query_texts[i]].word_texts.slice(0, 6).join(" ").slice(0, 40);
  const near = (s: State) => {
    const all = Array.from({ length: n(s) }, (_, i) => i);
    const at = s.text ?? 0;
    return all.length <= 400 ? all : all.slice(Math.max(0, at - 200), at + 200);
  };
  const inner = select(
    "text",
    labels.text,
    (s) => [{ value: "", label: labels.all }, ...near(s).map((i) => ({ value: String(i), label: `${i} · ${first(s, i)}` }))],
    (s) => (s.text === null ? "" : String(s.text)),
    (v) => set({ text: v === "" ? null : Number(v), point: null }),
  );
  return stepper(
    inner,
    { previous: `${labels.previous}: ${labels.text}`, next: `${labels.next}: ${labels.text}` },
    (by) => set({ text: (state().text ?? -1) + by, point: null }),
    (s) => [s.text === null || s.text === 0, s.text !== null && s.text >= n(s) - 1],
  );
}

const tools = ({ spec, labels, set }: ToolbarHost): Control =>
  segmented(
    "tool",
    labels.tool,
    [
      { value: "move", label: spec.spaces?.[0]?.dims === 3 ? labels.tool_turn : labels.tool_move },
      { value: "lasso", label: labels.tool_lasso },
    ],
    (s) => s.tool,
    (v) => set({ tool: v as State["tool"] }),
  );

function pairs({ spec, labels, set }: ToolbarHost): Control {
  const input = el("input", {
    type: "search",
    name: "pairs",
    placeholder: labels.pairs_example,
    "aria-label": labels.pairs,
    title: labels.pairs,
    spellcheck: "false",
    autocomplete: "off",
  });
  on(input, "input", () => set({ pairs: input.value }));
  const status = el("span", { class: "no-match", role: "status" });
  const every = checkbox(
    "every_pair",
    labels.every_pair,
    (s) => s.every_pair,
    (v) => set({ every_pair: v }),
    (s) => s.pairs.trim() !== "",
  );
  return {
    element: el(
      "span",
      { class: "search" },
      el("label", { class: "field pairs" }, el("span", { class: "name" }, labels.pairs), input),
      every.element,
      status,
    ),
    sync(state) {
      every.sync(state);
      if (input.value !== state.pairs) input.value = state.pairs;
      const missing = unmatched(spec.texts, wordPairs(state.pairs)).map((pair) => pair.join(" → "));
      status.textContent = missing.length ? `${labels.no_match}: ${missing.join("; ")}` : "";
    },
  };
}

/** How many points are held, and a way to let them go. */
function lasso({ labels, set }: ToolbarHost): Control {
  const button = el("button", { type: "button", class: "quiet", "data-name": "let_go", hidden: true });
  on(button, "click", () => set({ lasso: [] }));
  return {
    element: button,
    sync(state) {
      button.hidden = !state.lasso.length;
      button.textContent = `${labels.let_go} ${state.lasso.length}`;
    },
  };
}
