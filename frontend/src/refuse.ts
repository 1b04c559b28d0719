// What stands in place of a view that cannot be shown.
import { el } from "./controls/dom";
import { labelsWith } from "./core/words/labels";
import type { State } from "./core/input/contract";

/** A view on the page: it accepts a state from its host, and it can be removed. */
export interface Mounted {
  accept(patch: Partial<State>): void;
  destroy(): void;
}

export function refuse(element: HTMLElement, reason: string, labels = labelsWith()): Mounted {
  const message = el("p", { role: "alert", style: "font:14px system-ui,sans-serif;padding:12px" }, `${labels.failed} ${reason}`);
  element.append(message);
  element.setAttribute("data-failed", reason);
  return { accept: () => undefined, destroy: () => message.remove() };
}
