import { describe, expect, it } from "vitest";
import { inkOn } from "../controls/heads";
import { attentionColour, headColour, HEAD_PALETTE, layerColour, parse, pixel, signedColour } from "./colours";

const apart = (a: string, b: string): number => Math.hypot(...parse(a).map((c, i) => c - parse(b)[i]));

function contrast(a: string, b: string): number {
  const light = (hex: string) => {
    const [r, g, bl] = parse(hex).map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * bl + 0.05;
  };
  return Math.max(light(a), light(b)) / Math.min(light(a), light(b));
}

describe("colours", () => {
  it("gives the first twelve heads the palette", () => {
    expect(HEAD_PALETTE.map((_, h) => headColour(h))).toEqual([...HEAD_PALETTE]);
  });

  it("gives 64 heads 64 colours that differ by more than a trace", () => {
    const all = Array.from({ length: 64 }, (_, h) => headColour(h));
    let closest = Infinity;
    all.forEach((a, i) => all.slice(0, i).forEach((b) => (closest = Math.min(closest, apart(a, b)))));
    expect(closest).toBeGreaterThan(6);
  });

  it("writes on every head's box with ink that can be read", () => {
    for (let h = 0; h < 48; h++) expect(contrast(headColour(h), inkOn(headColour(h)))).toBeGreaterThan(4.5);
  });

  it("runs viridis from the first layer to the last", () => {
    expect([layerColour(0, 12), layerColour(11, 12), layerColour(0, 1)]).toEqual(["#440154", "#fde725", "#440154"]);
  });

  it("shades attention from the ground away, on white and on black", () => {
    expect(attentionColour(0, false)).toEqual([255, 255, 255]);
    expect(attentionColour(0, true)).toEqual(parse("#0f1115"));
    expect(attentionColour(1, true)[0]).toBeGreaterThan(200);
    expect(attentionColour(1, false)[0]).toBeLessThan(50);
  });

  it("shows negative in blue, positive in orange, alike on both sides", () => {
    expect(signedColour(-1, false)).toEqual(parse("#2563eb"));
    expect(signedColour(2, false)).toEqual(parse("#ea580c"));
    expect(signedColour(0, true)).toEqual(parse("#0f1115"));
  });

  it("packs a colour as ImageData holds it", () => {
    expect([...new Uint8Array(Uint32Array.of(pixel([1, 2, 3])).buffer)]).toEqual([1, 2, 3, 255]);
  });
});
