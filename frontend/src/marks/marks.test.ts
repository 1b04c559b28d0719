import { arrowhead } from "./arrows";
import { describe, expect, it } from "vitest";
import { headColour, luminance, mix, parse, type Rgb } from "../core/colours";
import { DARK, LIGHT } from "../core/theme";
import { coarser, cut, pyramid, shades, shrink } from "./heatmap";
import { batches, ends, lineSet, raised, strongest } from "./lines";
import { framed, moved, type Lines, type Scene } from "./scene";
import { escapeXml, toSvg } from "./painters/svg";

const png = () => "data:image/png;base64,AA==";
const scene = (...items: Scene["items"]): Scene => ({ width: 100, height: 50, background: "#ffffff", items });
const lines = (weights: number[], width: number): Lines => ({
  type: "lines",
  set: lineSet([{ weights: Float32Array.from(weights), max: Math.max(...weights) }], { width, threshold: 0, rescale: false }),
  x1: 0,
  x2: 10,
  y1: Float32Array.of(1, 2, 3),
  y2: Float32Array.of(1, 2, 3),
  spread: 0,
  colours: ["#9640ff"],
  widest: 3,
  curved: true,
});

describe("lines", () => {
  const map = { weights: Float32Array.of(0.9, 0.1, 0, 0.4, 0.3, 0.3), max: 0.9 };

  it("draws each weight that can be seen, stronger for larger weights", () => {
    const set = lineSet([map], { width: 3, threshold: 0, rescale: false });
    expect(set.count).toBe(5);
    expect(set.opacity[0]).toBeGreaterThan(set.opacity[1]);
    expect([set.from[2], set.to[2]]).toEqual([1, 0]);
  });

  it("leaves out what is under the threshold, and other rows or columns", () => {
    expect(lineSet([map], { width: 3, threshold: 0.35, rescale: false }).count).toBe(2);
    expect(lineSet([map], { width: 3, threshold: 0, rescale: false, rows: new Set([1]) }).count).toBe(3);
    expect(lineSet([map], { width: 3, threshold: 0, rescale: false, cols: new Set([2]) }).count).toBe(1);
  });

  it("makes diffuse heads visible by rescaling, without changing their weights", () => {
    const diffuse = { weights: new Float32Array(400).fill(0.0025), max: 0.0025 };
    expect(lineSet([diffuse], { width: 400, threshold: 0, rescale: false }).count).toBe(0);
    const set = lineSet([diffuse], { width: 400, threshold: 0, rescale: true });
    expect(set.count).toBe(400);
    expect(set.opacity[0]).toBeCloseTo(1);
    expect(set.weight[0]).toBeCloseTo(0.0025);
  });

  it("grows beyond its first room", () => {
    expect(lineSet([{ weights: new Float32Array(10_000).fill(0.5), max: 0.5 }], { width: 100, threshold: 0, rescale: false }).count).toBe(
      10_000,
    );
  });

  it("keeps the strongest within the budget", () => {
    const set = lineSet([{ weights: Float32Array.from({ length: 100 }, (_, i) => (i + 1) / 100), max: 1 }], {
      width: 10,
      threshold: 0,
      rescale: false,
    });
    const few = strongest(set, 10);
    expect(few.count).toBeGreaterThan(4);
    expect(few.count).toBeLessThanOrEqual(10);
    expect(Math.min(...few.weight.slice(0, few.count))).toBeGreaterThan(0.89);
    expect(strongest(set, 100)).toBe(set);
  });

  it("paints faint before strong and every line once", () => {
    const groups = batches(lines([0.9, 0.1, 0.5, 0.4, 0.3, 0.3], 3));
    expect(groups.map((g) => g.opacity)).toEqual(groups.map((g) => g.opacity).sort((a, b) => a - b));
    expect(groups.flatMap((g) => g.members).sort()).toEqual([0, 1, 2, 3, 4, 5]);
  });
});

describe("heatmaps", () => {
  it("shades by the square root and hides what is under the threshold", () => {
    expect([...shades(Float32Array.of(0, 0.25, 1, 0.01), 2, 1, false, 0.05).shade]).toEqual([0, 128, 255, 0]);
    expect([...shades(Float32Array.of(0, 0.25), 2, 0.25, true, 0).shade]).toEqual([0, 255]);
  });

  it("keeps the largest of the cells it joins, at odd sizes too", () => {
    expect([...coarser({ cols: 3, rows: 3, shade: Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9) }).shade]).toEqual([5, 6, 8, 9]);
  });

  it("cuts the window out of the level that has a cell a pixel", () => {
    const base = { cols: 1024, rows: 1024, shade: new Uint8Array(1024 * 1024) };
    base.shade[700 * 1024 + 300] = 200;
    const levels = pyramid(base);
    expect(levels.levels.map((l) => l.cols)).toEqual([1024, 512, 256]);
    const colours = Uint32Array.from({ length: 256 }, (_, i) => i);
    const whole = cut(levels, { left: 0, top: 0, right: 1024, bottom: 1024 }, 0.25, colours);
    expect([whole.cols, whole.pixels[175 * 256 + 75]]).toEqual([256, 200]);
    const near = cut(levels, { left: 299.5, top: 699.5, right: 303, bottom: 703 }, 20, colours);
    expect([near.left, near.top, near.cols, near.pixels[1 * near.cols + 1]]).toEqual([299, 699, 4, 200]);
  });

  it("shrinks to the asked size by the largest weight", () => {
    const small = shrink(Float32Array.of(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), 4, 2);
    expect([small.cols, small.rows, ...small.weights]).toEqual([2, 2, 5, 7, 13, 15]);
  });
});

