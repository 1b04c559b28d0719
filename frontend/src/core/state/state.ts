// What the reader did, as plain JSON: defaults, and repair of states that do not fit the spec.

import { axes } from "../reading/axes";
import type { Kind, Spec, State } from "../input/contract";
import { BOUNDS, CHOICES, defaultValues, NULLABLE } from "../../generated/state";
import { fitSpace } from "./space-state";

/** Above this many tokens a head opens as a heatmap. */
export const LINES_UP_TO = 256;

/** Views that show one head at a time. */
const single = (spec: Spec): boolean => ["neuron", "space", "sentence", "text", "generation"].includes(spec.kind);

const range = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

export function longest(spec: Spec): number {
  return Math.max(0, ...spec.texts.map((text) => text.tokens.length));
}

export function defaults(spec: Spec, stackIndex = 0): State {
  const stack = spec.stacks[stackIndex];
  const most = Math.max(0, ...stack.layers.map((layer) => layer.n_heads));
  return {
    ...defaultValues(),
    stack: stackIndex,
    heads: single(spec) ? [0] : range(stack.layers[0]?.n_heads ?? 0),
    as: longest(spec) > LINES_UP_TO ? "heatmap" : "lines",
    rows: range(stack.layers.length),
    columns: range(most),
  };
}

const within = (list: unknown, n: number): number[] =>
  Array.isArray(list) ? [...new Set(list.filter((i) => Number.isInteger(i) && i >= 0 && i < n) as number[])] : [];

const clamp = (value: unknown, low: number, high: number, otherwise: number): number =>
  typeof value === "number" && Number.isFinite(value) ? Math.min(high, Math.max(low, value)) : otherwise;

/** The state with every key present and every value possible for this spec. Unknown keys are dropped. */
export function completeState(spec: Spec, given: Partial<State> = {}): State {
  const stackIndex = Math.round(clamp(given.stack, 0, spec.stacks.length - 1, 0));
  const base = defaults(spec, stackIndex);
  const state = { ...base } as Record<string, unknown>;
  for (const key of Object.keys(base) as (keyof State)[]) {
    const value = given[key];
    if (value === undefined) continue;
    const choices = CHOICES[key] as readonly unknown[] | undefined;
    if (choices ? choices.includes(value) : NULLABLE.includes(key) || typeof value === typeof base[key]) state[key] = value;
  }
  return repaired(spec, state as unknown as State, base, given);
}

function repaired(spec: Spec, state: State, base: State, given: Partial<State>): State {
  const stack = spec.stacks[base.stack];
  const nQuery = spec.texts[stack.query_text].tokens.length;
  const nKey = spec.texts[stack.key_text].tokens.length;
  const layer = Math.round(clamp(given.layer, 0, stack.layers.length - 1, 0));
  const nHeads = stack.layers[layer]?.n_heads ?? 0;
  const heads = given.heads === undefined ? (single(spec) ? [0] : range(nHeads)) : within(given.heads, nHeads);
  const zoom = { ...base.zoom, ...(given.zoom ?? {}) };
  const query = Math.round(clamp(given.query, 0, nQuery - 1, 0));
  return {
    ...state,
    stack: base.stack,
    layer,
    heads: single(spec) && heads.length === 0 ? [0] : heads,
    drawn: Math.round(clamp(given.drawn, 0, (spec.quantities?.length ?? 1) - 1, 0)),
    threshold: clamp(given.threshold, ...BOUNDS.threshold, 0),
    combine_layers: within(given.combine_layers, stack.layers.length),
    locked: within(given.locked, state.direction === "from" ? nQuery : nKey),
    query: spec.kind === "neuron" ? allowedQuery(spec, state, query) : query,
    query_part: within([given.query_part], spec.texts[stack.query_text].parts?.length ?? 0)[0] ?? null,
    key_part: within([given.key_part], spec.texts[stack.key_text].parts?.length ?? 0)[0] ?? null,
    written: Math.round(clamp(given.written, 0, (spec.generation?.probabilities.length ?? 1) - 1, 0)),
    part: typeof given.part === "number" && given.part >= 0 && given.part < (spec.generation?.parts.length ?? 0) ? given.part : null,
    expanded: typeof given.expanded === "number" && given.expanded >= 0 && given.expanded < nKey ? given.expanded : null,
    rows: given.rows === undefined ? base.rows : within(given.rows, base.rows.length),
    columns: given.columns === undefined ? base.columns : within(given.columns, base.columns.length),
    zoom: { x: clamp(zoom.x, ...BOUNDS.zoom_x, 0), y: clamp(zoom.y, ...BOUNDS.zoom_y, 0), k: clamp(zoom.k, ...BOUNDS.zoom_k, 1) },
    ...fitSpace(spec, base.stack, given),
  };
}

/** This query, or the first one that the reading controls leave in; where they leave none, this one still. */
function allowedQuery(spec: Spec, state: State, query: number): number {
  const { units } = axes(spec, { ...state, level: "token" }, null).rows;
  return units.includes(query) ? query : (units[0] ?? query);
}

/** Whether queries and keys are the same tokens: a token that is held stays held when the direction turns. */
const readsItself = (spec: Spec, stack: number): boolean => spec.stacks[stack].query_text === spec.stacks[stack].key_text;

/** The state after a change; moving to another stack or layer keeps what still makes sense there. */
export function change(spec: Spec, state: State, patch: Partial<State>): State {
  let next: Partial<State> = { ...state, ...patch };
  const movedStack = patch.stack !== undefined && patch.stack !== state.stack;
  if (movedStack) {
    const fresh = defaults(spec, patch.stack);
    next = {
      ...next,
      locked: [],
      query: 0,
      query_part: null,
      key_part: null,
      expanded: null,
      zoom: fresh.zoom,
      point: null,
      text: null,
      lasso: [],
      combine_layers: [],
      rows: fresh.rows,
      columns: fresh.columns,
    };
    if (patch.heads === undefined) next.heads = undefined;
    if (patch.layer === undefined) next.layer = Math.min(state.layer, spec.stacks[patch.stack!].layers.length - 1);
  }
  if (!movedStack && patch.layer !== undefined && patch.heads === undefined) {
    const layers = spec.stacks[state.stack].layers;
    const all = state.heads.length === layers[state.layer]?.n_heads;
    if (all && !single(spec)) next.heads = range(layers[Math.min(Math.max(0, patch.layer), layers.length - 1)].n_heads);
  }
  const turned = patch.direction !== undefined && patch.direction !== state.direction;
  if (turned && patch.locked === undefined && !readsItself(spec, next.stack ?? 0)) next.locked = [];
  return completeState(spec, next);
}

/** Which view stands on screen: the model view becomes the head view while a head is opened. */
export const shownKind = (kind: Kind, state: State): Kind => (kind === "model" && state.opened ? "head" : kind);
