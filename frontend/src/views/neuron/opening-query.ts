// The query at which the neuron view opens, where none was given.

import { axes } from "../../core/reading/axes";
import { lastUnderMask, sum } from "../../core/reading/neuron";
import type { Stage } from "../../registry";

export class OpeningQuery {
  /** The stack whose query was given, chosen or opened at. */
  private openedStack: number;
  private drawn: number;

  constructor(private stage: Stage) {
    const isGiven = stage.given.query !== undefined;
    this.openedStack = isGiven ? stage.state().stack : -1;
    this.drawn = isGiven ? stage.state().drawn : 0;
  }

  async choose(live: () => boolean): Promise<void> {
    await this.underMask(live);
    if (live()) await this.ofQuantity(live);
  }

  /** At its first query a causal model sees only that token: open at the last one, unless a query was asked for. */
  private async underMask(live: () => boolean): Promise<void> {
    const { stage } = this;
    const { stack: at, layer } = stage.state();
    if (this.openedStack === at) return;
    const stack = stage.spec.stacks[at];
    const { mask, queries: vectors } = stack.layers[layer];
    const rows = axes(stage.spec, { ...stage.state(), level: "token" }, null).rows.units;
    const allowed = mask && vectors && stack.query_text === stack.key_text ? await stage.reader.arrays.get(mask) : null;
    if (!live()) return;
    this.openedStack = at;
    const last = allowed && lastUnderMask((query) => allowed.block(query), stage.spec.texts[stack.query_text].tokens.length, rows);
    const untouched = stage.state().query === (rows[0] ?? 0);
    if (last !== null && untouched) stage.set({ query: last });
  }

  /** A quantity about an answer has numbers at the query that answers alone: go there when it is chosen. */
  private async ofQuantity(live: () => boolean): Promise<void> {
    const { stack, layer, heads, drawn, query } = this.stage.state();
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    if (drawn === 0) return;
    const array = await this.stage.reader.weights(stack, layer, drawn);
    if (!live()) return;
    const [count, queries, keys] = array.shape;
    const block = array.block(Math.min(heads[0], count - 1));
    const sizes = Array.from({ length: queries }, (_, i) => sum(block.slice(i * keys, (i + 1) * keys).map(Math.abs)));
    const most = sizes.indexOf(Math.max(...sizes));
    if (isZero(sizes[query], keys) && !isZero(sizes[most], keys)) this.stage.set({ query: most });
  }
}

/** Signed numbers travel in 65,535 steps, of which none is exactly 0. */
const isZero = (size: number, keys: number): boolean => size <= (2 * keys) / 65535;
