// Written by scripts/generate.py from src/eyeline/look/views/state_schema.json: change that file, and run the script.

export interface State {
  /** Encoder, decoder or cross. */
  stack: number;
  /** The layer shown: its index in the stack's list of layers. */
  layer: number;
  /** Heads switched on (neuron and sentence view and space: the first is the head; in a space its index in `heads`). */
  heads: number[];
  /** What is drawn: attention (0), or one of the quantities beside it. */
  drawn: number;
  /** How a head is shown; above 256 tokens the default is the heatmap. */
  as: "lines" | "heatmap";
  /** Word level: sum over pieces as keys, mean as queries. */
  level: "token" | "word";
  /** Where a token looks, or who looks at it. */
  direction: "from" | "to";
  /** Sentence pairs. */
  segments: "all" | "aa" | "ab" | "ba" | "bb";
  /** Of a conversation or a prompt: the part whose tokens are left in as queries. */
  query_part: number | null;
  /** The part whose tokens are left in as keys. */
  key_part: number | null;
  /** A bar beside each token has the colour of its part. */
  colour_parts: boolean;
  /** Leave out special tokens, as queries and as keys. */
  hide_special: boolean;
  /** Leave out, as a key, the token that the layer's heads together attend to most. */
  hide_sink: boolean;
  /** A token that gets half or more of the attention shown (of what was written: the first position) is left out; its share is said. */
  mute_sinks: boolean;
  /** Rows sum to 1 again over the keys that are left. */
  renormalise: boolean;
  /** Weights below it are not drawn. */
  threshold: number;
  /** Each head stretched so that its largest weight is 1. */
  rescale: boolean;
  /** Heads shown one by one, or combined over `heads` (and over `combine_layers`). */
  combine: "each" | "mean" | "max";
  /** Layers combined together with the one shown. */
  combine_layers: number[];
  /** Tokens held on (summed): queries where `direction` is `"from"`, keys where it is `"to"`. */
  locked: number[];
  /** What is switched off: heads `L3·H7` or `L3·H0-11`, edges `L3·H7 2>5` or `all 2>5` (queries > keys), with `;` between. */
  off: string;
  /** The query token; moves to the first one that the reading controls leave in. */
  query: number;
  /** The key whose dimensions are spelled out. */
  expanded: number | null;
  /** Layers shown; of a space, one layer alone is a sheet of its heads with lines. */
  rows: number[];
  /** Heads shown. */
  columns: number[];
  /** What the colour of a thumbnail says; of the last four, those that the view has a grid of (`grids`). */
  colour_by: "head" | "layer" | "effect" | "role" | "entropy" | "special";
  /** A head (`layer`, `heads`) is open. */
  opened: boolean;
  /** Tokens that match are marked. */
  find: string;
  /** Light or dark, or as the page around the view. */
  theme: "system" | "light" | "dark";
  /** The top left corner in fractions of the map (of the square of points), and the magnification; lines use `k` alone. */
  zoom: { x: number; y: number; k: number };
  /** What the colour of a point says. */
  colour_points: "kind" | "position" | "position5" | "token" | "tag" | "text" | "norm";
  /** Lines of the chosen point (or the one under the pointer), from every query to its most attended key, or the strongest of the text. */
  links: "chosen" | "best" | "top" | "none";
  /** How many of the strongest lines are drawn. */
  links_top: number;
  /** The chosen point. */
  point: number | null;
  /** The chosen text. */
  text: number | null;
  /** Points held; they stay held in other heads. */
  lasso: number[];
  /** Word pairs drawn in red, such as `"she → Mary; it → cat"` (or `it:cat`). */
  pairs: string;
  /** Pairs in red also in heads in which the query attends more to another key. */
  every_pair: boolean;
  /** What dragging does (with the shift key always a lasso). */
  tool: "move" | "lasso";
  /** Three dimensions: angles in radians. */
  turn: { yaw: number; pitch: number };
  /** Whose row is shown: the mean of all heads, of the layer, or one head. */
  shown: "mean" | "layer" | "head";
  /** The written token whose row is shown. */
  written: number;
  /** The part whose share colours the grid of heads; null: the one of the prompt that gets most. */
  part: number | null;
}

export const CHOICES: { [K in keyof State]?: readonly State[K][] } = {
  as: ["lines", "heatmap"],
  level: ["token", "word"],
  direction: ["from", "to"],
  segments: ["all", "aa", "ab", "ba", "bb"],
  combine: ["each", "mean", "max"],
  colour_by: ["head", "layer", "effect", "role", "entropy", "special"],
  theme: ["system", "light", "dark"],
  colour_points: ["kind", "position", "position5", "token", "tag", "text", "norm"],
  links: ["chosen", "best", "top", "none"],
  tool: ["move", "lasso"],
  shown: ["mean", "layer", "head"],
};

export const NULLABLE: readonly (keyof State)[] = ["query_part", "key_part", "expanded", "point", "text", "part"];

/** The lowest and the highest value of each number. */
export const BOUNDS = {
  threshold: [0, 1],
  links_top: [1, 200],
  zoom_x: [0, 1],
  zoom_y: [0, 1],
  zoom_k: [1, 4096],
  turn_yaw: [-10000, 10000],
  turn_pitch: [-1.5708, 1.5708],
} as const;

/** Without the lists that begin as all there are. */
export const defaultValues = (): Omit<State, "heads" | "rows" | "columns"> => ({
  stack: 0,
  layer: 0,
  drawn: 0,
  as: "lines",
  level: "token",
  direction: "from",
  segments: "all",
  query_part: null,
  key_part: null,
  colour_parts: false,
  hide_special: false,
  hide_sink: false,
  mute_sinks: true,
  renormalise: false,
  threshold: 0,
  rescale: false,
  combine: "each",
  combine_layers: [],
  locked: [],
  off: "",
  query: 0,
  expanded: null,
  colour_by: "head",
  opened: false,
  find: "",
  theme: "system",
  zoom: { x: 0, y: 0, k: 1 },
  colour_points: "kind",
  links: "chosen",
  links_top: 20,
  point: null,
  text: null,
  lasso: [],
  pairs: "",
  every_pair: false,
  tool: "move",
  turn: { yaw: 0.6, pitch: 0.35 },
  shown: "mean",
  written: 0,
  part: null,
});
