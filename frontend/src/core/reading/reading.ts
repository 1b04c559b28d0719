// From arrays and state to the maps on screen: decode → pool to words → leave out → sum to one → combine.

import type { Source } from "../input/arrays";
import { axes, type Axis } from "./axes";
import { headColour } from "../colours";
import { headName } from "../../generated/heads";
import { headNumber, type QuantitySpec, type Spec, type State } from "../input/contract";
import type { Decoded } from "../input/decode";
import { Combined, maximum, mostAttended, renormalise, select } from "./filters";
import { groupsOf, poolToWords } from "./pooling";
import { arrayOf, drawnOf, emptyArray, signedArray } from "./quantity";
import { breathe } from "../schedule";
import type { Theme } from "../theme";

export interface HeadMap {
  /** Head number, or −1 for several combined. */
  head: number;
  name: string;
  weights: Float32Array; // [row, column]; below zero where the quantity has a sign
  max: number; // of their sizes
}

export interface Reading {
  rows: Axis;
  cols: Axis;
  maps: HeadMap[];
  sink: number | null;
  quantity: QuantitySpec;
}

/** The head's own colour; several combined are drawn in the colour of queries. */
export const mapColour = (map: HeadMap, theme: Theme): string => (map.head < 0 ? theme.query : headColour(map.head, theme.dark));

const ROOM = 24_000_000; // floats of finished maps kept

export class Reader {
  private kept = new Map<string, Float32Array>();
  private room = ROOM;
  private sinks = new Map<string, Promise<number>>();

  constructor(
    readonly spec: Spec,
    readonly arrays: Source,
  ) {}

  /** The most attended token of a layer, over all its heads and queries. */
  sink(stack: number, layer: number): Promise<number> {
    const key = `${stack}.${layer}`;
    if (!this.sinks.has(key)) {
      const sink = this.weights(stack, layer).then((array) => {
        const [heads, , keys] = array.shape;
        const each = function* () {
          for (let h = 0; h < heads; h++) yield array.block(h);
        };
        return mostAttended(each(), keys);
      });
      sink.catch(() => this.sinks.delete(key));
      this.sinks.set(key, sink);
    }
    return this.sinks.get(key)!;
  }

  /** The weights of a layer, or the numbers of another quantity, as parts of its largest: [head, query, key]. */
  async weights(stack: number, layer: number, drawn = 0): Promise<Decoded> {
    const { layers, query_text, key_text } = this.spec.stacks[stack];
    const name = arrayOf(layers[layer], drawn);
    if (name === null) return emptyArray(this.spec.texts[query_text].tokens.length, this.spec.texts[key_text].tokens.length);
    const array = await this.arrays.get(name);
    return drawnOf(this.spec, { drawn }).signed ? signedArray(array) : array;
  }

  async sides(state: State): Promise<{ rows: Axis; cols: Axis; sink: number | null }> {
    const sink = state.hide_sink ? await this.sink(state.stack, state.layer) : null;
    return { ...axes(this.spec, state, sink), sink };
  }

  /** One head's map between the units left in: [row, column]. Passing ones are not kept; coarse ones are for thumbnails. */
  async map(
    state: State,
    layer: number,
    head: number,
    rows: Axis,
    cols: Axis,
    use: "kept" | "passing" | "coarse" = "kept",
  ): Promise<Float32Array> {
    const key = [
      state.stack,
      layer,
      head,
      state.drawn,
      state.level,
      state.segments,
      state.query_part,
      state.key_part,
      state.hide_special,
      state.renormalise,
      cols.units.length,
      state.hide_sink && cols.units.join(),
    ].join();
    const cached = this.kept.get(key);
    if (cached) return cached;
    const array = await this.weights(state.stack, layer, state.drawn);
    const stack = this.spec.stacks[state.stack];
    const at = Math.min(head, array.shape[0] - 1); // a quantity without heads has one map
    let weights = array.block(at, use === "coarse" && !state.renormalise); // [query, key]; dividing by a small sum needs the fine plane
    let width = array.shape[2];
    if (state.level === "word") {
      const keyGroups = groupsOf(this.spec.texts[stack.key_text], "word");
      weights = poolToWords(weights, width, groupsOf(this.spec.texts[stack.query_text], "word"), keyGroups);
      width = keyGroups.length;
    }
    weights = select(weights, width, rows.units, cols.units);
    if (state.renormalise && cols.units.length) weights = renormalise(weights, cols.units.length);
    if (use === "kept") this.keep(key, weights);
    return weights;
  }

  private keep(key: string, weights: Float32Array): void {
    if (weights.length > ROOM) return;
    for (const [old, map] of this.kept) {
      if (this.room >= weights.length) break;
      this.kept.delete(old);
      this.room += map.length;
    }
    this.kept.set(key, weights);
    this.room -= weights.length;
  }

  /** Everything the head view shows: a map for each head, or one for all of them. */
  async read(state: State, heads: number[] = state.heads): Promise<Reading> {
    const { rows, cols, sink } = await this.sides(state);
    const layers = this.spec.stacks[state.stack].layers;
    const quantity = drawnOf(this.spec, state);
    if (!quantity.by_head && heads.length && state.combine === "each") {
      const weights = await this.map(state, state.layer, 0, rows, cols);
      const name = quantity.by_layer ? `L${layers[state.layer].layer}` : "";
      return { rows, cols, sink, quantity, maps: [{ head: -1, name, weights, max: maximum(weights) }] };
    }
    if (state.combine !== "each" && heads.length) {
      const combined = new Combined(state.combine);
      const chosen = [...new Set([state.layer, ...state.combine_layers])];
      for (const layer of chosen) {
        for (const head of heads)
          if (head < layers[layer].n_heads) combined.add(await this.map(state, layer, head, rows, cols, "passing"));
        if (chosen.length > 1) await breathe();
      }
      const weights = combined.result();
      return {
        rows,
        cols,
        sink,
        quantity,
        maps: [{ head: -1, name: combinedName(this.spec, state, heads), weights, max: maximum(weights) }],
      };
    }
    const maps: HeadMap[] = [];
    for (const head of heads) {
      const weights = await this.map(state, state.layer, head, rows, cols);
      maps.push({
        head,
        name: headName(layers[state.layer].layer, headNumber(layers[state.layer], head)),
        weights,
        max: maximum(weights),
      });
    }
    return { rows, cols, sink, quantity, maps };
  }
}

/** “mean · L3,5 · 12 heads” */
export function combinedName(spec: Spec, state: State, heads: number[]): string {
  const { layers } = spec.stacks[state.stack];
  const chosen = [...new Set([state.layer, ...state.combine_layers])].sort((a, b) => a - b).map((i) => layers[i].layer);
  const which = heads.length === 1 ? `H${headNumber(layers[state.layer], heads[0])}` : `${heads.length} heads`;
  return `${state.combine} · L${chosen.join(",")} · ${which}`;
}
