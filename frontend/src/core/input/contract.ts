// The types of docs/view-format.md: what Python writes, and what the reader did.

import type { EffectSpec, PredictionSpec } from "../reading/prediction";
import type { State } from "../../generated/state";

export interface TextSpec {
  tokens: string[];
  special: boolean[];
  segments: number[];
  words: (number | null)[];
  word_texts: string[];
  /** Of a conversation or a prompt: the names of its parts, and for each token the index of its part. */
  parts?: string[];
  part_of?: number[];
  /** Parts of speech, one a token, "" where it has none; absent where they are unknown. */
  tags?: string[];
}

export interface LayerSpec {
  layer: number;
  n_heads: number;
  n_key_heads: number;
  /** The numbers of the heads, where only some of the model's were recorded; absent: they count from 0. */
  heads?: number[];
  weights: string;
  /** Arrays of the further quantities, in their order; null where one has nothing in this layer. */
  also?: (string | null)[];
  queries?: string | null;
  keys?: string | null;
  values?: string | null;
  scale?: number | null;
  bias?: string | null;
  mask?: string | null;
}

/** What can be drawn: attention, or a quantity beside it. Numbers in its arrays are parts of `largest`. */
export interface QuantitySpec {
  method: string;
  name: string;
  signed: boolean;
  largest: number;
  /** The token or label that it is about; empty where it is about none. */
  answer: string;
  /** Whether it tells heads, and layers, apart. */
  by_head: boolean;
  by_layer: boolean;
}

export interface StackSpec {
  name: string;
  query_text: number;
  key_text: number;
  layers: LayerSpec[];
  /** Neuron view: the reason, where the values were not kept. */
  why_no_values?: "not_kept" | "not_given";
}

export type Kind = "head" | "model" | "neuron" | "space" | "sentence" | "text" | "generation";

export type Facts = Record<string, number | null>;

/** One layer of a space: names of arrays, and the numbers of each head. */
export interface SpaceLayer {
  layer: number;
  points: string; // [head, point, dims]: queries, then keys; values alone
  norms: string; // [head, point], from the head's smallest (0) to its largest (255)
  tops: string; // [head, rank, query]: index of the key in its text, counted from 1; 0 where there is none
  top_weights: string; // [head, rank, query]
  maps?: string | null; // [head, every text's map, row after row]
  norm_ranges: [number, number][];
  facts: Facts[];
}

export interface SpaceStack {
  name: string;
  heads: number[]; // their numbers in the model
  query_texts: number[]; // indices into texts, in corpus order
  key_texts: number[];
  layers: SpaceLayer[];
}

export interface SpaceSpec {
  model: string;
  held_out?: string; // background, texts or queries; picture: measured as it is; empty: no fidelity is shown
  of: "queries-keys" | "values" | "shared"; // shared: all heads and layers on the same axes
  project: string;
  gauge: string;
  dims: 2 | 3;
  stacks: SpaceStack[];
}

export interface TableSpec {
  title: string;
  about: string;
  columns: string[];
  rows: string[][];
}

/** A number, or a role, for each head. */
export interface HeadGrid {
  /** What the colour says: "effect", "role", "entropy" …; its name, and the words at both ends of its scale. */
  quantity: string;
  title: string;
  low?: string;
  high?: string;
  /** signed: blue below zero, orange above; share: from nothing to much; nats: viridis; role: names. */
  scale: "signed" | "share" | "nats" | "role";
  stack?: string;
  /** Numbers of the layers, and heads in each of them. */
  layers: number[];
  heads: number[];
  /** [layer][head]: numbers, or of roles indices into `names`; null: unknown. */
  values: (number | null)[][];
  /** [layer][head]: 1 measured, 0 an estimate; absent: all are measured. */
  measured?: number[][];
  /** The size of the number that has the full colour; absent: the largest size there is. */
  largest?: number;
  decimals?: number;
  unit?: string;
  /** Of shares: the colour of the largest; absent: the accent. */
  colour?: string;
  names?: { name: string; light: string; dark: string }[];
}

export interface Spec {
  format: number;
  kind: Kind;
  model: string;
  texts: TextSpec[];
  stacks: StackSpec[];
  /** The first is what `weights` hold; absent where that is attention and nothing else came with it. */
  quantities?: QuantitySpec[];
  /** Sentences that a reader of this view must know, such as maps that cannot be shown. */
  notices?: string[];
  /** Tables in words that belong to the view, shown folded. */
  tables?: TableSpec[];
  /** What the model answers to the text; absent where it answers nothing. */
  prediction?: PredictionSpec;
  /** What the answer becomes without each head, where that was computed. */
  effects?: EffectSpec[];
  /** What the colours of a model view may say beside heads and layers. */
  grids?: HeadGrid[];
  /** Kind "space" only: one space, or two to be compared. */
  spaces?: SpaceSpec[];
  /** Kind "generation" only: what was written, and where it looked. */
  generation?: GenerationSpec;
  state?: Partial<State>;
}

/** What a model wrote. Names of arrays stand in `shares` (one a layer) and in `rows`. */
export interface GenerationSpec {
  n_prompt: number;
  keys: number; // index into texts: what is looked at
  parts: string[];
  part_of: number[]; // of each key
  shown_parts: string[]; // their names as a reader sees them
  colours: [string, string][]; // of each part, on a light and on a dark page
  part: number; // the part that colours the grid of heads unless the state names one
  probabilities: number[]; // of each written token
  alternatives: [string, number][][];
  shares: string[]; // [head, written, part]
  /** layer and head as indices; null: the mean. Arrays NAME.keys and NAME.weights [written, 64], NAME.rest [written]. */
  rows: { layer: number | null; head: number | null; arrays: string }[];
  /** Change of log-probability [written, part] without each part. */
  effects?: { parts: string[]; removed?: (number | null)[][]; cut?: (number | null)[][] };
}

export type { State } from "../../generated/state";
export type Zoom = State["zoom"];
export type Turn = State["turn"];
export type ColourPoints = State["colour_points"];
export type Links = State["links"];

export type Bytes = string | ArrayBuffer | ArrayBufferView;

export interface ArrayEntry {
  dtype: "sqrt8" | "float32" | "bits" | "uint8" | "uint16";
  shape: number[];
  levels?: number;
  fine_from?: number;
  data: Bytes;
}

export interface View {
  kind: Kind;
  spec: Spec;
  arrays: Record<string, ArrayEntry>;
  /** Arrays that arrive after the view; asked for when a name is not among `arrays`. */
  later?: () => Promise<Record<string, ArrayEntry>>;
  state?: Partial<State>;
}

/** The number that the model gives to the head at an index of this layer. */
export const headNumber = (layer: LayerSpec, index: number): number => layer.heads?.[index] ?? index;
