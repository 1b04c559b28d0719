// The standalone page: reads the view written into it, mounts it, and drops the text.

import type { View } from "../core/contract";
import { mount, type Handle } from "../mount";

export function page(element: HTMLElement): Handle {
  const source = document.getElementById("sightline-view");
  if (!source) throw new Error("This page has no element with the id sightline-view.");
  const view = JSON.parse(source.textContent ?? "") as Omit<View, "kind"> & Partial<View>;
  source.remove();
  return mount(element, { ...view, kind: view.kind ?? view.spec.kind }, { wholePage: true });
}
