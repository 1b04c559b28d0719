import { describe, expect, it } from "vitest";
import { contains, Nearest } from "./nearest";

describe("the pointer", () => {
  const at = Float32Array.of(10, 10, 14, 10, 200, 90, -5, -5);
  const nearest = new Nearest(at, { w: 220, h: 100 });

  it("finds what an obvious search finds", () => {
    for (let trial = 0; trial < 200; trial++) {
      const [x, y] = [(trial * 37) % 220, (trial * 53) % 100];
      let [best, least] = [-1, 10];
      for (let i = 0; i < 3; i++) {
        const far = Math.hypot(at[2 * i] - x, at[2 * i + 1] - y);
        if (far < least) [best, least] = [i, far];
      }
      expect(nearest.find(x, y, 10)).toBe(best);
    }
  });

  it("prefers the points the reader looks at", () => {
    expect(nearest.find(10, 10, 10, (i) => i === 1)).toBe(1);
  });

  it("lassoes what lies inside, also a hollow shape", () => {
    expect(nearest.inside([0, 0, 30, 0, 30, 30, 0, 30])).toEqual([0, 1]);
    expect(contains([0, 0, 10, 0, 10, 10, 5, 5, 0, 10], 5, 8)).toBe(false);
  });
});
