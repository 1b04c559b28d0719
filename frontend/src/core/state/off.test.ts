import { expect, test } from "vitest";
import { edgePart, headPart, offParts, partName, toggledOff } from "./off";

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
