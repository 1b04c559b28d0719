// The types of docs/view-format.md: what Python writes, and what the reader did.

export interface TextSpec {
  tokens: string[];
  special: boolean[];
  segments: number[];
  words: (number | null)[];
  word_texts: string[];
  /** Parts of speech, one a token, "" where it has none; absent where nobody knows them. */
  tags?: string[];
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

export type Kind = "head" | "model" | "neuron" | "space";

export type Facts = Record<string, number | null>;

/** One layer of a space: names of arrays, and the numbers of each head. */
export interface SpaceLayer {
  layer: number;
  points: string; // [head, point, dims]: queries, then keys; values alone
  norms: string; // [head, point], from the head's smallest (0) to its largest (255)
  tops: string; // [head, rank, query]: place of the key in its text, counted from 1; 0 where there is none
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
  of: "queries-keys" | "values";
  project: string;
  gauge: string;
  dims: 2 | 3;
  stacks: SpaceStack[];
}

export interface Spec {
  format: number;
  kind: Kind;
  model: string;
  texts: TextSpec[];
  stacks: StackSpec[];
  /** Kind "space" only: one space, or two to be compared. */
  spaces?: SpaceSpec[];
  state?: Partial<State>;
}

export interface Zoom {
  x: number;
  y: number;
  k: number;
}

export interface Turn {
  yaw: number;
  pitch: number;
}

export type ColourPoints = "kind" | "position" | "position5" | "token" | "tag" | "text" | "norm";
export type Links = "chosen" | "best" | "top" | "none";

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
  colour_points: ColourPoints;
  links: Links;
  links_top: number;
  point: number | null;
  text: number | null;
  lasso: number[];
  pairs: string;
  tool: "move" | "lasso";
  turn: Turn;
}

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
  state?: Partial<State>;
}
