import { describe, expect, it } from "vitest";
import { axes, hasParts, isPair, matches, partLegend, unitIndex } from "./axes";
import { example } from "../input/example";
import { Combined, maximum, mostAttended, renormalise, select } from "./filters";
import { change, completeState } from "../state/state";

describe("filters", () => {
  it("selects rows and columns", () => {
    expect([...select(Float32Array.of(0, 1, 2, 3, 4, 5), 3, [1], [0, 2])]).toEqual([3, 5]);
  });

  it("lets rows sum to one again and leaves empty rows empty", () => {
    expect([...renormalise(Float32Array.of(0.25, 0.25, 0, 0), 2)]).toEqual([0.5, 0.5, 0, 0]);
  });

  it("combines by mean and by maximum without changing what it was given", () => {
    const [a, b] = [Float32Array.of(0.2, 0.8), Float32Array.of(0.6, 0.4)];
    const of = (how: "mean" | "max") => {
      const combined = new Combined(how);
      combined.add(a);
      combined.add(b);
      return [...combined.result()].map((x) => Math.round(x * 100) / 100);
    };
    expect(of("mean")).toEqual([0.4, 0.6]);
    expect(of("max")).toEqual([0.6, 0.8]);
    expect(a[0]).toBeCloseTo(0.2);
  });

  it("finds the most attended column over all maps", () => {
    expect(mostAttended([Float32Array.of(0.9, 0.1, 0.9, 0.1), Float32Array.of(0, 1, 0, 1)], 2)).toBe(1);
    expect(maximum(Float32Array.of(0.1, 0.7, 0.3))).toBeCloseTo(0.7);
  });
});

describe("axes", () => {
  const spec = example();
  const labels = (state: Parameters<typeof completeState>[1], sink: number | null = null) => {
    const { rows, cols } = axes(spec, completeState(spec, state), sink);
    return [rows.labels, cols.labels];
  };

  it("leaves special tokens out on both sides, and the sink only as a key", () => {
    expect(labels({ hide_special: true })).toEqual([
      ["the", "cat", "##s", "sat"],
      ["the", "cat", "##s", "sat"],
    ]);
    expect(labels({}, 0)).toEqual([spec.texts[0].tokens, spec.texts[0].tokens.slice(1)]);
  });

  it("names words at word level", () => {
    expect(labels({ level: "word", hide_special: true })[0]).toEqual(["the", "cats", "sat"]);
  });

  it("takes queries from one part of a conversation and keys from another, and colours them", () => {
    const parted = example();
    Object.assign(parted.texts[0], { parts: ["template", "user 1"], part_of: [0, 1, 1, 1, 0, 1, 0] });
    const state = completeState(parted, { query_part: 1, key_part: 0 });
    const { rows, cols } = axes(parted, state, null);
    expect(rows.labels).toEqual(["the", "cat", "##s", "sat"]);
    expect(cols.labels).toEqual(["[CLS]", "[SEP]", "[SEP]"]);
    expect([rows.parts, cols.parts]).toEqual([
      [1, 1, 1, 1],
      [0, 0, 0],
    ]);
    expect([hasParts(parted, 0), hasParts(spec, 0)]).toEqual([true, false]);
    expect(partLegend(parted, state, false)).toEqual([]);
    const legend = partLegend(parted, { ...state, colour_parts: true }, false);
    expect(legend.map(({ name }) => name)).toEqual(["template", "user 1"]);
    expect(new Set(legend.map(({ colour }) => colour)).size).toBe(2);
  });

  it("repairs a part that the text does not have, and forgets it in another stack", () => {
    expect(completeState(spec, { query_part: 0 }).query_part).toBeNull();
    const parted = example();
    Object.assign(parted.texts[0], { parts: ["user 1"], part_of: [0, 0, 0, 0, 0, 0, 0] });
    const state = completeState(parted, { query_part: 0, key_part: 0 });
    expect([state.query_part, state.key_part]).toEqual([0, 0]);
    expect(change(parted, state, { stack: 1 }).query_part).toBeNull();
  });

  it("takes queries from one text of a pair and keys from the other", () => {
    expect(labels({ segments: "ba" })).toEqual([
      ["sat", "[SEP]"],
      ["[CLS]", "the", "cat", "##s", "[SEP]"],
    ]);
    expect(isPair(spec, 0)).toBe(true);
    expect(isPair(spec, 1)).toBe(false);
  });

  it("finds the word that holds a token, and −1 for one left out", () => {
    const { rows } = axes(spec, completeState(spec, { level: "word", hide_special: true }), null);
    expect([unitIndex(rows, 3), unitIndex(rows, 0)]).toEqual([1, -1]);
  });

  it("finds tokens whatever their case, and nothing for nothing", () => {
    const { rows } = axes(spec, completeState(spec), null);
    expect(matches(rows, " CAT ")).toEqual([false, false, true, false, false, false, false]);
    expect(matches(rows, " ")).not.toContain(true);
  });
});
