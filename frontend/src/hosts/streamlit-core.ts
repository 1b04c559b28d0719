// Streamlit loads every component as a module of its own. The core is shared through one name on the page.

import type { Kind } from "../core/input/contract";
import type { mount } from "../mount";

export interface Core {
  mount: typeof mount;
  whenLoaded(kind: Kind): Promise<void>;
}

const page = globalThis as typeof globalThis & { eyeline?: Core };
const CORE_LOADED = "eyeline:core";

export function share(core: Core): void {
  if (page.eyeline) return;
  page.eyeline = core;
  dispatchEvent(new Event(CORE_LOADED));
}

/** The core, as soon as its component has been loaded. */
export function sharedCore(): Promise<Core> {
  if (page.eyeline) return Promise.resolve(page.eyeline);
  return new Promise((resolve) => addEventListener(CORE_LOADED, () => resolve(page.eyeline!), { once: true }));
}
