import { describe, expect, it } from "vitest";
import { keyHeadOf, largest, lastUnderMask, product, sum } from "./neuron";

describe("neuron view's arithmetic", () => {
  it("shares key heads among consecutive heads", () => {
    expect(Array.from({ length: 8 }, (_, h) => keyHeadOf(h, 8, 2))).toEqual([0, 0, 0, 0, 1, 1, 1, 1]);
  });

  it("multiplies by dimension; the sum is the dot product", () => {
    const parts = product(Float32Array.of(1, -2, 3), Float32Array.of(4, 5, 0.5));
    expect([...parts]).toEqual([4, -10, 1.5]);
    expect(sum(parts)).toBe(-4.5);
  });

  it("begins at the last token only where later keys are hidden", () => {
    const rows = (mask: number[][]) => (query: number) => mask[query];
    const causal = [
      [1, 0, 0],
      [1, 1, 0],
      [1, 1, 1],
    ];
    expect(lastUnderMask(rows(causal), 3, [0, 1, 2])).toBe(2);
    expect(lastUnderMask(rows(causal), 3, [0, 1])).toBe(1);
    expect(
      lastUnderMask(
        rows([
          [1, 0, 0],
          [1, 1, 0],
          [1, 1, 0],
        ]),
        3,
        [0, 1, 2],
      ),
    ).toBe(1); // padding at the end
    expect(
      lastUnderMask(
        rows([
          [1, 1, 0],
          [1, 1, 0],
          [1, 1, 0],
        ]),
        3,
        [0, 1, 2],
      ),
    ).toBeNull(); // padding alone
  });

  it("finds one scale for both signs", () => {
    expect(largest(Float32Array.of(1, -3), Float32Array.of(2))).toBe(3);
  });
});
