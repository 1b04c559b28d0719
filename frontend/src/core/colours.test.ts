import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { inkOn } from "../controls/heads";
import { attentionColour, format, headColour, layerColour, lifted, luminance, parse, partColour, pixel, signedColour } from "./colours";

const contrast = (a: string, b: string): number => {
  const [x, y] = [a, b].map((hex) => luminance(parse(hex)) + 0.05);
  return Math.max(x, y) / Math.min(x, y);
};

/** Machado, Oliveira and Fernandes 2009, severity 1, on linear light. */
const SIGHT = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};
const LMS = [
  [0.4122214708, 0.5363325363, 0.0514459929],
  [0.2119034982, 0.6806995451, 0.1073969566],
  [0.0883024619, 0.2817188376, 0.6299787005],
];
const LAB = [
  [0.2104542553, 0.793617785, -0.0040720468],
  [1.9779984951, -2.428592205, 0.4505937099],
  [0.0259040371, 0.7827717662, -0.808675766],
];
const times = (matrix: number[][], v: number[]): number[] => matrix.map((row) => row[0] * v[0] + row[1] * v[1] + row[2] * v[2]);

function oklab(hex: string, sight: number[][]): number[] {
  const linear = parse(hex).map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  const light = times(sight, linear).map((v) => Math.min(1, Math.max(0, v)));
  return times(LAB, times(LMS, light).map(Math.cbrt));
}

/** Distances between the colours of the first n heads, as one kind of colour vision sees them. */
function distances(n: number, sight: number[][], dark: boolean): number[][] {
  const seen = Array.from({ length: n }, (_, h) => oklab(headColour(h, dark), sight));
  return seen.map((a) => seen.map((b) => Math.hypot(...a.map((v, i) => v - b[i]))));
}

/** In Oklab, where white and black are 1 apart and 0.02 is about the smallest difference that can be seen side by side. */
const FIRST_16 = 0.054;
const NEIGHBOURS = 0.065;
const FIRST_40 = 0.03;

/** What look/palette.py gives heads, layers and weights. */
const IN_PYTHON: Record<"heads" | "layers" | "parts" | "weights", Record<string, string[]>> = JSON.parse(
  readFileSync(new URL("../generated/colours.json", import.meta.url), "utf8"),
);

describe("colours", () => {
  it("gives every head a line that can be seen, on white and on black", () => {
    for (let h = 0; h < 128; h++) {
      expect(contrast(headColour(h), "#ffffff")).toBeGreaterThanOrEqual(3);
      expect(contrast(headColour(h, true), "#0f1115")).toBeGreaterThanOrEqual(3);
    }
  });

  for (const dark of [false, true])
    for (const [name, sight] of Object.entries(SIGHT))
      it(`keeps heads apart on ${dark ? "black" : "white"} for ${name === "normal" ? "normal sight" : name}`, () => {
        const all = distances(40, sight, dark);
        const closest = (n: number) => Math.min(...all.slice(0, n).flatMap((row, i) => row.slice(0, i)));
        expect(closest(16)).toBeGreaterThan(FIRST_16);
        expect(closest(40)).toBeGreaterThan(FIRST_40);
        expect(Math.min(...all.slice(1).map((row, i) => row[i]))).toBeGreaterThan(NEIGHBOURS);
      });

  it("gives heads, layers and weights the colours that figures and still pictures have", () => {
    for (const [theme, dark] of Object.entries({ light: false, dark: true })) {
      expect(Array.from({ length: 128 }, (_, h) => headColour(h, dark))).toEqual(IN_PYTHON.heads[theme]);
      expect(Array.from({ length: 12 }, (_, l) => layerColour(l, 12, dark))).toEqual(IN_PYTHON.layers[theme]);
      expect(Array.from({ length: 256 }, (_, step) => format(attentionColour(step / 255, dark)))).toEqual(IN_PYTHON.weights[theme]);
    }
  });

  it("gives 128 heads 128 colours", () => {
    for (const dark of [false, true]) expect(new Set(Array.from({ length: 128 }, (_, h) => headColour(h, dark))).size).toBe(128);
  });

  it("lifts what could not be seen as a line on the dark ground, and nothing else", () => {
    for (let h = 0; h < 64; h++) {
      expect(contrast(headColour(h, true), "#0f1115")).toBeGreaterThanOrEqual(3);
      if (contrast(headColour(h), "#0f1115") >= 3.05) expect(headColour(h, true)).toBe(headColour(h));
    }
    expect(lifted("#0b1664")).not.toBe("#0b1664");
    expect(contrast(layerColour(0, 12, true), "#0f1115")).toBeGreaterThanOrEqual(3);
  });

  it("keeps the hue of what it lifts", () => {
    const hue = (hex: string) => Math.atan2(oklab(hex, SIGHT.normal)[2], oklab(hex, SIGHT.normal)[1]);
    for (let h = 0; h < 48; h++) {
      const turn = Math.abs(hue(headColour(h, true)) - hue(headColour(h)));
      expect(Math.min(turn, 2 * Math.PI - turn)).toBeLessThan(0.3);
    }
  });

  it("writes on every head's box with ink that can be read", () => {
    for (let h = 0; h < 48; h++)
      for (const dark of [false, true]) expect(contrast(headColour(h, dark), inkOn(headColour(h, dark)))).toBeGreaterThan(4.5);
  });

  it("runs viridis from the first layer to the last, as far as it can be seen as a line", () => {
    expect([layerColour(0, 12), layerColour(11, 12), layerColour(0, 1)]).toEqual(["#440154", "#26a684", "#440154"]);
    expect([layerColour(0, 12, true), layerColour(11, 12, true)]).toEqual(["#31678e", "#fde725"]);
    for (const [dark, ground] of [
      [false, "#ffffff"],
      [true, "#0f1115"],
    ] as const)
      for (let l = 0; l < 40; l++) expect(contrast(layerColour(l, 40, dark), ground)).toBeGreaterThanOrEqual(3);
  });

  it("gives parts of a conversation colours that can be seen on both pages", () => {
    for (const [i, theme] of (["light", "dark"] as const).entries()) {
      const parts = Array.from({ length: 30 }, (_, part) => partColour(part, theme === "dark"));
      expect(parts).toEqual(IN_PYTHON.parts[theme]);
      for (const colour of parts) expect(contrast(colour, ["#ffffff", "#0f1115"][i])).toBeGreaterThanOrEqual(3);
    }
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
    expect(signedColour(-1, true)).toEqual(parse("#6b9bff"));
    expect(signedColour(2, true)).toEqual(parse("#fb8a4c"));
  });

  it("packs a colour as ImageData holds it", () => {
    expect([...new Uint8Array(Uint32Array.of(pixel([1, 2, 3])).buffer)]).toEqual([1, 2, 3, 255]);
  });
});
