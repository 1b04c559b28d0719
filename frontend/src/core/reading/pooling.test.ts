import { describe, expect, it } from "vitest";
import { poolToWords, wordGroups } from "./pooling";

/** The definition, letter by letter. */
function slow(a: number[][], queries: number[][], keys: number[][]): number[][] {
  return queries.map((v) => keys.map((w) => v.reduce((sum, i) => sum + w.reduce((inner, j) => inner + a[i][j], 0), 0) / v.length));
}

describe("pooling to words", () => {
  it("keeps special tokens apart and joins pieces of a word", () => {
    expect(wordGroups([null, 0, 1, 1, null])).toEqual([[0], [1], [2, 3], [4]]);
  });

  it("joins pieces that are not neighbours, at the position of the first", () => {
    expect(wordGroups([0, 1, 0])).toEqual([[0, 2], [1]]);
  });

  it("agrees with the obvious loop, and rows still sum to one", () => {
    const a = Array.from({ length: 5 }, (_, i) => {
      const row = Array.from({ length: 4 }, (_, j) => 1 + ((i * 3 + j * 7) % 5));
      const sum = row.reduce((x, y) => x + y);
      return row.map((x) => x / sum);
    });
    const queries = [[0, 3], [1], [2, 4]];
    const keys = [[0], [1, 2], [3]];
    const got = poolToWords(Float32Array.from(a.flat()), 4, queries, keys);
    slow(a, queries, keys).forEach((row, v) => {
      row.forEach((value, w) => expect(got[v * 3 + w]).toBeCloseTo(value, 6));
      expect(got[v * 3] + got[v * 3 + 1] + got[v * 3 + 2]).toBeCloseTo(1, 6);
    });
  });
});
