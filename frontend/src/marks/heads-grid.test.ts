import { describe, expect, it } from "vitest";
import { luminance, parse } from "../core/colours";
import type { HeadGrid } from "../core/input/contract";
import { DARK, LIGHT } from "../core/theme";
import { cellAt, cellColour, cellItems, cellsLayout, cornerOf, largestOf, legendEntries, lineColour, valueText } from "./heads-grid";

const effects: HeadGrid = {
  quantity: "effect",
  title: "Effect",
  scale: "signed",
  layers: [0, 1],
  heads: [3, 2],
  values: [
    [-0.6, 0, 0.3],
    [null, 0.01],
  ],
  measured: [
    [1, 0, 1],
    [1, 1],
  ],
};

const contrast = (a: string, b: string): number => {
  const [low, high] = [a, b].map((hex) => luminance(parse(hex)) + 0.05).sort((x, y) => x - y);
  return high / low;
};

describe("a grid of heads", () => {
  it("finds the cell under each point, upright and on its side", () => {
    for (const [width, rows, cols] of [
      [370, 12, 12],
      [1000, 30, 9],
      [320, 30, 9],
    ]) {
      const layout = cellsLayout(width, 400, rows, cols);
      expect(layout.size).toBeGreaterThanOrEqual(16);
      for (const at of [
        { row: 0, col: 0 },
        { row: rows - 1, col: cols - 1 },
        { row: 5, col: 2 },
      ]) {
        const [x, y] = cornerOf(layout, at);
        expect(cellAt(layout, x + 2, y + 2)).toEqual(at);
      }
      expect(cellAt(layout, layout.left - 1, 5)).toBeNull();
    }
  });

  it("turns where cells become larger, and all heads of 30 x 9 fit into 900 x 400", () => {
    expect(cellsLayout(370, 420, 12, 12).turned).toBe(false);
    const wide = cellsLayout(900, 400, 30, 9);
    expect(wide.turned).toBe(true);
    expect(wide.width).toBeLessThanOrEqual(900);
    expect(wide.height).toBeLessThanOrEqual(400);
  });

  it("gives the largest size the full colour, on both sides alike", () => {
    expect(largestOf(effects)).toBe(0.6);
    expect(cellColour(effects, -0.6, 0.6, LIGHT)).toBe(LIGHT.negative);
    expect(cellColour(effects, 0.6, 0.6, LIGHT)).toBe(LIGHT.positive);
    expect(cellColour(effects, 0, 0.6, LIGHT)).toBe(LIGHT.faint);
    expect(legendEntries(effects, LIGHT).map(({ name }) => name)).toEqual(["−0.600", "+0.600"]);
  });

  it("draws lines that can be seen whatever the value is", () => {
    for (const theme of [LIGHT, DARK])
      for (const scale of ["signed", "share", "nats"] as const)
        for (const value of [-1, -0.3, -0.01, 0, 0.2, 0.5, 1])
          expect(contrast(lineColour({ ...effects, scale }, value, 1, theme), theme.ground)).toBeGreaterThanOrEqual(3);
  });

  it("draws an estimate hollow, and says numbers with their sign", () => {
    const layout = cellsLayout(300, 300, 2, 3);
    const inner = cellItems(effects, layout, { theme: LIGHT, lit: "", off: new Set() }).filter(
      (item) => item.type === "rect" && item.fill === LIGHT.ground,
    );
    expect(inner).toHaveLength(1);
    const [x] = cornerOf(layout, { row: 0, col: 1 });
    expect(inner[0]).toMatchObject({ x: x + 3 });
    expect([valueText(effects, -0.6), valueText(effects, 0.3), valueText(effects, null)]).toEqual(["−0.600", "+0.300", "–"]);
  });

  it("counts the heads of each role", () => {
    const names = [
      { name: "neighbours", light: "#0f766c", dark: "#3f9089" },
      { name: "broad", light: "#3b82c4", dark: "#629bd0" },
    ];
    const roles: HeadGrid = {
      ...effects,
      scale: "role",
      measured: undefined,
      names,
      values: [
        [0, 0, null],
        [0, null],
      ],
    };
    expect(legendEntries(roles, LIGHT)).toEqual([{ colour: "#0f766c", name: "neighbours 3" }]);
    expect(valueText(roles, 1)).toBe("broad");
  });
});
