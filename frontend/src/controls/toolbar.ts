// Which controls stand above which view.

import { axes, hasParts, isPair, matches, partLegend } from "../core/reading/axes";
import { themeOf } from "../core/theme";
import { type HeadGrid, headNumber, type Kind, type Spec, type State } from "../core/input/contract";
import { counted, type Labels } from "../core/words/labels";
import { quantitiesOf, quantityName } from "../core/reading/quantity";
import { checkbox, menu, numbers, search, segmented, select, stepper, type Control } from "./controls";
import type { Format } from "../marks/painters/picture";
import { el, on } from "./dom";
import { headBoxes } from "./heads";
import { lineZoom } from "./line-zoom";
import { readingMenu } from "./reading-menu";

/** Something to be switched off, or on again: a head, all heads of a layer or of all layers; with queries, what they see of these keys. */
export interface Switched {
  heads: number | "layer" | "all";
  /** The index of its layer; absent: the layer shown. */
  layer?: number;
  queries?: number[];
  keys?: number[];
}

export type SwitchOff = (what: Switched) => void;

export interface ToolbarHost {
  spec: Spec;
  labels: Labels;
  state(): State;
  set(patch: Partial<State>): void;
  save(format: Format): void;
  find(by: 1 | -1): void;
  switchOff: SwitchOff | null;
}

export interface Toolbar {
  element: HTMLElement;
  sync(state: State): void;
}

/** `kind` is the view on screen; `inside` the view it was opened from, if any. */
export function toolbar(host: ToolbarHost, kind: Kind, inside: Kind): Toolbar {
  const { labels, set } = host;
  const bar: Control[] = [];
  if (inside !== kind) bar.push(backButton(host));
  if (host.spec.stacks.length > 1) bar.push(stackMenu(host));
  if (quantitiesOf(host.spec).length > 1) bar.push(drawnMenu(host));
  if (kind !== "model") bar.push(layerStepper(host));
  if (kind === "neuron") bar.push(headStepper(host));
  else
    bar.push(
      segmented(
        "as",
        labels.as,
        [
          { value: "lines", label: labels.lines },
          { value: "heatmap", label: labels.heatmap },
        ],
        (s) => s.as,
        (v) => set({ as: v as State["as"], zoom: { x: 0, y: 0, k: 1 } }),
      ),
    );
  if (kind === "model") bar.push(colourBy(host), chooseRows(host));
  if (kind !== "neuron") bar.push(levelChoice(host));
  if (kind === "head") bar.push(directionChoice(host));
  if (host.spec.stacks.some((_, i) => isPair(host.spec, i))) bar.push(pairMenu(host));
  if (host.spec.stacks.some((_, i) => hasParts(host.spec, i))) bar.push(partsMenu(host));
  bar.push(readingMenu(host, kind, kind === "head" ? [muteSinks(host)] : []));
  bar.push(search(host, (s) => matchCount(host.spec, s, kind, labels)));
  if (kind === "head") bar.push(lineZoom(host));
  const rows: Control[] = kind === "head" ? [headBoxes(host.spec, labels, host.state, set, host.switchOff)] : [];
  return toolbarOf(labels, bar, rows);
}

/** A bar of controls, and rows of further ones below it. */
export function toolbarOf(labels: Labels, bar: Control[], rows: Control[] = []): Toolbar {
  return {
    element: el(
      "div",
      { class: "controls", role: "toolbar", "aria-label": labels.reading },
      el("div", { class: "bar" }, ...bar.map((c) => c.element)),
      ...rows.map((c) => c.element),
    ),
    sync: (state) => [...bar, ...rows].forEach((control) => control.sync(state)),
  };
}

export const levelChoice = ({ labels, set }: ToolbarHost): Control =>
  segmented(
    "level",
    labels.level,
    [
      { value: "token", label: labels.token },
      { value: "word", label: labels.word },
    ],
    (s) => s.level,
    (v) => set({ level: v as State["level"], zoom: { x: 0, y: 0, k: 1 } }),
  );

export const directionChoice = ({ labels, set }: ToolbarHost): Control =>
  segmented(
    "direction",
    labels.direction,
    [
      { value: "from", label: labels.from },
      { value: "to", label: labels.to },
    ],
    (s) => s.direction,
    (v) => set({ direction: v as State["direction"] }),
  );

