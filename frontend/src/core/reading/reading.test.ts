import { deflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { Arrays } from "../input/arrays";
import type { ArrayEntry } from "../input/contract";
import { example } from "../input/example";
import { Reader } from "./reading";
import { completeState } from "../state/state";

const spec = example();
const n = 7;

/** Head h of layer l, query i, key j; rows sum to one. */
function weights(layer: number): number[][][] {
  return Array.from({ length: 4 }, (_, h) =>
    Array.from({ length: n }, (_, i) => {
      const row = Array.from({ length: n }, (_, j) => 1 + ((layer + 2 * h + 3 * i + 5 * j * (h + 1)) % 7) + (j === 6 ? 9 : 0));
      const total = row.reduce((a, b) => a + b);
      return row.map((value) => value / total);
    }),
  );
}

const packed = (values: number[]): ArrayEntry => ({
  dtype: "float32",
  shape: [4, n, n],
  data: deflateSync(new Uint8Array(Float32Array.from(values).buffer)).toString("base64"),
});
const reader = () =>
  new Reader(spec, new Arrays(Object.fromEntries([0, 1, 5].map((layer, at) => [`encoder.${layer}`, packed(weights(at).flat(2))]))));

describe("reading", () => {
  it("gives a map for each head, with its name and colour", async () => {
    const { maps } = await reader().read(completeState(spec, { layer: 2, heads: [3, 1] }));
    expect(maps.map((map) => map.name)).toEqual(["L5·H3", "L5·H1"]);
    expect(maps[0].weights[1 * n + 2]).toBeCloseTo(weights(2)[3][1][2], 6);
    expect(maps[0].max).toBeCloseTo(Math.max(...weights(2)[3].flat()), 6);
  });

  it("hides the sink of the layer as a key and lets rows sum to one", async () => {
    const { maps, cols, rows, sink } = await reader().read(completeState(spec, { hide_sink: true, renormalise: true, heads: [0] }));
    expect(sink).toBe(6);
    expect([rows.labels.length, cols.labels.length]).toEqual([7, 6]);
    const [first] = weights(0)[0];
    const left = 1 - first[6];
    expect(maps[0].weights[2]).toBeCloseTo(first[2] / left, 5);
  });

  it("does not give out the map of a hidden sink for the map of another", async () => {
    const reads = reader();
    const hidden = await reads.read(completeState(spec, { hide_sink: true, heads: [0] }));
    const whole = await reads.read(completeState(spec, { heads: [0] }));
    expect(hidden.maps[0].weights.length).toBe(42);
    expect(whole.maps[0].weights.length).toBe(49);
  });

  it("averages over chosen heads and layers", async () => {
    const { maps } = await reader().read(completeState(spec, { combine: "mean", heads: [0, 2], combine_layers: [1] }));
    const expected = [0, 1].flatMap((layer) => [0, 2].map((head) => weights(layer)[head][4][3])).reduce((a, b) => a + b) / 4;
    expect(maps).toHaveLength(1);
    expect(maps[0].weights[4 * n + 3]).toBeCloseTo(expected, 6);
  });

  it("says which array is missing", async () => {
    const none = new Reader(spec, new Arrays({}));
    await expect(none.read(completeState(spec))).rejects.toThrow("encoder.0");
  });

  it("waits for arrays that come later, and only then asks for them", async () => {
    let calls = 0;
    const rest = Promise.resolve({ "encoder.1": packed(weights(1).flat(2)) });
    const late = new Reader(
      spec,
      new Arrays({ "encoder.0": packed(weights(0).flat(2)) }, () => {
        calls++;
        return rest;
      }),
    );
    await late.read(completeState(spec));
    expect(calls).toBe(0);
    const { maps } = await late.read(completeState(spec, { layer: 1 }));
    expect(maps[0].weights[4 * n + 3]).toBeCloseTo(weights(1)[0][4][3], 6);
    await expect(late.read(completeState(spec, { layer: 2 }))).rejects.toThrow("encoder.5");
    expect(calls).toBe(2);
  });
});
