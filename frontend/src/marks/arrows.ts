// Arrowheads: a line of attention goes from the query to the key.

/** The three corners of an arrowhead whose tip is at (x2, y2), as x, y, x, y, x, y. */
export function arrowhead(x1: number, y1: number, x2: number, y2: number, width: number): number[] {
  const length = 5 + 1.5 * width;
  const half = 2 + 0.9 * width;
  const distance = Math.hypot(x2 - x1, y2 - y1) || 1;
  const [ux, uy] = [(x2 - x1) / distance, (y2 - y1) / distance];
  const [bx, by] = [x2 - ux * length, y2 - uy * length];
  return [x2, y2, bx - uy * half, by + ux * half, bx + uy * half, by - ux * half];
}

export function paintArrowhead(context: CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D, corners: number[]): void {
  context.beginPath();
  context.moveTo(corners[0], corners[1]);
  context.lineTo(corners[2], corners[3]);
  context.lineTo(corners[4], corners[5]);
  context.closePath();
  context.fill();
}

export function writeArrowhead(corners: number[]): string {
  const [a, b, c, d, e, f] = corners.map((value) => Math.round(value * 100) / 100);
  return `M${a} ${b}L${c} ${d}L${e} ${f}Z`;
}
