// Arrays by name, inflated when first requested and dropped again, oldest first, when together they grow too large.

import type { ArrayEntry, View } from "./contract";
import { decode, type Decoded } from "./decode";

const ROOM = 256 * 1024 * 1024; // bytes of inflated arrays kept

/** Where a view gets its numbers from. */
export interface Source {
  get(name: string): Promise<Decoded>;
}

export class Arrays implements Source {
  private kept = new Map<string, Promise<Decoded>>();
  private sizes = new Map<string, number>();

  constructor(
    private entries: View["arrays"],
    private later?: View["later"],
  ) {}

  get(name: string): Promise<Decoded> {
    const cached = this.kept.get(name);
    if (cached) {
      this.kept.delete(name);
      this.kept.set(name, cached);
      return cached;
    }
    const decoded = this.decoded(name).then((array) => {
      this.sizes.set(name, array.byteLength);
      this.makeRoom(name);
      return array;
    });
    decoded.catch(() => this.kept.delete(name));
    this.kept.set(name, decoded);
    return decoded;
  }

  private async decoded(name: string): Promise<Decoded> {
    const entry: ArrayEntry | undefined = this.entries[name] ?? (await this.later?.())?.[name];
    if (!entry) throw new Error(`The view names an array “${name}” that did not come with it.`);
    return decode(entry);
  }

  private makeRoom(newest: string): void {
    let total = 0;
    for (const size of this.sizes.values()) total += size;
    for (const name of this.kept.keys()) {
      if (total <= ROOM) return;
      if (name === newest || !this.sizes.has(name)) continue;
      total -= this.sizes.get(name)!;
      this.sizes.delete(name);
      this.kept.delete(name);
    }
  }
}
