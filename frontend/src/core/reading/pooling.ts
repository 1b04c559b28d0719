// Word-level attention from the attention between word pieces, as eyeline.mathematics does it.

import type { TextSpec } from "../input/contract";

/** Token positions of each unit of the word level, in reading order; a special token is a unit of its own. */
export function wordGroups(words: (number | null)[]): number[][] {
  const groups: number[][] = [];
  const groupOf = new Map<number, number>();
  words.forEach((word, position) => {
    if (word !== null && groupOf.has(word)) {
      groups[groupOf.get(word)!].push(position);
      return;
    }
    if (word !== null) groupOf.set(word, groups.length);
    groups.push([position]);
  });
  return groups;
}

export function groupsOf(text: TextSpec, level: "token" | "word"): number[][] {
  return level === "word" ? wordGroups(text.words) : text.tokens.map((_, i) => [i]);
}

/** A'[v, w] = 1/|v| · Σ_{i ∈ v} Σ_{j ∈ w} A[i, j]: the sum over a word's pieces as keys, the mean as queries. */
export function poolToWords(weights: Float32Array, nKeys: number, queryGroups: number[][], keyGroups: number[][]): Float32Array {
  const columns = keyGroups.length;
  const wordOf = new Int32Array(nKeys).fill(-1); // [key] → key word
  keyGroups.forEach((group, w) => group.forEach((j) => (wordOf[j] = w)));
  const pooled = new Float32Array(queryGroups.length * columns); // [query word, key word]
  queryGroups.forEach((group, v) => {
    const share = 1 / group.length;
    for (const i of group)
      for (let j = 0; j < nKeys; j++) {
        const w = wordOf[j];
        if (w >= 0) pooled[v * columns + w] += share * weights[i * nKeys + j];
      }
  });
  return pooled;
}
