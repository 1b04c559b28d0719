// A space of queries and keys, read head by head: who the points are, where they stand, whom they attend to.

import type { Cloud } from "../../marks/scatter/cloud";
import type { Source } from "../input/arrays";
import type { Facts, SpaceLayer, SpaceSpec, SpaceStack, Spec, TextSpec } from "../input/contract";

/** The tokens of one side, text after text. */
export class Side {
  readonly texts: TextSpec[];
  readonly starts: number[] = [0];
  readonly text: Uint32Array;
  readonly position: Uint32Array;
  readonly count: number;

  constructor(spec: Spec, indices: number[]) {
    this.texts = indices.map((i) => spec.texts[i]);
    for (const { tokens } of this.texts) this.starts.push(this.starts[this.starts.length - 1] + tokens.length);
    this.count = this.starts[this.starts.length - 1];
    this.text = new Uint32Array(this.count);
    this.position = new Uint32Array(this.count);
    this.texts.forEach(({ tokens }, t) =>
      tokens.forEach((_, i) => {
        this.text[this.starts[t] + i] = t;
        this.position[this.starts[t] + i] = i;
      }),
    );
  }

  token(i: number): string {
    return this.texts[this.text[i]].tokens[this.position[i]];
  }

  special(i: number): boolean {
    return this.texts[this.text[i]].special[this.position[i]];
  }

  tag(i: number): string {
    return this.texts[this.text[i]].tags?.[this.position[i]] ?? "";
  }

  /** The whole word that the token is a piece of. */
  word(i: number): string {
    const text = this.texts[this.text[i]];
    const word = text.words[this.position[i]];
    return word === null ? this.token(i) : (text.word_texts[word] ?? this.token(i));
  }
}

const isPosition = (text: TextSpec, name: string): boolean =>
  /^\d+$/.test(name) && !text.tokens.includes(name) && !text.word_texts.includes(name);

/** Whether a token is what a user named in lower case: as a piece, as the word that it is a piece of, or by its position. */
export const isNamed = (text: TextSpec, position: number, name: string): boolean => {
  if (isPosition(text, name)) return position === Number(name);
  const word = text.words[position];
  return text.tokens[position].toLocaleLowerCase() === name || (word !== null && text.word_texts[word]?.toLocaleLowerCase() === name);
};

/** The pairs of names that no text holds both sides of. */
export const unmatched = (texts: TextSpec[], pairs: [string, string][]): [string, string][] =>
  pairs.filter((pair) => !texts.some((text) => pair.every((name) => text.tokens.some((_, i) => isNamed(text, i, name)))));

/** The most attended keys of every query of one head. */
export interface Tops {
  ranks: number;
  /** Key number, or −1. */
  key(query: number, rank: number): number;
  weight(query: number, rank: number): number;
}

/** One stack of one space. Points are numbered: queries first, then keys; where they are values there are keys alone. */
export class SpaceData {
  readonly queries: Side;
  readonly keys: Side;
  readonly values: boolean;
  readonly stack: SpaceStack;
  readonly count: number;
  private clouds = new Map<string, Cloud>();

  constructor(
    readonly spec: Spec,
    readonly space: SpaceSpec,
    stack: number,
    private arrays: Source,
  ) {
    this.stack = space.stacks[stack];
    this.keys = new Side(spec, this.stack.key_texts);
    this.queries = this.stack.query_texts.join() === this.stack.key_texts.join() ? this.keys : new Side(spec, this.stack.query_texts);
    this.values = space.of === "values";
    this.count = this.keys.count + this.keysFrom;
  }

  /** The number of the first key among the points. */
  get keysFrom(): number {
    return this.values ? 0 : this.queries.count;
  }

  isKey = (point: number): boolean => point >= this.keysFrom;
  sideOf = (point: number): Side => (this.isKey(point) ? this.keys : this.queries);
  /** The number of a point among the tokens of its side. */
  own = (point: number): number => (this.isKey(point) ? point - this.keysFrom : point);
  textOf = (point: number): number => this.sideOf(point).text[this.own(point)];
  tokenOf = (point: number): string => this.sideOf(point).token(this.own(point));
  wordOf = (point: number): string => this.sideOf(point).word(this.own(point));
  /** The point of a query; a value stands for its own token as a query. −1 where there is none. */
  queryPoint = (query: number): number => (!this.values || this.queries === this.keys ? query : -1);
  keyPoint = (key: number): number => this.keysFrom + key;

  layer(at: number): SpaceLayer {
    return this.stack.layers[at];
  }

  facts(layer: number, head: number): Facts {
    return this.layer(layer).facts[head] ?? {};
  }

  async cloud(layer: number, head: number): Promise<Cloud> {
    const array = await this.arrays.get(this.layer(layer).points);
    const key = `${layer}.${head}`;
    const coords = array.whole!(head) as Uint16Array;
    let cloud = this.clouds.get(key);
    if (cloud?.coords !== coords)
      this.clouds.set(
        key,
        (cloud = { coords, dims: this.space.dims, count: this.count, keysFrom: this.values ? this.count : this.keysFrom }),
      );
    return cloud!;
  }

  /** From 0 (the head's shortest vector) to 255 (its longest). */
  async norms(layer: number, head: number): Promise<Uint8Array> {
    return (await this.arrays.get(this.layer(layer).norms)).whole!(head) as Uint8Array;
  }

  async tops(layer: number, head: number): Promise<Tops> {
    const { tops, top_weights } = this.layer(layer);
    const [keys, weights] = await Promise.all([this.arrays.get(tops), this.arrays.get(top_weights)]);
    const [positions, values] = [keys.whole!(head), weights.block(head)];
    const [, ranks, n] = keys.shape;
    return {
      ranks,
      key: (query, rank) => {
        const position = positions[rank * n + query];
        return position === 0 ? -1 : this.keys.starts[this.queries.text[query]] + position - 1;
      },
      weight: (query, rank) => values[rank * n + query],
    };
  }

  /** Attention of one text, [query, key] as floats: every weight where maps came along, else the strongest of each query. */
  async map(layer: number, head: number, text: number): Promise<{ weights: Float32Array; whole: boolean }> {
    const [rows, cols] = [this.queries.texts[text].tokens.length, this.keys.texts[text].tokens.length];
    const { maps } = this.layer(layer);
    let weights = new Float32Array(rows * cols);
    if (maps) {
      let start = 0;
      for (let t = 0; t < text; t++) start += this.queries.texts[t].tokens.length * this.keys.texts[t].tokens.length;
      weights = (await this.arrays.get(maps)).block(head).slice(start, start + rows * cols) as Float32Array<ArrayBuffer>;
    }
    const tops = await this.tops(layer, head);
    const [firstQuery, firstKey] = [this.queries.starts[text], this.keys.starts[text]];
    for (let i = 0; i < rows; i++)
      for (let rank = 0; rank < tops.ranks; rank++) {
        const key = tops.key(firstQuery + i, rank);
        if (key >= 0) weights[i * cols + key - firstKey] = tops.weight(firstQuery + i, rank);
      }
    return { weights, whole: Boolean(maps) };
  }
}
