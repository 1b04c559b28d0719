import { describe, expect, it } from "vitest";
import type { Spec } from "../../core/input/contract";
import { SpaceData, unmatched } from "../../core/reading/space";
import { wordPairs } from "../../core/state/space-state";
import { completeState } from "../../core/state/state";
import { LIGHT } from "../../core/theme";
import { labelsWith } from "../../core/words/labels";
import { drawingOrder } from "../../marks/scatter/cloud";
import { pixelsOf } from "../../marks/scatter/cloud-pixels";
import { writeClouds } from "../../marks/scatter/clouds";
import { cameraOf } from "./camera";
import { attentionOf, colouring, pointColours } from "./scene/colouring";
import { bestLinks, linksFor, linksOf, pairLinks, topLinks, visibleRed } from "./scene/links";
import { context } from "./tips";

const text = (tokens: string[]) => ({
  tokens,
  special: tokens.map((t) => t.startsWith("[")),
  segments: tokens.map(() => 0),
  words: tokens.map((t, i) => (t.startsWith("[") ? null : i - 1)),
  word_texts: tokens.filter((t) => !t.startsWith("[")),
});

/** Two texts of 3 and 2 tokens; in the first, token i attends to i − 1 with 0.8 and to itself with 0.2. */
const spec = (of: "queries-keys" | "values" = "queries-keys"): Spec => ({
  format: 1,
  kind: "space",
  model: "toy",
  texts: [text(["[CLS]", "the", "cat"]), text(["[CLS]", "dog"])],
  stacks: [{ name: "encoder", query_text: 0, key_text: 0, layers: [{ layer: 3, n_heads: 1, n_key_heads: 1, weights: "" }] }],
  spaces: [
    {
      model: "toy",
      of,
      project: "fitted",
      gauge: "none",
      dims: 2,
      stacks: [
        {
          name: "encoder",
          heads: [7],
          query_texts: [0, 1],
          key_texts: [0, 1],
          layers: [
            {
              layer: 3,
              points: "points",
              norms: "norms",
              tops: "tops",
              top_weights: "top_weights",
              maps: null,
              norm_ranges: [[1, 2]],
              facts: [{ top1_projected: 0.5 }],
            },
          ],
        },
      ],
    },
  ],
});

const arrays = {
  get: async (name: string) => {
    const block: Record<string, { shape: number[]; values: number[] }> = {
      points: {
        shape: [1, 10, 2],
        values: [0, 0, 65535, 0, 0, 65535, 65535, 65535, 32768, 32768, 0, 0, 65535, 0, 0, 65535, 65535, 65535, 32768, 32768],
      },
      norms: { shape: [1, 10], values: [0, 28, 56, 85, 113, 141, 170, 198, 226, 255] },
      tops: { shape: [1, 2, 5], values: [1, 1, 2, 1, 1, 0, 2, 3, 2, 2] }, // [rank, query], counted from 1
      top_weights: { shape: [1, 2, 5], values: [1, 0.8, 0.8, 0.6, 0.9, 0, 0.2, 0.2, 0.4, 0.1] },
    };
    const { shape, values } = block[name];
    return {
      shape,
      byteLength: 0,
      block: () => Float32Array.from(values),
      whole: () => (name === "points" ? Uint16Array.from(values) : Uint8Array.from(values)),
    };
  },
};

const data = (of?: "values") => new SpaceData(spec(of), spec(of).spaces![0], 0, arrays);

describe("a space", () => {
  it("numbers queries first, then keys", () => {
    const d = data();
    expect([d.count, d.keysFrom, d.isKey(4), d.isKey(5)]).toEqual([10, 5, false, true]);
    expect([d.tokenOf(2), d.tokenOf(7), d.textOf(4), d.textOf(9)]).toEqual(["cat", "cat", 1, 1]);
  });

  it("gives the map of a text from the strongest keys alone", async () => {
    const { weights, whole } = await data().map(0, 0, 0);
    expect(whole).toBe(false);
    expect([...weights].map((w) => Math.round(w * 10) / 10)).toEqual([1, 0, 0, 0.8, 0.2, 0, 0, 0.8, 0.2]);
  });

  it("has one point a token where the points are values", () => {
    const d = data("values");
    expect([d.count, d.keysFrom, d.queryPoint(3), d.keyPoint(3)]).toEqual([5, 0, 3, 3]);
  });
});

