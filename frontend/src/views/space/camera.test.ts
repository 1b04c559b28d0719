import { describe, expect, it } from "vitest";
import { placed, type Cloud } from "../../marks/scatter/cloud";
import { cameraOf, pannedBy, turnedBy, zoomedAt } from "./camera";

describe("the camera", () => {
  const box = { w: 300, h: 200 };
  const corners: Cloud = { coords: Uint16Array.of(0, 0, 65535, 65535), dims: 2, count: 2, keysFrom: 1 };

  it("puts the square into the middle of the box, its top upwards", () => {
    expect([...placed(corners, cameraOf(2, box, { x: 0, y: 0, k: 1 }, { yaw: 0, pitch: 0 }))]).toEqual([50, 200, 250, 0]);
  });

  it("keeps the point under the pointer while zooming", () => {
    const before = { x: 0.1, y: 0.3, k: 2 };
    const after = zoomedAt(box, before, 1.5, 120, 70);
    const fraction = (zoom: typeof before, px: number, room: number, corner: number) => corner + (px - (room - 200) / 2) / 200 / zoom.k;
    expect(fraction(after, 120, 300, after.x)).toBeCloseTo(fraction(before, 120, 300, before.x), 9);
    expect(fraction(after, 70, 200, after.y)).toBeCloseTo(fraction(before, 70, 200, before.y), 9);
  });

  it("never loses the picture", () => {
    expect(pannedBy(box, { x: 0.5, y: 0.5, k: 2 }, -9999, 9999)).toEqual({ x: 0.5, y: 0, k: 2 });
    expect(zoomedAt(box, { x: 0.2, y: 0.2, k: 2 }, 0.01, 5, 5)).toEqual({ x: 0, y: 0, k: 1 });
    expect(turnedBy({ yaw: 0, pitch: 1 }, 0, 9999).pitch).toBeCloseTo(Math.PI / 2, 3);
  });

  it("keeps distances of a cube when it turns", () => {
    const cube: Cloud = { coords: Uint16Array.of(0, 0, 0, 65535, 0, 0, 0, 65535, 0, 0, 0, 65535), dims: 3, count: 4, keysFrom: 4 };
    const length = (turn: { yaw: number; pitch: number }) => {
      const camera = cameraOf(3, { w: 100, h: 100 }, { x: 0, y: 0, k: 1 }, turn);
      return [0, 1, 2].map((axis) => Math.hypot(camera.x[axis], camera.y[axis], (camera.z[axis] * 110) / 2));
    };
    for (const turn of [
      { yaw: 0, pitch: 0 },
      { yaw: 1, pitch: 0.4 },
      { yaw: -2, pitch: -1 },
    ])
      for (const side of length(turn)) expect(side).toBeCloseTo(110 / Math.sqrt(3), 4);
    expect(placed(cube, cameraOf(3, { w: 100, h: 100 }, { x: 0, y: 0, k: 1 }, { yaw: 0.6, pitch: 0.3 })).every(Number.isFinite)).toBe(
      true,
    );
  });
});