export const muteSinks = ({ labels, set }: ToolbarHost): Control =>
  checkbox(
    "mute_sinks",
    labels.mute_sinks,
    (s) => s.mute_sinks,
    (mute_sinks) => set({ mute_sinks }),
  );

/** How many of the tokens (or words) that are left in match, in words; those of two texts together. */
export function matchCount(spec: Spec, state: State, kind: Kind, labels: Labels): string {
  const { rows, cols } = axes(spec, kind === "neuron" ? { ...state, level: "token" } : state, null);
  const { query_text, key_text } = spec.stacks[state.stack];
  const found = new Set(
    [rows, cols].flatMap((side, at) => {
      const text = at ? key_text : query_text;
      return matches(side, state.find).flatMap((yes, i) => (yes ? [`${text} ${side.units[i]}`] : []));
    }),
  );
  return found.size ? counted(found.size === 1 ? labels.n_matches_one : labels.n_matches, found.size) : labels.no_match;
}

/** Beside the title: what concerns the picture, not the attention. */
export function pictureControls(host: ToolbarHost): Toolbar {
  const controls = [themeMenu(host), saveMenu(host)];
  return {
    element: el("div", { class: "picture" }, ...controls.map((c) => c.element)),
    sync: (state) => controls.forEach((c) => c.sync(state)),
  };
}

export function backButton({ labels, set }: ToolbarHost): Control {
  const button = el("button", { type: "button", class: "back", "data-name": "back" }, "‹ ", labels.back);
  on(button, "click", () => set({ opened: false, locked: [] }));
  return { element: button, sync: () => undefined };
}

/** What is drawn: attention, or a quantity beside it. */
export const drawnMenu = ({ spec, labels, set }: ToolbarHost): Control =>
  select(
    "drawn",
    labels.drawn,
    () => quantitiesOf(spec).map((quantity, i) => ({ value: String(i), label: quantityName(quantity, labels) })),
    (s) => String(s.drawn),
    (v) => set({ drawn: Number(v) }),
  );

export const stackMenu = ({ spec, labels, set }: ToolbarHost): Control =>
  select(
    "stack",
    labels.stack,
    () => spec.stacks.map((stack, i) => ({ value: String(i), label: labels[stack.name as "encoder"] ?? stack.name })),
    (s) => String(s.stack),
    (v) => set({ stack: Number(v) }),
  );

export function layerStepper({ spec, labels, state, set }: ToolbarHost): Control {
  const layers = (s: State) => spec.stacks[s.stack].layers;
  const menuOf = select(
    "layer",
    labels.layer,
    (s) => layers(s).map((layer, i) => ({ value: String(i), label: String(layer.layer) })),
    (s) => String(s.layer),
    (v) => set({ layer: Number(v) }),
  );
  return stepper(
    menuOf,
    { previous: `${labels.previous}: ${labels.layer}`, next: `${labels.next}: ${labels.layer}` },
    (by) => set({ layer: state().layer + by }),
    (s) => [s.layer === 0, s.layer >= layers(s).length - 1],
  );
}

export function headStepper({ spec, labels, state, set }: ToolbarHost): Control {
  const count = (s: State) => spec.stacks[s.stack].layers[s.layer].n_heads;
  const menuOf = select(
    "head",
    labels.head,
    (s) =>
      Array.from({ length: count(s) }, (_, h) => {
        const number = headNumber(spec.stacks[s.stack].layers[s.layer], h);
        return { value: String(h), label: String(spec.spaces?.[0]?.stacks[s.stack].heads[h] ?? number) };
      }),
    (s) => String(s.heads[0]),
    (v) => set({ heads: [Number(v)] }),
  );
  return stepper(
    menuOf,
    { previous: `${labels.previous}: ${labels.head}`, next: `${labels.next}: ${labels.head}` },
    (by) => set({ heads: [state().heads[0] + by] }),
    (s) => [s.heads[0] === 0, s.heads[0] >= count(s) - 1],
  );
}

/** The grid that gives the colours; undefined where heads or layers do. */
export const gridBy = (spec: Spec, state: State): HeadGrid | undefined =>
  gridsOf(spec, state).find((grid) => grid.quantity === state.colour_by);

