import { describe, expect, it } from "vitest";
import { linesLayout, rowAt, rowY, visibleRows } from "./head/layout";
import { cellSize, hold, panned, zoomed } from "./head/zoom";
import { cellAt, cornerOf, gridLayout } from "./model/grid";
import { neuronLayout, keyAt, rowTop } from "./neuron/layout";

describe("the two columns", () => {
  const needs = { width: 1000, window: 600, rows: 30, cols: 30, widest: (): [number, number] => [80, 80], maps: 12 };

  it("fit the width they are given, from 360 px up", () => {
    for (const [width, widest] of [336, 360, 500, 700, 1000, 3000].flatMap((w) => [80, 300].map((t) => [w, t]))) {
      const layout = linesLayout({ ...needs, width, widest: () => [widest, widest] });
      expect(layout.width).toBeLessThanOrEqual(width);
      expect(layout.x2 - layout.x1).toBeGreaterThanOrEqual(60);
    }
  });

  it("leave the lines more than a quarter of a phone's width, whatever the tokens", () => {
    for (const width of [336, 357, 358, 390]) {
      const layout = linesLayout({ ...needs, width, rows: 206, cols: 206, widest: () => [300, 300], coarse: true });
      expect(layout.x2 - layout.x1).toBeGreaterThan(width / 4);
      expect(layout.width).toBeLessThanOrEqual(width);
    }
  });

  it("find the row they drew", () => {
    const layout = linesLayout({ ...needs, rows: 500 });
    for (const [row, scroll] of [
      [0, 0],
      [17, 100],
      [499, 8000],
    ])
      expect(rowAt(layout, rowY(layout, row, scroll), scroll)).toBe(row);
    const [first, last] = visibleRows(layout, 500, 1800);
    expect([first, last]).toEqual([99, 131]);
  });

  it("show whole rows where they scroll", () => {
    for (const window of [360, 601, 700, 759]) {
      const layout = linesLayout({ ...needs, window, rows: 128 });
      expect((layout.height - layout.top) % layout.row).toBe(0);
      expect((layout.full - layout.height) % layout.row).toBe(0);
      expect(window - layout.height).toBeGreaterThanOrEqual(0);
      expect(window - layout.height).toBeLessThan(layout.row);
    }
  });
});

describe("zooming a map", () => {
  const frame = { width: 400, height: 400, cols: 1000, rows: 1000 };

  it("keeps the point under the pointer", () => {
    const start = { x: 0.2, y: 0.1, k: 2 };
    const at = (zoom: typeof start, px: number) => zoom.x * 1000 + px / cellSize(frame, zoom.k);
    const next = zoomed(frame, start, 1.7, 123, 50);
    expect(next.k).toBeCloseTo(3.4);
    expect(at(next, 123)).toBeCloseTo(at(start, 123), 6);
  });

  it("never leaves the map", () => {
    expect(hold(frame, { x: 0.9, y: -1, k: 2 })).toEqual({ k: 2, x: 0.5, y: 0 });
    expect(panned(frame, { x: 0, y: 0, k: 1 }, -50, 80)).toEqual({ x: 0, y: 0, k: 1 });
    expect(zoomed(frame, { x: 0, y: 0, k: 1 }, 1e9, 0, 0).k).toBeCloseTo(80);
  });
});

describe("the grid", () => {
  it("finds the thumbnail it placed and nothing beside it", () => {
    const grid = gridLayout(900, 12, 12);
    const [x, y] = cornerOf(grid, 3, 7);
    expect(cellAt(grid, 12, 12, x + 2, y + 2)).toEqual({ row: 3, col: 7 });
    expect(cellAt(grid, 12, 12, grid.left - 5, y)).toBeNull();
    expect(cellAt(grid, 2, 12, x, y)).toBeNull();
  });
});

describe("the keys' rows", () => {
  const layout = neuronLayout({ width: 900, window: 500, keys: 40, dims: 64, widest: 60, bias: true, expanded: true });

  it("are pushed down below the opened one, and found again", () => {
    expect(rowTop(layout, 4, 3, 0) - rowTop(layout, 3, 3, 0)).toBe(layout.row + layout.detail.height);
    for (const index of [0, 3, 4, 20]) expect(keyAt(layout, rowTop(layout, index, 3, 0) + 2, 3, 0, 40)).toBe(index);
    expect(keyAt(layout, rowTop(layout, 3, 3, 0) + layout.row + 10, 3, 0, 40)).toBe(3);
    expect(keyAt(layout, 5, 3, 0, 40)).toBe(-1);
  });

  it("leave room for their headings, however few dimensions a head has", () => {
    for (const dims of [8, 12, 64])
      for (const bias of [false, true])
        for (const width of [640, 700, 860, 1000]) {
          const layout = neuronLayout({ width, window: 500, keys: 4, dims, widest: 60, bias, expanded: false });
          const [heading, short] = [112, 40];
          expect(layout.product.x - layout.vector.x).toBeGreaterThanOrEqual(layout.score.w < 100 ? short : heading);
          expect(layout.score.x - layout.product.x).toBeGreaterThanOrEqual(layout.score.w < 100 ? short : heading);
          expect(layout.width).toBeLessThanOrEqual(width);
        }
    expect(neuronLayout({ width: 1000, window: 500, keys: 4, dims: 8, widest: 60, bias: false, expanded: false }).score.w).toBe(128);
  });

  it("fit the width they are given", () => {
    for (const width of [336, 600, 700, 900])
      expect(
        neuronLayout({ width, window: 500, keys: 4, dims: 128, widest: 300, bias: false, expanded: false }).width,
      ).toBeLessThanOrEqual(width);
  });
});
