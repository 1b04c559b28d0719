import { randomBytes } from "node:crypto";
import { deflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import type { ArrayEntry } from "./contract";
import { decode, toBytes } from "./decode";

const entry = (bytes: number[] | Uint8Array, rest: Partial<ArrayEntry>): ArrayEntry => ({
  dtype: "sqrt8",
  levels: 255,
  shape: [1],
  data: deflateSync(Uint8Array.from(bytes)).toString("base64"),
  ...rest,
});

/** Python's side of the contract, the obvious way. */
function encode(values: number[], fineFrom: number): number[] {
  const roots = values.map((value) => Math.sqrt(value) * 255);
  const whole = roots.map((root) => Math.round(root));
  const tail = roots.flatMap((root, i) =>
    whole[i] >= fineFrom ? [Math.min(255, Math.max(0, Math.round((root - whole[i]) * 256 + 127.5)))] : [],
  );
  return [...whole, ...tail];
}

describe("decode", () => {
  it("squares the bytes where there is no tail", async () => {
    const array = await decode(entry([0, 51, 255, 128], { shape: [2, 1, 2] }));
    expect([...array.block(0)]).toEqual([0, Math.fround(0.04)]);
    expect(array.block(1)[0]).toBe(1);
    expect(array.block(1)[1]).toBeCloseTo((128 / 255) ** 2, 6);
  });

  it("reads an array that is too large to be unpacked at once", async () => {
    const noise = randomBytes(1_200_000); // compressed it is as large
    const data = deflateSync(noise, { level: 0 }).toString("base64");
    const array = await decode({ dtype: "uint8", shape: [2, 600_000], data });
    expect(noise.subarray(600_000).equals(array.whole!(1) as Uint8Array)).toBe(true);
  });

  it("says so when an array is cut off", async () => {
    const cut = deflateSync(new Uint8Array(100_000)).subarray(0, 60);
    await expect(decode({ dtype: "uint8", shape: [1, 100_000], data: cut.toString("base64") })).rejects.toThrow();
  });

  it("reads the tail of each block from its own offset", async () => {
    const values = Array.from({ length: 3 * 4 * 5 }, (_, i) => ((i * 37) % 60) / 60); // [3, 4, 5]
    const array = await decode(entry(encode(values, 24), { shape: [3, 4, 5], fine_from: 24 }));
    for (const h of [2, 0, 1]) array.block(h).forEach((value, i) => expect(Math.abs(value - values[h * 20 + i])).toBeLessThan(2.5e-4));
  });

  it("is within 0.005 by the first plane alone and right to three decimals with the tail", async () => {
    const values = Array.from({ length: 501 }, (_, i) => i / 500);
    const coarse = (await decode(entry(encode(values, 256), { shape: [1, 1, 501] }))).block(0);
    const fine = (await decode(entry(encode(values, 0), { shape: [1, 1, 501], fine_from: 0 }))).block(0);
    const worst = (got: Float32Array) => Math.max(...values.map((value, i) => Math.abs(got[i] - value)));
    expect(worst(coarse)).toBeLessThan(0.005);
    expect(worst(coarse)).toBeGreaterThan(0.0005);
    expect(worst(fine)).toBeLessThan(0.0005);
  });

  it("leaves the tail aside when asked for a coarse block", async () => {
    const array = await decode(entry([128, 200, 255, 0], { shape: [1, 1, 2], fine_from: 24 }));
    expect([...array.block(0, true)]).toEqual([Math.fround((128 / 255) ** 2), Math.fround((200 / 255) ** 2)]);
    expect(array.block(0)[0]).toBeGreaterThan(array.block(0, true)[0]);
  });

  it("names the sizes when bytes are missing, in the plane or in its tail", async () => {
    await expect(decode(entry([1, 2], { shape: [1, 1, 3] }))).rejects.toThrow("2 bytes for an array of shape 1 × 1 × 3");
    await expect(decode(entry([200, 200, 7], { shape: [1, 1, 2], fine_from: 24 }))).rejects.toThrow("the fine plane ends at 4");
  });

  it("reads float32, little-endian, from a DataView into a larger buffer", async () => {
    const packed = deflateSync(new Uint8Array(new Float32Array([1.5, -2, 0]).buffer));
    const room = new Uint8Array(packed.length + 6);
    room.set(packed, 4);
    const array = await decode({ dtype: "float32", shape: [1, 3], data: new DataView(room.buffer, 4, packed.length) });
    expect([...array.block(0)]).toEqual([1.5, -2, 0]);
  });

  it("reads bits across bytes, the lowest first", async () => {
    const mask = await decode(entry([0b10110101, 0b1], { dtype: "bits", shape: [3, 3] }));
    expect([0, 1, 2].map((row) => [...mask.block(row)])).toEqual([
      [1, 0, 1],
      [0, 1, 1],
      [0, 1, 1],
    ]);
    await expect(decode(entry([1], { dtype: "bits", shape: [3, 3] }))).rejects.toThrow("1 bytes for an array of shape 3 × 3");
  });

  it("refuses a type it does not know", async () => {
    await expect(decode(entry([1], { dtype: "int8" as "sqrt8" }))).rejects.toThrow("int8");
  });

  it("takes base64 and views alike", () => {
    expect([...toBytes("AQID")]).toEqual([1, 2, 3]);
    expect([...toBytes(new Uint8Array([9, 1, 2]).subarray(1))]).toEqual([1, 2]);
  });
});
