import { expect, it } from "vitest";
import { headName, readHead } from "../../generated/heads";

it("reads the name of a head that it prints", () => {
  expect(headName(3, 7)).toBe("L3·H7");
  expect(headName(3, 7, "cross")).toBe("cross L3·H7");
  expect(readHead(headName(3, 7))).toEqual({ stack: "", layer: 3, head: 7 });
  expect(readHead(headName(3, 17, "cross"))).toEqual({ stack: "cross", layer: 3, head: 17 });
});

it("takes nothing else for the name of a head", () => {
  for (const label of ["", "L3", "L3H7", "other L3·H7", "#L3·H7", "undefined"]) expect(readHead(label)).toBeNull();
});