const gridsOf = (spec: Spec, state: State): HeadGrid[] =>
  (spec.grids ?? []).filter((grid) => grid.stack === undefined || grid.stack === spec.stacks[state.stack].name);

const colourBy = ({ spec, labels, set }: ToolbarHost): Control =>
  select(
    "colour_by",
    labels.colour_by,
    (s) => [
      ...gridsOf(spec, s).map(({ quantity }) => ({ value: quantity, label: labels[quantity as "effect"] ?? quantity })),
      { value: "layer", label: labels.layer },
      { value: "head", label: labels.head },
    ],
    (s) => (gridBy(spec, s) || s.colour_by === "layer" ? s.colour_by : "head"),
    (v) => set({ colour_by: v as State["colour_by"] }),
  );

function chooseRows({ spec, labels, set }: ToolbarHost): Control {
  const most = (s: State) => Math.max(...spec.stacks[s.stack].layers.map((layer) => layer.n_heads));
  return menu(labels.show, "show", [
    numbers(
      "rows",
      labels.rows,
      labels,
      (s) => spec.stacks[s.stack].layers.length,
      (s, i) => String(spec.stacks[s.stack].layers[i].layer),
      (s) => s.rows,
      (rows) => set({ rows }),
    ),
    numbers(
      "columns",
      labels.columns,
      labels,
      most,
      (s, i) => String(headNumber(spec.stacks[s.stack].layers[0], i)),
      (s) => s.columns,
      (columns) => set({ columns }),
    ),
  ]);
}

export function pairMenu({ labels, set }: ToolbarHost): Control {
  const options = [
    ["all", labels.all_pairs],
    ["aa", "A→A"],
    ["ab", "A→B"],
    ["ba", "B→A"],
    ["bb", "B→B"],
  ].map(([value, label]) => ({ value, label }));
  return select(
    "segments",
    labels.segments,
    () => options,
    (s) => s.segments,
    (v) => set({ segments: v as State["segments"], zoom: { x: 0, y: 0, k: 1 } }),
  );
}

/** Of a conversation or a prompt: which part looks, at which part, and the colours of the parts. */
export function partsMenu({ spec, labels, set }: ToolbarHost): Control {
  const choice = (key: "query_part" | "key_part", side: "query_text" | "key_text"): Control =>
    select(
      key,
      labels[key],
      (s) => [
        { value: "", label: labels.every_part },
        ...(spec.texts[spec.stacks[s.stack][side]].parts ?? []).map((label, i) => ({ value: String(i), label })),
      ],
      (s) => String(s[key] ?? ""),
      (v) => set({ [key]: v === "" ? null : Number(v), zoom: { x: 0, y: 0, k: 1 } }),
    );
  const colour = checkbox(
    "colour_parts",
    labels.colour_parts,
    (s) => s.colour_parts,
    (v) => set({ colour_parts: v }),
  );
  const legend = el("span", { class: "swatches" });
  const swatches: Control = {
    element: legend,
    sync(s) {
      const entries = partLegend(spec, s, themeOf(s.theme).dark);
      legend.replaceChildren(...entries.map(({ colour, name }) => el("span", { style: `--colour:${colour}` }, name)));
    },
  };
  const controls = [choice("query_part", "query_text"), choice("key_part", "key_text"), colour, swatches];
  return menu(
    labels.parts,
    "parts",
    controls,
    (s) => Number(s.query_part !== null) + Number(s.key_part !== null) + Number(s.colour_parts),
  );
}

const themeMenu = ({ labels, set }: ToolbarHost): Control =>
  select(
    "theme",
    labels.theme,
    () => (["system", "light", "dark"] as const).map((value) => ({ value, label: labels[value] })),
    (s) => s.theme,
    (v) => set({ theme: v as State["theme"] }),
  );

function saveMenu({ labels, save }: ToolbarHost): Control {
  const choice = (format: Format) => {
    const button = el("button", { type: "button", class: "entry", "data-name": format }, labels[format]);
    on(button, "click", () => {
      save(format);
      whole.close();
    });
    return button;
  };
  const whole = menu(labels.save, "save", [choice("svg"), choice("png")]);
  return whole;
}
