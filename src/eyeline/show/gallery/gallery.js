"use strict";
// Each element with data-example becomes a head view of that text, opened at the head of this page.
(() => {
  for (const root of document.querySelectorAll("[data-example]")) {
    const example = globalThis.eyelineExamples[Number(root.dataset.example)];
    const state = { ...example.spec.state, ...JSON.parse(root.dataset.state) };
    eyeline.mount(root, { ...example, state }, { labels: example.labels });
  }
})();
