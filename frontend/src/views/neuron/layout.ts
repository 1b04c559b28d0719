// The columns of the neuron view, and where each key's row begins.

export interface NeuronLayout {
  width: number;
  height: number;
  full: number;
  row: number;
  top: number; // header: headings, and the query vector above the keys'
  token: number; // width of the token column
  vector: { x: number; w: number };
  product: { x: number; w: number };
  score: { x: number; w: number };
  bias: { x: number; w: number } | null;
  weight: { x: number; w: number };
  /** Softmax × value; null where values were not kept. */
  contribution: { x: number; w: number } | null;
  /** Rows and height of the opened key's numbers. */
  detail: { columns: number; rows: number; height: number };
}

const ROW = 22;
const HEADING = 120; // room for “query (128) · ±10.1” above a strip
export const TOP = 62;
export const DETAIL_ROW = 16;

export function neuronLayout(needs: {
  width: number;
  window: number;
  keys: number;
  dims: number;
  widest: number;
  bias: boolean;
  values?: number; // dimensions of a value; absent or 0: not kept
  expanded: boolean;
  coarse?: boolean;
}): NeuronLayout {
  const row = needs.coarse ? 44 : ROW;
  const width = Math.max(296, Math.min(needs.width, 1200));
  const token = Math.min(width < 640 ? 76 : 160, needs.widest + 26);
  const numbers = needs.bias ? 3 : 2;
  const count = needs.values ? 3 : 2; // of strips
  const narrow = width < 640 || width < token + numbers * (128 + 14) + count * (HEADING + 14); // no room for whole headings
  const gap = narrow ? (needs.values ? 6 : 8) : 14;
  const number = narrow ? (needs.values ? 46 : 52) : 128;
  const ends = number * numbers + gap * numbers;
  const strips = Math.max(
    narrow ? (needs.values ? 24 : 40) : HEADING,
    Math.min(needs.dims * 6, (width - token - ends - count * gap) / count),
  );
  let x = token + gap;
  const column = (w: number) => {
    const range = { x, w };
    x += w + gap;
    return range;
  };
  const vector = column(strips);
  const product = column(strips);
  const score = column(number);
  const bias = needs.bias ? column(number) : null;
  const weight = column(number);
  const contribution = needs.values ? column(strips) : null;
  const total = x - gap;
  const columns = Math.max(1, Math.floor((total - 24) / 210));
  const rows = Math.ceil(needs.dims / columns);
  const detail = { columns, rows, height: needs.expanded ? rows * DETAIL_ROW + 36 : 0 };
  const full = TOP + needs.keys * row + detail.height + 8;
  const height = Math.min(full, needs.window);
  return { width: total, height, full, row, top: TOP, token, vector, product, score, bias, weight, contribution, detail };
}

/** Top of a key's row; rows below the opened one are pushed down. */
export const rowTop = (layout: NeuronLayout, index: number, opened: number, scroll: number): number =>
  layout.top + index * layout.row + (opened >= 0 && index > opened ? layout.detail.height : 0) - scroll;

export function keyAt(layout: NeuronLayout, y: number, opened: number, scroll: number, keys: number): number {
  if (y < layout.top) return -1;
  let inside = y - layout.top + scroll;
  if (opened >= 0 && inside >= (opened + 1) * layout.row) {
    if (inside < (opened + 1) * layout.row + layout.detail.height) return opened;
    inside -= layout.detail.height;
  }
  const index = Math.floor(inside / layout.row);
  return index < keys ? index : -1;
}
