// Arithmetic on one map [row, column]: leave out, sum to one again, combine, find the sink.

/** The map between the units left in. */
export function select(weights: Float32Array, width: number, rows: number[], cols: number[]): Float32Array {
  if (rows.length * width === weights.length && cols.length === width) return weights;
  const kept = new Float32Array(rows.length * cols.length);
  rows.forEach((row, i) => cols.forEach((col, j) => (kept[i * cols.length + j] = weights[row * width + col])));
  return kept;
}

/** Rows summing to 1 again; a row with nothing left stays zero. */
export function renormalise(weights: Float32Array, width: number): Float32Array {
  const scaled = new Float32Array(weights.length);
  for (let start = 0; start < weights.length; start += width) {
    let sum = 0;
    for (let j = 0; j < width; j++) sum += Math.abs(weights[start + j]);
    if (sum > 0) for (let j = 0; j < width; j++) scaled[start + j] = weights[start + j] / sum;
  }
  return scaled;
}

/** The largest size. */
export function maximum(weights: Float32Array): number {
  let most = 0;
  for (let i = 0; i < weights.length; i++) if (Math.abs(weights[i]) > most) most = Math.abs(weights[i]);
  return most;
}

/** Mean or elementwise maximum, one map at a time so that only the running result is held. */
export class Combined {
  private total: Float32Array | null = null;
  private count = 0;

  constructor(private how: "mean" | "max") {}

  add(weights: Float32Array): void {
    this.count++;
    if (!this.total) {
      this.total = weights.slice();
      return;
    }
    const total = this.total;
    if (this.how === "mean") for (let i = 0; i < total.length; i++) total[i] += weights[i];
    else for (let i = 0; i < total.length; i++) if (Math.abs(weights[i]) > Math.abs(total[i])) total[i] = weights[i];
  }

  result(): Float32Array {
    const total = this.total ?? new Float32Array(0);
    return this.how === "max" ? total : total.map((value) => value / Math.max(1, this.count));
  }
}

/** The column with the most attention, summed over all rows of all maps; the first of equals. */
export function mostAttended(maps: Iterable<Float32Array>, width: number): number {
  const mass = new Float64Array(width);
  for (const weights of maps)
    for (let start = 0; start < weights.length; start += width) for (let j = 0; j < width; j++) mass[j] += weights[start + j];
  let best = 0;
  for (let j = 1; j < width; j++) if (mass[j] > mass[best]) best = j;
  return best;
}
