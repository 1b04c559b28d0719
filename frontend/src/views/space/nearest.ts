// Which point is under the pointer, and which are inside a lasso. A grid over the box, made once for each camera.

const CELL = 16; // px

export class Nearest {
  private cells = new Map<number, number[]>();
  private columns: number;

  constructor(
    private at: Float32Array,
    private box: { w: number; h: number },
  ) {
    this.columns = Math.ceil(box.w / CELL) + 1;
    for (let i = 0; 2 * i < at.length; i++) {
      const [x, y] = [at[2 * i], at[2 * i + 1]];
      if (!(x >= 0 && y >= 0 && x <= box.w && y <= box.h)) continue;
      const cell = this.cellOf(x, y);
      const list = this.cells.get(cell);
      if (list) list.push(i);
      else this.cells.set(cell, [i]);
    }
  }

  private cellOf = (x: number, y: number): number => Math.floor(y / CELL) * this.columns + Math.floor(x / CELL);

  /** The point nearest to (x, y) among those that `wanted` prefers, then among all; −1 where none is within `reach` px. */
  find(x: number, y: number, reach: number, wanted: (i: number) => boolean = () => true): number {
    let best = -1;
    let least = reach * reach;
    let preferred = false;
    for (let py = Math.floor((y - reach) / CELL); py <= Math.floor((y + reach) / CELL); py++)
      for (let px = Math.floor((x - reach) / CELL); px <= Math.floor((x + reach) / CELL); px++)
        for (const i of this.cells.get(py * this.columns + px) ?? []) {
          const far = (this.at[2 * i] - x) ** 2 + (this.at[2 * i + 1] - y) ** 2;
          if (far >= reach * reach) continue;
          const isWanted = wanted(i);
          if (isWanted === preferred ? far < least : isWanted) [best, least, preferred] = [i, far, isWanted];
        }
    return best;
  }

  /** Points inside a polygon [x, y, x, y, …], by the even-odd rule; only those in the box. */
  inside(polygon: number[]): number[] {
    const matching: number[] = [];
    for (let i = 0; 2 * i < this.at.length; i++) {
      const [x, y] = [this.at[2 * i], this.at[2 * i + 1]];
      if (x >= 0 && y >= 0 && x <= this.box.w && y <= this.box.h && contains(polygon, x, y)) matching.push(i);
    }
    return matching;
  }
}

export function contains(polygon: number[], x: number, y: number): boolean {
  let inside = false;
  for (let i = 0, j = polygon.length - 2; i < polygon.length; j = i, i += 2) {
    const [xi, yi, xj, yj] = [polygon[i], polygon[i + 1], polygon[j], polygon[j + 1]];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) inside = !inside;
  }
  return inside;
}
