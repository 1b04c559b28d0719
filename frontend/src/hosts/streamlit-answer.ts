// What a model answers in the app while something is switched off: passed on to the view that it belongs to.

import type { ChangedAnswer } from "../core/reading/prediction";

interface Component {
  data: [digest: string, answer: ChangedAnswer];
}

const TRIES = 100;
const RETRY_MS = 50; // the view may not be drawn yet

function pass(digest: string, answer: ChangedAnswer, left: number): void {
  const box = document.querySelector(`.eyeline-view[data-digest="${CSS.escape(digest)}"]`);
  if (box) box.dispatchEvent(new CustomEvent("eyeline:answer", { detail: answer }));
  else if (left > 0) setTimeout(() => pass(digest, answer, left - 1), RETRY_MS);
}

export default function ({ data }: Component): void {
  const [digest, answer] = data;
  pass(digest, answer, TRIES);
}
