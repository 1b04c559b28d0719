import { expect, test } from "vitest";
import type { Spec } from "../input/contract";
import { addressOf, headInAddress, stateOfAddress } from "./address";
import { completeState } from "./state";

const layers = [2, 5].map((layer) => ({ layer, n_heads: 4, n_key_heads: 4, weights: "" }));
const spec = (kind: Spec["kind"]): Spec => ({
  format: 1,
  kind,
  model: "",
  texts: [],
  stacks: ["encoder", "cross"].map((name) => ({ name, query_text: 0, key_text: 0, layers })),
});

test("an address opens a view at a head, by the number of its layer", () => {
  expect(headInAddress(spec("head"), `#${encodeURIComponent("L5·H3")}`)).toEqual({ stack: 0, layer: 1, heads: [3] });
  expect(headInAddress(spec("model"), "#cross L2·H0")).toEqual({ stack: 1, layer: 0, heads: [0], opened: true });
});

test("an address that names no head of the view changes nothing", () => {
  for (const hash of ["", "#", "#L3·H0", "#L5·H4", "#decoder L2·H0", "#%", "#section"])
    expect(headInAddress(spec("head"), hash)).toBeNull();
});

const text = {
  tokens: ["a", "b", "c"],
  special: [false, false, false],
  segments: [0, 0, 0],
  words: [0, 1, 2],
  word_texts: ["a", "b", "c"],
};
const whole = (kind: Spec["kind"]): Spec => ({ ...spec(kind), texts: [text] });

test("a state goes into the address and comes back", () => {
  const first = completeState(whole("head"), {});
  expect(addressOf(whole("head"), first, first)).toBe("");
  const changed = completeState(whole("head"), { layer: 1, heads: [3], locked: [2], threshold: 0.1, find: "a & b=c", theme: "dark" });
  const hash = addressOf(whole("head"), changed, first);
  expect(decodeURIComponent(hash)).toMatch(/^#encoder L5·H3&/);
  expect(stateOfAddress(whole("head"), hash, first)).toMatchObject({ state: changed, unknown: "" });
  expect(stateOfAddress(whole("head"), "", first).state).toEqual(first);
});

test("what an address names in vain is said, and what is damaged is left out", () => {
  const first = completeState(whole("head"), {});
  expect(stateOfAddress(whole("head"), "#L9·H9", first)).toEqual({ state: first, given: {}, unknown: "L9·H9" });
  expect(stateOfAddress(whole("head"), "#&locked=[99,1]&threshold=x&nothing=1", first).state).toEqual({ ...first, locked: [1] });
});
