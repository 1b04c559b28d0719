// Points of a scatter as columns of numbers, and where a camera puts them. Both painters and the pointer read the same arithmetic.

/** Points [point, dims] as 16-bit fractions of the picture's square (or cube); from `keysFrom` on they are keys. */
export interface Cloud {
  coords: Uint16Array;
  dims: 2 | 3;
  count: number;
  keysFrom: number;
}

/** Rows of an affine map from fractions (x, y, z, 1) to px right and px down of the box, and to depth from −1 (far) to 1 (near). */
export interface Camera {
  x: [number, number, number, number];
  y: [number, number, number, number];
  z: [number, number, number, number];
}

/** One scatter in its box. */
export interface Plot {
  cloud: Cloud;
  camera: Camera;
  /** One RGBA word a point; full opacity means: drawn larger, and on top of the others. */
  colours: Uint32Array;
  /** Diameter in px. */
  size: number;
  x: number;
  y: number;
  w: number;
  h: number;
}

/** How much larger a point of full opacity is. */
export const LARGER = 1.7;
/** Near points of a cube are larger than far ones by this share of their size. */
export const DEPTH = 0.35;

/** Where every point stands in the box, px: x and y in turn. */
export function placed(cloud: Cloud, camera: Camera): Float32Array {
  const { coords, dims, count } = cloud;
  const out = new Float32Array(2 * count);
  const [ax, bx, cx, dx] = camera.x.map((v, i) => (i < 3 ? v / 65535 : v));
  const [ay, by, cy, dy] = camera.y.map((v, i) => (i < 3 ? v / 65535 : v));
  for (let i = 0, at = 0; i < count; i++, at += dims) {
    const u = coords[at];
    const v = coords[at + 1];
    const w = dims === 3 ? coords[at + 2] : 0;
    out[2 * i] = ax * u + bx * v + cx * w + dx;
    out[2 * i + 1] = ay * u + by * v + cy * w + dy;
  }
  return out;
}

/** Depth of point i, from −1 to 1; 0 in the plane. */
export function depthOf({ coords, dims }: Cloud, { z }: Camera, i: number): number {
  if (dims === 2) return 0;
  const at = 3 * i;
  return (z[0] * coords[at] + z[1] * coords[at + 1] + z[2] * coords[at + 2]) / 65535 + z[3];
}

const orders = new Map<number, Uint32Array>();

/** A fixed shuffle of n points, so that neither queries nor late texts cover the others everywhere. */
export function drawingOrder(n: number): Uint32Array {
  let order = orders.get(n);
  if (!order) {
    order = Uint32Array.from({ length: n }, (_, i) => i);
    let seed = 12345;
    for (let i = n - 1; i > 0; i--) {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
      const j = Math.floor((seed / 4294967296) * (i + 1));
      [order[i], order[j]] = [order[j], order[i]];
    }
    if (orders.size > 8) orders.clear();
    orders.set(n, order);
  }
  return order;
}

export const isLarge = (colour: number): boolean => colour >>> 24 === 255;