describe("lines", () => {
  it("go from a query to its keys, strongest first, and to a key from its queries", async () => {
    const d = data();
    const tops = await d.tops(0, 0);
    expect(linksOf(d, tops, 2).map(({ from, to, weight }) => [from, to, weight.toFixed(1)])).toEqual([
      [2, 6, "0.8"],
      [2, 7, "0.2"],
    ]);
    expect(linksOf(d, tops, 5).map(({ from }) => from)).toEqual([0, 1]);
  });

  it("never leave their text", async () => {
    const d = data();
    const tops = await d.tops(0, 0);
    for (const { from, to } of bestLinks(d, tops, () => true)) expect(d.textOf(from)).toBe(d.textOf(to));
  });

  it("are the strongest of a text, as many as asked for", async () => {
    const d = data();
    const { weights } = await d.map(0, 0, 0);
    expect(topLinks(d, weights, 0, 3).map(({ weight }) => weight.toFixed(1))).toEqual(["1.0", "0.8", "0.8"]);
  });

  it("are the strongest of a text even where one query has more of them than are kept of it", () => {
    const links = topLinks(data(), Float32Array.from([0.4, 0.35, 0.25, 0.2, 0.1, 0, 0.1, 0, 0]), 0, 3); // two keys are kept of each query
    expect(links.map(({ from, to }) => [from, to])).toEqual([
      [0, 5],
      [0, 6],
      [0, 7],
    ]);
  });

  it("are the strongest of all texts where no text is chosen", async () => {
    const d = data();
    const tops = await d.tops(0, 0);
    const state = completeState(spec(), { links: "top", links_top: 4 });
    const every = [...Array(d.queries.count).keys()].flatMap((query) => [0, 1].map((rank) => tops.weight(query, rank)));
    const drawn = linksFor(d, tops, state, null, () => true, []);
    expect(drawn.map(({ weight }) => weight)).toEqual(every.sort((a, b) => b - a).slice(0, 4));
    expect(new Set(drawn.map(({ from }) => d.textOf(from))).size).toBe(2);
  });

  it("are none where the reader wants none", async () => {
    const d = data();
    const state = completeState(spec(), { links: "none", point: 2 });
    expect(linksFor(d, await d.tops(0, 0), state, 2, () => true, [])).toEqual([]);
  });

  it("join pieces too, and name a pair that no text holds", async () => {
    const joined = spec();
    joined.texts[0] = { ...joined.texts[0], words: [null, 0, 0], word_texts: ["thecat"] };
    const d = new SpaceData(joined, joined.spaces![0], 0, arrays);
    const ends = async (pair: string) => pairLinks(d, await d.tops(0, 0), pair, null, true).map(({ from, to }) => [from, to]);
    expect(await ends("cat → the")).toEqual([[2, 6]]);
    expect(await ends("2 → 1")).toContainEqual([2, 6]);
    expect(await ends("THECAT:the")).toEqual([
      [1, 6],
      [2, 6],
    ]);
    expect(unmatched(joined.texts, wordPairs("cat → the; cat → dog; cat:bird"))).toEqual([
      ["cat", "dog"],
      ["cat", "bird"],
    ]);
  });

  it("join the words of a pair in every text that has both", async () => {
    const d = data();
    expect(wordPairs("Cat → the; it -> ; dog>cat, half")).toEqual([
      ["cat", "the"],
      ["dog", "cat"],
    ]);
    expect(wordPairs("it:cat; 10:30 → late; it:")).toEqual([
      ["it", "cat"],
      ["10:30", "late"],
    ]);
    expect(pairLinks(d, await d.tops(0, 0), "cat → the; dog → cat", null, true).map(({ from, to }) => [from, to])).toEqual([[2, 6]]);
    expect(pairLinks(d, await d.tops(0, 0), "cat → the", 1, true)).toEqual([]);
  });

  it("join a pair where its key is the most attended one, unless every pair is asked for", async () => {
    const d = data();
    const tops = await d.tops(0, 0);
    const all = pairLinks(d, tops, "cat → the; dog → cat; the → cat", null, true);
    const strongest = pairLinks(d, tops, "cat → the; dog → cat; the → cat", null, false);
    expect(strongest).toEqual(all.filter(({ from, to }) => d.keyPoint(tops.key(from, 0)) === to));
    expect(all.length).toBeGreaterThan(strongest.length);
    expect(visibleRed({ from: 0, to: 1, weight: 0.9 }).weight).toBeGreaterThan(5 * visibleRed({ from: 0, to: 1, weight: 0 }).weight);
  });
});

