import { describe, expect, it } from "vitest";
import { axes } from "./axes";
import { example } from "../input/example";
import { matchesInOrder, stepped } from "./find";
import { completeState } from "../state/state";

const walk = (patch: object) => {
  const spec = example();
  const state = completeState(spec, patch);
  const { rows, cols } = axes(spec, state, null);
  return matchesInOrder(spec, state, rows, cols).map(({ side, index }) => `${side}${index}`);
};

describe("find", () => {
  it("walks the side that is looked from", () => {
    expect(walk({ find: "sep" })).toEqual(["query4", "query6"]);
    expect(walk({ find: "sep", direction: "to" })).toEqual(["key4", "key6"]);
  });

  it("goes on to the other side where that is another text", () => {
    expect(walk({ find: "c", stack: 1 })).toEqual(["query2", "key0", "key2"]);
  });

  it("goes round and round, both ways", () => {
    expect([stepped(-1, 1, 3), stepped(0, 1, 3), stepped(2, 1, 3), stepped(-1, -1, 3), stepped(0, -1, 3)]).toEqual([0, 1, 0, 2, 2]);
  });
});
