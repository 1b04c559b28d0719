import { expect, test } from "vitest";
import { lineAt } from "./line-at";
import { lineSet } from "./lines";
import type { Lines } from "./scene";

const weights = Float32Array.from([0.1, 0.9, 0.8, 0.2]);
const lines: Lines = {
  type: "lines",
  set: lineSet([{ weights, max: 0.9 }], { width: 2, threshold: 0, rescale: false }),
  x1: 100,
  x2: 300,
  y1: Float32Array.from([20, 120]),
  y2: Float32Array.from([20, 120]),
  spread: 0,
  colours: ["#000"],
  widest: 3,
  curved: true,
};
const ends = (i: number) => [lines.set.from[i], lines.set.to[i]];

test("the line under a point is found near its ends, and the stronger of two that cross", () => {
  expect(ends(lineAt(lines, 200, 20))).toEqual([0, 0]);
  expect(ends(lineAt(lines, 110, 21))).toEqual([0, 1]);
  expect(ends(lineAt(lines, 200, 70))).toEqual([0, 1]);
  expect(ends(lineAt(lines, 290, 119))).toEqual([0, 1]);
});

test("there is no line beside the columns or between the lines", () => {
  expect(lineAt(lines, 90, 20)).toBe(-1);
  expect(lineAt(lines, 120, 70)).toBe(-1);
});
