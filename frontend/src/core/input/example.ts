// A small spec that the tests of this folder share.

import type { Spec } from "./contract";

export const example = (kind: Spec["kind"] = "head"): Spec => ({
  format: 1,
  kind,
  model: "toy",
  texts: [
    {
      tokens: ["[CLS]", "the", "cat", "##s", "[SEP]", "sat", "[SEP]"],
      special: [true, false, false, false, true, false, true],
      segments: [0, 0, 0, 0, 0, 1, 1],
      words: [null, 0, 1, 1, null, 2, null],
      word_texts: ["the", "cats", "sat"],
    },
    { tokens: ["a", "b", "c"], special: [false, false, false], segments: [0, 0, 0], words: [0, 1, 2], word_texts: ["a", "b", "c"] },
  ],
  stacks: [
    {
      name: "encoder",
      query_text: 0,
      key_text: 0,
      layers: [0, 1, 5].map((layer) => ({ layer, n_heads: 4, n_key_heads: 4, weights: `encoder.${layer}` })),
    },
    { name: "cross", query_text: 1, key_text: 0, layers: [{ layer: 0, n_heads: 2, n_key_heads: 2, weights: "cross.0" }] },
  ],
});
