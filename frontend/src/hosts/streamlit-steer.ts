// Opens what was clicked elsewhere on the page in a view of the app: the view changes its state, and is not sent again.

import type { State } from "../core/input/contract";

interface Component {
  data: [digest: string, click: number, state: Partial<State>];
}

const TRIES = 100;
const RETRY_MS = 50; // the view may not be drawn yet

/** The last click that each view has followed: a page that is drawn again does not take the reader back. */
const followed = new Map<string, number>();

function pass(digest: string, click: number, state: Partial<State>, left: number): void {
  if ((followed.get(digest) ?? 0) >= click) return;
  const box = document.querySelector(`.eyeline-view[data-digest="${CSS.escape(digest)}"]`);
  if (box) {
    followed.set(digest, click);
    box.dispatchEvent(new CustomEvent("eyeline:state", { detail: state }));
  } else if (left > 0) setTimeout(() => pass(digest, click, state, left - 1), RETRY_MS);
}

export default function ({ data }: Component): void {
  const [digest, click, state] = data;
  pass(digest, click, state, TRIES);
}
