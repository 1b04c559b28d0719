// What a generation holds, read from the arrays of its view: rows of written tokens, shares of parts, effects.

import type { Source } from "../../core/input/arrays";
import type { GenerationSpec, Spec, State } from "../../core/input/contract";

/** The row of one written token: the strongest keys with their weights, and all others together. */
export interface Row {
  keys: number[];
  weights: number[];
  rest: number;
  /** Of which head, layer or mean this is; a head whose row was not kept shows the mean of its layer. */
  layer: number | null;
  head: number | null;
}

export const QUIET = ["first position", "template"];

export class GenerationData {
  readonly record: GenerationSpec;
  private shares: Float32Array[][] | null = null; // [layer][head]: written × part

  constructor(
    readonly spec: Spec,
    private arrays: Source,
  ) {
    this.record = spec.generation!;
  }

  get n(): number {
    return this.record.probabilities.length;
  }

  get nParts(): number {
    return this.record.parts.length;
  }

  async row(state: State): Promise<Row> {
    const layer = state.shown === "mean" ? null : state.layer;
    const head = state.shown === "head" ? state.heads[0] : null;
    const { rows } = this.record;
    const exact = rows.find((each) => each.layer === layer && each.head === head);
    const record = exact ?? rows.find((each) => each.layer === layer && each.head === null) ?? rows[0];
    const [keys, weights, rest] = await Promise.all(
      ["keys", "weights", "rest"].map((name) => this.arrays.get(`${record.arrays}.${name}`)),
    );
    const positions = Array.from(keys.whole!(state.written));
    const all = weights.block(0);
    const start = state.written * positions.length;
    return {
      keys: positions,
      weights: Array.from(all.subarray(start, start + positions.length)),
      rest: rest.whole!(state.written)[0] / 65535,
      layer: record.layer,
      head: record.head,
    };
  }

  /** Shares [written × part] of what is shown: one head, the mean of a layer, or of all heads. */
  async sharesShown(state: State): Promise<Float32Array> {
    const all = await this.allShares();
    if (state.shown === "head") return all[state.layer][state.heads[0]];
    return meanOf(state.shown === "layer" ? all[state.layer] : all.flat());
  }

  /** For each layer and head the share of a part, as the mean over the written tokens. */
  async gridOf(part: number): Promise<number[][]> {
    const all = await this.allShares();
    return all.map((heads) =>
      heads.map((shares) => {
        let sum = 0;
        for (let t = 0; t < this.n; t++) sum += shares[t * this.nParts + part];
        return sum / this.n;
      }),
    );
  }

  private async allShares(): Promise<Float32Array[][]> {
    if (this.shares) return this.shares;
    const arrays = await Promise.all(this.record.shares.map((name) => this.arrays.get(name)));
    this.shares = arrays.map((array) =>
      Array.from({ length: array.shape[0] }, (_, head) => {
        const values = array.block(head);
        return array.whole ? values.map((v) => v / 65535) : values;
      }),
    );
    return this.shares;
  }
}

function meanOf(heads: Float32Array[]): Float32Array {
  const mean = new Float32Array(heads[0].length);
  for (const shares of heads) for (let i = 0; i < mean.length; i++) mean[i] += shares[i] / heads.length;
  return mean;
}

/** Stretches of one part: [part, first token, one after the last]. */
export function runsOf(partOf: number[]): [number, number, number][] {
  const runs: [number, number, number][] = [];
  partOf.forEach((part, i) => {
    const last = runs[runs.length - 1];
    if (last && last[0] === part) last[2] = i + 1;
    else runs.push([part, i, i + 1]);
  });
  return runs;
}

/** A token as it stands in a text: its mark of a space is one. */
export const asText = (token: string, continued: boolean): string =>
  token.startsWith("##") ? token.slice(2) : (continued && !/^[▁Ġ]/u.test(token) ? " " : "") + token.replace(/[▁Ġ]/gu, " ");
