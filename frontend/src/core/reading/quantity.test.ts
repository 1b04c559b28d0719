import { describe, expect, it } from "vitest";
import { lineSet } from "../../marks/lines";
import { coarser, signedShades, ZERO } from "../../marks/heatmap";
import type { QuantitySpec, Spec } from "../input/contract";
import { ENGLISH } from "../../generated/labels";
import { labelsWith } from "../words/labels";
import { arrayOf, drawnNote, drawnOf, drawnTitle, drawnWhole, quantityName, shownNumber, signedArray } from "./quantity";
import { completeState } from "../state/state";

const gradient: QuantitySpec = {
  method: "gradient",
  name: "Gradient × attention",
  signed: true,
  largest: 4,
  answer: " mat",
  by_head: true,
  by_layer: true,
};
const attention: QuantitySpec = { ...gradient, method: "attention", name: "Attention", signed: false, largest: 1, answer: "" };
const text = { tokens: ["a", "b"], special: [false, false], segments: [0, 0], words: [0, 1], word_texts: ["a", "b"] };
const layer = { layer: 0, n_heads: 2, n_key_heads: 2, weights: "w", also: ["g", null] };
const spec = {
  format: 1,
  kind: "head",
  model: "m",
  texts: [text],
  stacks: [{ name: "encoder", query_text: 0, key_text: 0, layers: [layer] }],
  quantities: [attention, gradient],
} as Spec;

describe("what is drawn", () => {
  it("is named in the note below the drawing", () => {
    expect(drawnNote(spec, { drawn: 0 }, ENGLISH)).toBe(ENGLISH.note);
    expect(drawnNote(spec, { drawn: 1 }, ENGLISH)).toContain("Gradient × attention estimates what the answer rests on");
    const norms = { ...spec, quantities: [attention, { ...gradient, method: "norms", answer: "" }] } as Spec;
    expect(drawnNote(norms, { drawn: 1 }, ENGLISH)).toContain("Norm-weighted attention estimates what each token takes");
  });

  it("is attention where a view says nothing", () => {
    expect(drawnOf({ ...spec, quantities: undefined }, { drawn: 3 }).method).toBe("attention");
    expect(completeState({ ...spec, quantities: undefined }, { drawn: 3 }).drawn).toBe(0);
    expect(completeState(spec, { drawn: 9 }).drawn).toBe(1);
  });

  it("names the array of each quantity, or none", () => {
    expect([0, 1, 2].map((drawn) => arrayOf(layer, drawn))).toEqual(["w", "g", null]);
  });

  it("is named in the title, with its answer, in the reader's words", () => {
    const labels = labelsWith({ drawn_gradient: "勾配 × アテンション" });
    expect(drawnTitle(spec, completeState(spec, { drawn: 1 }), labels, "Where")).toBe("勾配 × アテンション → mat");
    expect(drawnTitle(spec, completeState(spec, {}), labels, "Where")).toBe("Where");
    expect(quantityName({ ...gradient, method: "of-another-version" }, ENGLISH)).toBe("Gradient × attention");
  });

  it("says no head where heads are not told apart", () => {
    expect(drawnWhole(gradient, "Layer 3", "all layers")).toBeNull();
    expect(drawnWhole({ ...gradient, by_head: false }, "Layer 3", "all layers")).toBe("Layer 3");
    expect(drawnWhole({ ...gradient, by_head: false, by_layer: false }, "Layer 3", "all layers")).toBe("all layers");
  });
});

describe("signed numbers", () => {
  it("travel as fractions and come back from −1 to 1", () => {
    const array = signedArray({ shape: [1, 1, 3], byteLength: 0, block: () => Float32Array.of(0, 32767.5, 65535) });
    expect([...array.block(0)]).toEqual([-1, 0, 1]);
  });

  it("are lines in two colours, as strong as their size", () => {
    const set = lineSet([{ weights: Float32Array.of(0.5, -0.5, 0, 0.001), max: 0.5 }], { width: 2, threshold: 0.1, rescale: false });
    expect(set.count).toBe(2);
    expect([...set.map.slice(0, 2)]).toEqual([0, 1]);
    expect(set.opacity[0]).toBe(set.opacity[1]);
  });

  it("keep the one farthest from zero in a coarser picture", () => {
    const grid = signedShades(Float32Array.of(0.2, -1, 0, 0.5), 2, 1, false, 0);
    expect(coarser(grid).shade[0]).toBe(0);
    expect(signedShades(Float32Array.of(0), 1, 1, false, 0).shade[0]).toBe(ZERO);
  });

  it("are shown in their own unit, with a true minus sign", () => {
    expect(shownNumber(-0.5, 4)).toBe("−2.00");
    expect(shownNumber(0.25, 1)).toBe("0.250");
    expect(shownNumber(0, 4)).toBe("0.000");
  });
});
