import { inflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { lineSet } from "../lines";
import type { Lines, Scene, Text } from "../scene";
import { encoded, widthOf } from "./pdf-text";
import { toPdf } from "./pdf";

const scene = (...items: Scene["items"]): Scene => ({ width: 100, height: 50, background: "#ffffff", items });
const letters = {
  widthOf: (item: Text) => 6 * item.text.length,
  pictureOf: () => ({ w: 10, h: 10, cols: 1, rows: 1, pixels: Uint32Array.of(0x80000000) }),
};
const text = (words: string, more: Partial<Text> = {}): Text => ({
  type: "text",
  x: 50,
  y: 10,
  text: words,
  size: 10,
  fill: "#000000",
  ...more,
});

/** The file as text, and the operators of its page. */
async function read(drawn: Scene): Promise<{ file: string; operators: string }> {
  const file = Buffer.from(await (await toPdf(drawn, letters)).arrayBuffer()).toString("latin1");
  const contents = Number(/\/Contents (\d+) 0 R/.exec(file)![1]);
  const start = Number(
    file
      .split("\n")
      .filter((line) => / 00000 n /.test(line))
      [contents - 1].slice(0, 10),
  );
  const data = file.indexOf("stream\n", start) + 7;
  const length = Number(/\/Length (\d+)/.exec(file.slice(start))![1]);
  return { file, operators: inflateSync(Buffer.from(file.slice(data, data + length), "latin1")).toString("latin1") };
}

describe("a scene as PDF", () => {
  it("has a curve for each line, and no picture", async () => {
    const set = lineSet([{ weights: Float32Array.of(0.9, 0.1, 0.4, 0.6), max: 0.9 }], { width: 2, threshold: 0, rescale: false });
    const ys = Float32Array.of(10, 20);
    const look = { x1: 0, x2: 50, y1: ys, y2: ys, spread: 0, colours: ["#9640ff"], widest: 3, curved: true };
    const lines: Lines = { type: "lines", set, ...look };
    const { file, operators } = await read(scene(lines));
    expect(operators.match(/ c( S)?$/gm)).toHaveLength(4);
    expect(file).not.toContain("/Image");
  });

  it("has text as text, in its place and as wide as on screen", async () => {
    const { operators } = await read(scene(text("a (b) \\", { anchor: "end" })));
    expect(operators).toContain("(a \\(b\\) \\\\) Tj");
    expect(operators).toContain(`1 0 0 -1 ${50 - 6 * 7} 13.5 Tm`);
    const own = 10 * widthOf("a (b) \\", 0);
    expect(operators).toContain(`${Math.round((10000 * 42) / own) / 100} Tz`);
  });

  it("turns text as the screen does", async () => {
    const { operators } = await read(scene(text("up", { rotate: -90 })));
    expect(operators).toContain("0 -1 -1 0 53.5 10 Tm");
  });

  it("draws letters that the fonts lack as a picture with a mask", async () => {
    const { file, operators } = await read(scene(text("日本語")));
    expect(operators).toMatch(/q \/G0 gs 10 0 0 -10 50 15 cm \/I0 Do Q/);
    expect(file).toContain("/SMask");
    expect(operators).not.toContain("Tj");
  });

  it("knows what the fonts have", () => {
    expect(encoded("L3·H7 × −0.5 … é")).toBe("L3\u00b7H7 \u00d7 \u00960.5 \u0085 \u00e9");
    expect(encoded("→")).toBeNull();
    expect(encoded("a\nb")).toBeNull();
    expect(widthOf("ii", 0)).toBeCloseTo(0.444);
    expect(widthOf("ii", 3)).toBeCloseTo(1.2);
  });

  it("points to its objects where they are", async () => {
    const { file } = await read(scene(text("a"), { type: "rect", x: 1, y: 1, w: 8, h: 8, fill: "#ff0000", radius: 2, opacity: 0.5 }));
    const offsets = file.split("\n").filter((line) => / 00000 n /.test(line));
    offsets.forEach((line, i) => expect(file.slice(Number(line.slice(0, 10))).startsWith(`${i + 1} 0 obj`)).toBe(true));
    expect(file).toContain("/ca 0.5");
  });
});
