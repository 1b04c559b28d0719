// A token's path through the layers, where all layers stand on the same axes: a line through its key in each of them.

import type { SpaceData } from "../../../core/reading/space";
import type { Theme } from "../../../core/theme";
import { placed, type Camera, type Cloud } from "../../../marks/scatter/cloud";
import type { Item } from "../../../marks/scene";

export interface PathPoint {
  layer: number;
  x: number;
  y: number;
}

/** The key of a token in every layer, as clouds of one point; empty where layers do not share their axes. */
export async function pathOf(data: SpaceData, head: number, point: number | null): Promise<Cloud[]> {
  if (data.space.of !== "shared" || point === null) return [];
  const key = data.isKey(point) ? point : data.queries === data.keys ? data.keyPoint(point) : null;
  if (key === null) return [];
  const clouds = await Promise.all(data.stack.layers.map((_, layer) => data.cloud(layer, head)));
  return clouds.map(({ coords, dims }) => ({ coords: coords.slice(key * dims, (key + 1) * dims), dims, count: 1, keysFrom: 0 }));
}

export const placedPath = (data: SpaceData, clouds: Cloud[], camera: Camera): PathPoint[] =>
  clouds.map((cloud, i) => {
    const [x, y] = placed(cloud, camera);
    return { layer: data.layer(i).layer, x, y };
  });

/** The line, a dot and the number of the layer at each of its corners. */
export function pathItems(path: PathPoint[], box: { x: number; y: number }, theme: Theme): Item[] {
  const items: Item[] = path.slice(1).map(({ x, y }, i) => ({
    type: "stroke",
    x1: box.x + path[i].x,
    y1: box.y + path[i].y,
    x2: box.x + x,
    y2: box.y + y,
    stroke: theme.accent,
    width: 2,
  }));
  for (const { layer, x, y } of path)
    items.push(
      { type: "rect", x: box.x + x - 3, y: box.y + y - 3, w: 6, h: 6, radius: 3, fill: theme.accent },
      { type: "text", x: box.x + x + 5, y: box.y + y - 7, text: `L${layer}`, size: 11, mono: true, fill: theme.accent },
    );
  return items;
}
