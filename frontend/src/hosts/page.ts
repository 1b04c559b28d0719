// The standalone page: the view stands in it as JSON, and the page takes on the view's theme. This script runs before the browser has read
// the arrays behind it, which the first drawing does not need.

import type { ArrayEntry, State, View } from "../core/input/contract";
import { addressOf, stateOfAddress } from "../core/state/address";
import { completeState } from "../core/state/state";
import { counted, type Labels, labelsWith } from "../core/words/labels";
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

/** Changes that follow each other faster are one step of the history: a slider, a film through the layers. */
const STEP = 600; // ms
let steppedAt = -STEP;

/** The address of the present state. A page inside a notebook has no address of its own. */
function remember(hash: string): void {
  if (location.protocol === "about:" || hash === location.hash) return;
  const address = hash || location.pathname + location.search;
  const isStep = performance.now() - steppedAt >= STEP;
  steppedAt = performance.now();
  if (isStep) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}

function start(root: HTMLElement): void {
  try {
    const view = taken("eyeline-view") as View & { labels?: Partial<Labels> };
    let rest: ReturnType<typeof later> | undefined;
    view.later = () => (rest ??= later());
    let first = completeState(view.spec, { ...view.spec.state, ...view.state });
    const { state, given, unknown } = stateOfAddress(view.spec, location.hash, first);
    view.state = { ...view.state, ...given };
    const labels = labelsWith(view.labels);
    if (unknown) view.spec.notices = [...(view.spec.notices ?? []), counted(labels.address_unknown, unknown)];
    const themed = (now: State) => (document.documentElement.dataset.theme = now.theme);
    themed(state);
    const handle = mount(root, view, {
      onState(now) {
        themed(now);
        if (!root.hasAttribute("data-drawn") && !location.hash)
          first = now; // a view may choose where it opens
        else remember(addressOf(view.spec, now, first));
      },
      labels: view.labels,
      wholePage: true,
    });
    addEventListener("popstate", () => {
      const { state: then } = stateOfAddress(view.spec, location.hash, first);
      themed(then);
      handle.update(then);
    });
  } catch (error) {
    root.textContent = `This view could not be drawn: ${error}`;
  }
}

start(document.getElementById("view")!);
