// How one weight is computed: softmax over keys of q·k·scale + bias.

export interface KeyRow {
  key: number; // token position
  score: number; // q·k·scale
  bias: number | null;
  weight: number;
  drawn: number | null; // another quantity than attention, as a part of its largest; null where attention is drawn
  masked: boolean;
  contribution: Float32Array | null; // weight × value, a number a dimension; null where values were not kept
}

/** The key head that head h looks into; grouped-query models have fewer key heads than heads. */
export const keyHeadOf = (head: number, nHeads: number, nKeyHeads: number): number => Math.floor((head * nKeyHeads) / nHeads);

/** Where to begin under a mask that hides every later key: the last of these queries that sees itself. Null under any other mask. */
export function lastUnderMask(allowed: (query: number) => ArrayLike<number>, n: number, queries: number[]): number | null {
  if (n < 2) return null;
  for (let query = 0; query < n - 1; query++) {
    const row = allowed(query); // [key]
    for (let key = query + 1; key < n; key++) if (row[key]) return null;
  }
  return queries.filter((query) => allowed(query)[query]).pop() ?? null;
}

export function product(q: Float32Array, k: Float32Array): Float32Array {
  return q.map((value, d) => value * k[d]);
}

export const sum = (values: Float32Array): number => values.reduce((a, b) => a + b, 0);

/** The sum of the contributions: what the head writes for its query, before the output projection. */
export function output(rows: Pick<KeyRow, "contribution">[]): Float32Array | null {
  const [first] = rows;
  if (!first?.contribution) return null;
  const total = new Float32Array(first.contribution.length);
  for (const { contribution } of rows) contribution?.forEach((value, d) => (total[d] += value));
  return total;
}

/** The largest absolute value, at least a little, so that it can be divided by. */
export function largest(...arrays: Float32Array[]): number {
  let most = 1e-9;
  for (const values of arrays) for (let i = 0; i < values.length; i++) if (Math.abs(values[i]) > most) most = Math.abs(values[i]);
  return most;
}
