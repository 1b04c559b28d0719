import { describe, expect, it } from "vitest";
import { problem } from "./check";
import type { Spec } from "./contract";
import { example } from "./example";

const changed = (change: (spec: Spec) => void): string | null => {
  const spec = example();
  change(spec);
  return problem(spec);
};

describe("a spec that cannot be shown", () => {
  it("is named; one that can is not", () => {
    expect(problem(example())).toBeNull();
    expect(changed((spec) => (spec.format = 2))).toContain("format 2");
    expect(changed((spec) => (spec.kind = "pie" as "head"))).toContain("pie");
    expect(changed((spec) => (spec.stacks = []))).toContain("no attention");
    expect(changed((spec) => (spec.stacks[1].layers = []))).toContain("cross");
    expect(changed((spec) => (spec.stacks[1].key_text = 7))).toContain("names text 7");
    expect(changed((spec) => spec.texts[0].special.pop())).toBe("7 tokens, but 6 special.");
  });
});
