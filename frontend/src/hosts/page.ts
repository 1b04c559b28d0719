// The standalone page: the view stands in it as JSON, and the page takes on the view's theme. This script runs before the browser has read
// the arrays behind it, which the first drawing does not need.

import type { ArrayEntry, View } from "../core/input/contract";
import { headInAddress } from "../core/state/address";
import type { Labels } from "../core/words/labels";
import { mount } from "../mount";

/** The JSON in an element, which is then taken out of the page. */
function taken(id: string): unknown {
  const source = document.getElementById(id);
  const value: unknown = JSON.parse(source?.textContent ?? "{}");
  source?.remove();
  return value;
}

/** The arrays behind this script, once the browser has read the whole page. */
async function later(): Promise<Record<string, ArrayEntry>> {
  if (document.readyState === "loading")
    await new Promise((resolve) => document.addEventListener("DOMContentLoaded", resolve, { once: true }));
  return taken("eyeline-arrays") as Record<string, ArrayEntry>;
}

function start(root: HTMLElement): void {
  try {
    const view = taken("eyeline-view") as View & { labels?: Partial<Labels> };
    let rest: ReturnType<typeof later> | undefined;
    view.later = () => (rest ??= later());
    const opened = headInAddress(view.spec, location.hash);
    if (opened) view.state = { ...view.state, ...opened };
    mount(root, view, {
      onState(state) {
        document.documentElement.dataset.theme = state.theme;
      },
      labels: view.labels,
      wholePage: true,
    });
  } catch (error) {
    root.textContent = `This view could not be drawn: ${error}`;
  }
}

start(document.getElementById("view")!);
