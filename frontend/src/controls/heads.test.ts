import { describe, expect, it } from "vitest";
import { example } from "../core/input/example";
import { completeState } from "../core/state/state";
import { ENGLISH } from "../generated/labels";
import { leftOut, shownHeads } from "./heads";

describe("heads on screen", () => {
  const spec = example();

  it("are those chosen, one at a time on a heatmap, all of them when combined", () => {
    expect(shownHeads(spec, completeState(spec, { heads: [1, 3] }))).toEqual([1, 3]);
    expect(shownHeads(spec, completeState(spec, { heads: [1, 3], as: "heatmap" }))).toEqual([1]);
    expect(shownHeads(spec, completeState(spec, { heads: [1, 3], as: "heatmap", combine: "mean" }))).toEqual([1, 3]);
    expect(shownHeads(spec, completeState(spec, { heads: [] }))).toEqual([]);
  });

  it("are fewer for texts so long that all would not fit into memory", () => {
    const long = example();
    long.texts[0].tokens = Array.from({ length: 4096 }, () => "x");
    expect(shownHeads(long, completeState(long, { as: "lines" }))).toEqual([0, 1, 2]);
    expect(leftOut(long, completeState(long, { as: "lines" }), ENGLISH)).toContain("only 3 of 4 heads");
    expect(leftOut(long, completeState(long, { as: "heatmap" }), ENGLISH)).toBe("");
    expect(leftOut(spec, completeState(spec), ENGLISH)).toBe("");
  });
});
