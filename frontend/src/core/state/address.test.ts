import { expect, test } from "vitest";
import type { Spec } from "../input/contract";
import { headInAddress } from "./address";

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
