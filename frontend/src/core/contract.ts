// The types of docs/view-format.md: what Python writes, and what the reader did.

export interface TextSpec {
  tokens: string[];
  special: boolean[];
  segments: number[];
  words: (number | null)[];
  word_texts: string[];
}

export interface LayerSpec {
  layer: number;
  n_heads: number;
  n_key_heads: number;
  weights: string;
  queries?: string | null;
  keys?: string | null;
  scale?: number | null;
  bias?: string | null;
  mask?: string | null;
}

export interface StackSpec {
  name: string;
  query_text: number;
  key_text: number;
  layers: LayerSpec[];
}

export type Kind = "head" | "model" | "neuron";

export interface Spec {
  format: number;
  kind: Kind;
  model: string;
  texts: TextSpec[];
  stacks: StackSpec[];
  state?: Partial<State>;
}

export interface Zoom {
  x: number;
  y: number;
  k: number;
}

export interface State {
  stack: number;
  layer: number;
  heads: number[];
  as: "lines" | "heatmap";
  level: "token" | "word";
  direction: "from" | "to";
  segments: "all" | "aa" | "ab" | "ba" | "bb";
  hide_special: boolean;
  hide_sink: boolean;
  renormalise: boolean;
  threshold: number;
  rescale: boolean;
  combine: "each" | "mean" | "max";
  combine_layers: number[];
  locked: number[];
  query: number;
  expanded: number | null;
  rows: number[];
  columns: number[];
  colour_by: "head" | "layer";
  opened: boolean;
  find: string;
  theme: "system" | "light" | "dark";
  zoom: Zoom;
}

export type Bytes = string | ArrayBuffer | ArrayBufferView;

export interface ArrayEntry {
  dtype: "sqrt8" | "float32" | "bits";
  shape: number[];
  levels?: number;
  fine_from?: number;
  data: Bytes;
}

export interface View {
  kind: Kind;
  spec: Spec;
  arrays: Record<string, ArrayEntry>;
  state?: Partial<State>;
}
