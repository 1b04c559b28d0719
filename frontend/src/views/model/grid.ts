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

export function gridLayout(width: number, rows: number, cols: number, coarse = false): GridLayout {
  const cell = Math.max(coarse ? 44 + GAP : 34, Math.min(96, Math.floor((width - LEFT - 4) / Math.max(1, cols))));
  return { width: LEFT + cols * cell, height: TOP + rows * cell, left: LEFT, top: TOP, cell, size: cell - GAP };
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
