import { expect, test } from "vitest";
import { edgePart, headPart, layerPart, offIn, offParts, partName, toggledOff } from "./off";

test("a part is switched off and on again, the others stay", () => {
  const first = toggledOff("", "L3·H7");
  const both = toggledOff(first, edgePart("L4·H1", [2, 3], [5]));
  expect(offParts(both)).toEqual(["L3·H7", "L4·H1 2,3>5"]);
  expect(toggledOff(both, "L3·H7")).toBe("L4·H1 2,3>5");
  expect(offParts("")).toEqual([]);
});

test("a part is named by its tokens, and by its stack where there are several", () => {
  expect(headPart(1, "encoder", 3, 7)).toBe("L3·H7");
  expect(headPart(3, "cross", 3, 7)).toBe("cross L3·H7");
  expect(partName("L4·H1 0>2", ["it", "was"], ["the", "cat", "sat"])).toBe("L4·H1 it → sat");
  expect(partName("L3·H7", [], [])).toBe("L3·H7");
});

test("a head is off by its own name, by its layer's, and in single edges", () => {
  const head = { stacks: 1, stack: "encoder", layer: 3, head: 7, heads: 12 };
  expect(layerPart(1, "encoder", 3, 12)).toBe("L3·H0-11");
  expect(offIn("L3·H6; L3·H7", head)()).toBe(true);
  expect(offIn("L3·H0-11", head)(1, 2)).toBe(true);
  expect(offIn("L3·H6; L4·H7; L3·H7 1>2", head)()).toBe(false);
  expect(offIn("L3·H7 1,4>2", head)(4, 2)).toBe(true);
  expect(offIn("L3·H7 1>2", head)(2, 1)).toBe(false);
  expect(offIn("all 1>2", head)(1, 2)).toBe(true);
  expect(partName("all 0>1", ["it"], ["a", "cat"], "all layers")).toBe("all layers it → cat");
});
