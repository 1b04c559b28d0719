// The standalone page: the view stands in it as JSON, and the page takes on the view's theme.

import type { View } from "../core/input/contract";
import { headInAddress } from "../core/state/address";
import type { Labels } from "../core/words/labels";
import { mount } from "../mount";

function start(root: HTMLElement): void {
  try {
    const source = document.getElementById("eyeline-view")!;
    const view = JSON.parse(source.textContent ?? "") as View & { labels?: Partial<Labels> };
    source.remove();
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
