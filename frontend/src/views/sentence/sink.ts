// The word on which most of a head's attention rests: its lines and its shade would hide all others, and are left out.

import type { Reading } from "../../core/reading/reading";
import type { Word } from "./words";

/** From this share on, a token is a sink. */
const SINK = 0.5;
/** In a shorter text a large share says nothing: there are too few tokens to share the attention. */
const FEWEST = 4;
const known = new WeakMap<Float32Array, [best: number, share: number]>();

/** The sink among these words, and its share; null where there is none, and for quantities other than attention. */
export function sinkIn(reading: Reading, words: Word[]): { word: Word; share: number } | null {
  const [map] = reading.maps;
  const [n, width] = [reading.rows.labels.length, reading.cols.labels.length];
  if (!map || reading.quantity.method !== "attention" || width < FEWEST || n < FEWEST) return null;
  let found = known.get(map.weights);
  if (!found) {
    const sums = new Float64Array(width);
    for (let row = 0, i = 0; row < n; row++) for (let col = 0; col < width; col++, i++) sums[col] += map.weights[i];
    let best = 0;
    for (let col = 1; col < width; col++) if (sums[col] > sums[best]) best = col;
    known.set(map.weights, (found = [best, sums[best] / n]));
  }
  const [best, share] = found;
  const word = share >= SINK ? words.find(({ col }) => col === best) : undefined;
  return word ? { word, share } : null;
}
