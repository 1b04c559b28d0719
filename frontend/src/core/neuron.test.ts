import { describe, expect, it } from "vitest";
import { isCausal, keyHeadOf, largest, maskedKeys, product, sum } from "./neuron";

describe("neuron view's arithmetic", () => {
  it("shares key heads among consecutive heads", () => {
    expect(Array.from({ length: 8 }, (_, h) => keyHeadOf(h, 8, 2))).toEqual([0, 0, 0, 0, 1, 1, 1, 1]);
  });

  it("multiplies by dimension; the sum is the dot product", () => {
    const parts = product(Float32Array.of(1, -2, 3), Float32Array.of(4, 5, 0.5));
    expect([...parts]).toEqual([4, -10, 1.5]);
    expect(sum(parts)).toBe(-4.5);
  });

  it("takes an exact zero as masked", () => {
    expect(maskedKeys(Float32Array.of(0.5, 0, 0.5), Float32Array.of(0, -50, 0), true)).toEqual([false, true, false]);
  });

  it("does not take a weight that was rounded to zero as masked, but one that scores deny", () => {
    expect(maskedKeys(Float32Array.of(0.5, 0, 0.5), Float32Array.of(0, -50, 0), false)).toEqual([false, false, false]);
    expect(maskedKeys(Float32Array.of(0.5, 0, 0.5), Float32Array.of(0, 0.2, 0), false)).toEqual([false, true, false]);
    expect(maskedKeys(Float32Array.of(1, 0), Float32Array.of(0, -65504), false)).toEqual([false, true]);
  });

  it("recognises a causal map", () => {
    expect(isCausal(Float32Array.of(1, 0, 0.5, 0.5), 2)).toBe(true);
    expect(isCausal(Float32Array.of(0.9, 0.1, 0.5, 0.5), 2)).toBe(false);
    expect(isCausal(Float32Array.of(1, 0), 2)).toBe(false);
  });

  it("finds one scale for both signs", () => {
    expect(largest(Float32Array.of(1, -3), Float32Array.of(2))).toBe(3);
  });
});
