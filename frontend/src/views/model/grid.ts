// Where the thumbnails stand.

export interface GridLayout {
  width: number;
  height: number;
  left: number;
  top: number;
  cell: number; // distance from one thumbnail to the next
  size: number; // of a thumbnail
}

const LEFT = 44;
const TOP = 28;
const GAP = 6;

const LEAST = 22;
const LEAST_FOR_FINGERS = 26;
const MOST = 96;

/** As large as the width and the height of the window allow; a grid with more heads than that goes on to the side or downwards. */
export function gridLayout(width: number, rows: number, cols: number, coarse = false, height = Infinity): GridLayout {
  const [across, down] = [(width - LEFT - 4) / Math.max(1, cols), (height - TOP) / Math.max(1, rows)];
  const cell = Math.max(coarse ? LEAST_FOR_FINGERS : LEAST, Math.floor(Math.min(MOST, across, down)));
  const gap = cell < 34 ? 3 : GAP;
  return { width: LEFT + cols * cell, height: TOP + rows * cell, left: LEFT, top: TOP, cell, size: cell - gap };
}

export const cornerOf = (grid: GridLayout, row: number, col: number): [number, number] => [
  grid.left + col * grid.cell,
  grid.top + row * grid.cell,
];

export function cellAt(grid: GridLayout, rows: number, cols: number, x: number, y: number): { row: number; col: number } | null {
  const col = Math.floor((x - grid.left) / grid.cell);
  const row = Math.floor((y - grid.top) / grid.cell);
  return col >= 0 && row >= 0 && col < cols && row < rows ? { row, col } : null;
}
