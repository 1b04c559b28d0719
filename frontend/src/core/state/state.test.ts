import { describe, expect, it } from "vitest";
import { example } from "../input/example";
import { keyChange } from "./keyboard";
import { change, defaults, completeState, shownKind } from "./state";

const spec = example();

describe("state", () => {
  it("starts with all heads of the first layer, as lines", () => {
    expect(completeState(spec)).toEqual(defaults(spec));
    expect(completeState(spec).heads).toEqual([0, 1, 2, 3]);
    expect(completeState(example("neuron")).heads).toEqual([0]);
  });

  it("opens long texts as a heatmap, unless told otherwise", () => {
    const long = example();
    long.texts[0].tokens = Array.from({ length: 257 }, () => "x");
    expect(completeState(long).as).toBe("heatmap");
    expect(completeState(long, { as: "lines" }).as).toBe("lines");
  });

  it("repairs what does not fit and drops what it does not know", () => {
    const state = completeState(spec, {
      layer: 99,
      heads: [1, 1, 9, -2],
      locked: [2, 40],
      threshold: 7,
      as: "pie",
      rescale: "yes",
      query: 1e9,
      zoom: { k: 0 },
      junk: 1,
    } as never);
    expect(state).toMatchObject({
      layer: 2,
      heads: [1],
      locked: [2],
      threshold: 1,
      as: "lines",
      rescale: false,
      query: 6,
      zoom: { x: 0, y: 0, k: 1 },
    });
    expect(state).not.toHaveProperty("junk");
  });

  it("keeps an empty choice of heads", () => {
    expect(completeState(spec, { heads: [] }).heads).toEqual([]);
  });

  it("moves to another stack with that stack's heads, layers and no locks", () => {
    const state = change(spec, completeState(spec, { layer: 2, heads: [3], locked: [5] }), { stack: 1 });
    expect(state).toMatchObject({ stack: 1, layer: 0, heads: [0, 1], locked: [], rows: [0] });
  });

  it("keeps tokens locked when the direction turns, where queries and keys are the same tokens", () => {
    const state = completeState(spec, { locked: [1] });
    expect(change(spec, state, { direction: "to" }).locked).toEqual([1]);
    expect(change(spec, state, { direction: "to", locked: [2] }).locked).toEqual([2]);
    const { query_text, key_text, ...stack } = spec.stacks[0];
    const cross = { ...spec, texts: [...spec.texts, spec.texts[0]], stacks: [{ ...stack, query_text, key_text: spec.texts.length }] };
    expect(query_text).toBe(key_text);
    expect(change(cross, completeState(cross, { locked: [1] }), { direction: "to" }).locked).toEqual([]);
  });

  it("shows the head view while a head of the model view is opened", () => {
    expect(shownKind("model", completeState(spec, { opened: true }))).toBe("head");
    expect(shownKind("neuron", completeState(spec, { opened: true }))).toBe("neuron");
  });
});

describe("keys", () => {
  const press = (key: string, state: Parameters<typeof completeState>[1], kind: "head" | "model" = "head") =>
    keyChange(key, kind, spec, completeState(spec, state));

  it("moves between heads with left and right, from the one shown alone", () => {
    expect(press("ArrowRight", { heads: [1] })).toEqual({ heads: [2] });
    expect(press("ArrowRight", { heads: [3] })).toEqual({ heads: [3] });
    expect(press("ArrowRight", {})).toEqual({ heads: [0] });
    expect(press("ArrowLeft", {})).toEqual({ heads: [3] });
  });

  it("moves between layers with up and down, and stops at the ends", () => {
    expect(press("ArrowDown", { layer: 0 })).toEqual({ layer: 1 });
    expect(press("ArrowUp", { layer: 0 })).toEqual({ layer: 0 });
    expect(press("ArrowDown", { layer: 2 })).toEqual({ layer: 2 });
  });

  it("lets go of locks first, then of the opened row, then of the opened head", () => {
    expect(press("Escape", { locked: [1], expanded: 2, opened: true }, "model")).toEqual({ locked: [] });
    expect(press("Escape", { expanded: 2, opened: true }, "model")).toEqual({ expanded: null });
    expect(press("Escape", { opened: true }, "model")).toEqual({ opened: false });
    expect(press("Escape", {})).toBeNull();
    expect(press("a", {})).toBeNull();
  });
});