describe("SVG", () => {
  it("escapes tokens and replaces characters XML does not allow", () => {
    expect(escapeXml(`</text><script>&"'`)).toBe("&lt;/text&gt;&lt;script&gt;&amp;&quot;&#39;");
    expect(escapeXml("a\u0000b\ud800")).toBe("a\ufffdb\ufffd");
    const svg = toSvg(scene({ type: "text", x: 1, y: 2, text: "<img onerror=alert(1)>", size: 12, fill: "#000000" }), png);
    expect(svg).not.toContain("<img");
    expect(svg).toContain("&lt;img onerror=alert(1)&gt;");
  });

  it("draws every line that the canvas draws", () => {
    const svg = toSvg(scene(lines([0.9, 0.1, 0.5, 0.4, 0.3, 0.3], 3)), png);
    expect(svg.match(/M0 /g)).toHaveLength(6);
  });

  it("keeps clips, images and rotated text", () => {
    const svg = toSvg(
      scene({
        type: "clip",
        x: 0,
        y: 0,
        w: 5,
        h: 5,
        items: [
          { type: "bitmap", x: 0, y: 0, w: 5, h: 5, cols: 1, rows: 1, pixels: new Uint32Array(1) },
          { type: "text", x: 1, y: 1, text: "a", size: 9, fill: "#000", rotate: -90 },
        ],
      }),
      png,
    );
    expect(svg).toMatch(/clip-path="url\(#clip0\)"/);
    expect(svg).toContain('href="data:image/png;base64,AA=="');
    expect(svg).toContain("rotate(-90 1 1)");
  });

  it("moves everything when a frame is put around it", () => {
    const whole = framed(scene({ type: "clip", x: 0, y: 0, w: 5, h: 5, items: [lines([1], 1)] }), {
      title: "t",
      legend: [],
      caption: ["c"],
      theme: { text: "#000", muted: "#666" },
    });
    const clip = whole.items[1] as Extract<Scene["items"][number], { type: "clip" }>;
    expect([clip.x, clip.y, whole.height]).toEqual([12, 36, 114]);
    expect(ends(clip.items[0] as Lines, 0)).toEqual([12, 37, 22, 37]);
    expect(moved({ type: "stroke", x1: 0, y1: 0, x2: 1, y2: 1, stroke: "#000", width: 1 }, 2, 3)).toMatchObject({
      x1: 2,
      y1: 3,
      x2: 3,
      y2: 4,
    });
  });
});

describe("arrowheads", () => {
  it("end at the key, wider for wider lines", () => {
    const [x, y, ax, ay, bx, by] = arrowhead(0, 0, 100, 0, 2);
    expect([x, y]).toEqual([100, 0]);
    expect(ax).toBe(bx);
    expect(ax).toBeLessThan(100);
    expect(ay).toBe(-by);
    expect(Math.abs(arrowhead(0, 0, 100, 0, 4)[3])).toBeGreaterThan(Math.abs(ay));
  });

  it("are written into a picture where they are seen", () => {
    const segments: Scene["items"][number] = {
      type: "segments",
      ends: Float32Array.of(0, 0, 100, 0),
      weights: Float32Array.of(1),
      colour: "#000000",
      widest: 3,
    };
    const write = (arrows: boolean) => toSvg({ width: 100, height: 20, background: "#fff", items: [{ ...segments, arrows }] }, png);
    expect(write(true)).toContain("Z");
    expect(write(false)).not.toContain("Z");
  });
});

describe("faint lines", () => {
  const contrast = (a: Rgb, b: Rgb): number => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const distance = (dark: boolean, opacity: number): number => {
    const ground = parse((dark ? DARK : LIGHT).ground);
    const heads = Array.from({ length: 12 }, (_, head) => mix(ground, parse(headColour(head, dark)), opacity));
    return heads.reduce((sum, colour) => sum + contrast(ground, colour) - 1, 0) / heads.length;
  };

  it("have no less contrast with the dark ground than with white", () => {
    for (const opacity of [0.02, 0.05, 0.1, 0.2]) {
      expect(distance(true, raised(opacity))).toBeGreaterThan(distance(false, opacity));
      expect(distance(true, opacity)).toBeLessThan(distance(false, opacity)); // without it they have less
    }
  });

  it("are raised on the dark ground alone, and no wider for it", () => {
    const [light] = batches(lines([0.05], 1));
    const [dark] = batches({ ...lines([0.05], 1), dark: true });
    expect(dark.opacity).toBeCloseTo(raised(light.opacity));
    expect(dark.width).toBe(light.width);
  });
});
