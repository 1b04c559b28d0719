// How one weight comes about: softmax over keys of q·k·scale + bias.

export interface KeyRow {
  key: number; // token position
  score: number; // q·k·scale
  bias: number | null;
  weight: number;
  masked: boolean;
}

/** The key head that head h looks into; grouped-query models have fewer key heads than heads. */
export const keyHeadOf = (head: number, nHeads: number, nKeyHeads: number): number => Math.floor((head * nKeyHeads) / nHeads);

export function product(q: Float32Array, k: Float32Array): Float32Array {
  return q.map((value, d) => value * k[d]);
}

export const sum = (values: Float32Array): number => values.reduce((a, b) => a + b, 0);

/** Whether no query looks ahead anywhere in this map: a causal mask, whatever the rounding of small weights. */
export function isCausal(weights: Float32Array, nKeys: number): boolean {
  const rows = nKeys ? weights.length / nKeys : 0;
  if (rows < 2 || rows !== nKeys) return false;
  for (let i = 0; i < rows; i++) for (let j = i + 1; j < nKeys; j++) if (weights[i * nKeys + j] !== 0) return false;
  return true;
}

const FAR_BELOW = -1e4; // masks come as a bias this low

/**
 * Which keys a query was kept from seeing. A weight of exactly 0 means masked where the array is exact; where it was rounded to
 * 8 bits, only if the scores say that the weight could not have been that small.
 */
export function maskedKeys(weights: Float32Array, logits: Float32Array, exactZero: boolean): boolean[] {
  let most = -Infinity;
  weights.forEach((weight, j) => {
    if (weight > 0 && logits[j] > most) most = logits[j];
  });
  let total = 0;
  weights.forEach((weight, j) => {
    if (weight > 0) total += Math.exp(logits[j] - most);
  });
  return Array.from(weights, (weight, j) => {
    if (weight > 0) return false;
    return exactZero || logits[j] < FAR_BELOW || Math.exp(logits[j] - most) / total > 1e-5;
  });
}

/** The largest absolute value, at least a little, so that it can be divided by. */
export function largest(...arrays: Float32Array[]): number {
  let most = 1e-9;
  for (const values of arrays) for (let i = 0; i < values.length; i++) if (Math.abs(values[i]) > most) most = Math.abs(values[i]);
  return most;
}