describe("colours", () => {
  const labels = labelsWith();
  const colour = (by: Parameters<typeof colouring>[1]) =>
    colouring(data(), by, 7, LIGHT, labels, { of: Uint8Array.from({ length: 10 }, (_, i) => i * 28), range: [1, 2] });

  it("tell queries from keys in the two colours of the house", () => {
    const { of, colours } = colour("kind");
    expect([...of]).toEqual([0, 0, 0, 0, 0, 1, 1, 1, 1, 1]);
    expect(colours).toEqual([
      [37, 99, 235],
      [234, 88, 12],
    ]);
  });

  it("follow position, token, text and norm", () => {
    expect([...colour("position5").of]).toEqual([0, 1, 2, 0, 1, 0, 1, 2, 0, 1]);
    expect(colour("position").of[2]).toBe(63);
    const token = colour("token");
    expect(token.of[0]).toBe(token.of[3]);
    expect(token.of[1]).not.toBe(token.of[2]);
    expect([...colour("text").of]).toEqual([0, 0, 0, 1, 1, 0, 0, 0, 1, 1]);
    expect(colour("norm").of[9]).toBeGreaterThan(colour("norm").of[0]);
  });

  it("dim what the reader does not look at, and lift what was found", () => {
    const state = completeState(spec(), { text: 0, find: "cat" });
    const words = pointColours(data(), colour("kind"), attentionOf(data(), state, true), state.find, 0.6);
    expect([...words].map((word) => word >>> 24)).toEqual([26, 26, 255, 26, 26, 26, 26, 255, 26, 26]);
  });
});

describe("a cloud", () => {
  const plot = {
    cloud: { coords: Uint16Array.of(16384, 16384, 49152, 49152), dims: 2 as const, count: 2, keysFrom: 1 },
    camera: cameraOf(2, { w: 40, h: 40 }, { x: 0, y: 0, k: 1 }, { yaw: 0, pitch: 0 }),
    colours: Uint32Array.of(0x80eb6325, 0x800c58ea),
    size: 6,
    x: 0,
    y: 0,
    w: 40,
    h: 40,
  };

  it("has its pixels where its points are, in their colours", () => {
    const pixels = pixelsOf([plot], 40, 40, 1);
    const at = (x: number, y: number) => pixels[y * 40 + x];
    expect(at(10, 29) & 0xffffff).toBe(0xeb6325);
    expect(at(30, 9) & 0xffffff).toBe(0x0c58ea);
    expect(at(20, 20)).toBe(0);
  });

  it("covers as much as its points say, tiny or not", () => {
    const cover = (size: number) => pixelsOf([{ ...plot, size }], 40, 40, 1).reduce((sum, word) => sum + (word >>> 24) / 255, 0);
    expect(cover(6)).toBeCloseTo(2 * 0.5 * Math.PI * 9, -0.7);
    expect(cover(1.5)).toBeGreaterThan(0.5);
  });

  it("is written as circles and diamonds", () => {
    const svg = writeClouds({ type: "clouds", x: 0, y: 0, w: 40, h: 40, plots: [plot] });
    expect([svg.match(/<circle/g)?.length, svg.match(/<path/g)?.length]).toEqual([1, 1]);
  });

  it("is drawn in an order that holds every point once", () => {
    expect([...drawingOrder(1000)].sort((a, b) => a - b)).toEqual(Array.from({ length: 1000 }, (_, i) => i));
  });
});

describe("the state of a space", () => {
  it("is repaired where it does not fit", () => {
    const state = completeState(spec(), {
      point: 10,
      text: 2,
      lasso: [1, 1, 99, -1],
      links_top: 1e9,
      turn: { yaw: NaN, pitch: 9 },
      heads: [],
      colour_points: "rainbow" as never,
      pairs: 3 as never,
    });
    expect([
      state.point,
      state.text,
      state.lasso,
      state.links_top,
      state.turn.pitch,
      state.heads,
      state.colour_points,
      state.pairs,
    ]).toEqual([null, null, [1], 200, 1.5708, [0], "kind", ""]);
    expect(completeState(spec(), { point: 9, text: 1 })).toMatchObject({ point: 9, text: 1 });
  });
});

describe("a sentence around a token", () => {
  it("names the word between its neighbours", () => {
    expect(context(data(), 2)).toEqual(["the", "cat", ""]);
    expect(context(data(), 0)).toEqual(["", "[CLS]", "the cat"]);
  });
});
