// Opens what was clicked elsewhere on the page in a view of the app: the view changes its state, and is not sent again.

import type { State } from "../core/input/contract";
import { sendToView } from "./streamlit-mounted";

interface Component {
  data: [digest: string, click: number, state: Partial<State>];
}

/** The last click of each view: a page that is drawn again does not take the reader back. */
const clicks = new Map<string, number>();

export default function ({ data: [digest, click, state] }: Component): void {
  if ((clicks.get(digest) ?? 0) >= click) return;
  clicks.set(digest, click);
  sendToView(digest, new CustomEvent("eyeline:state", { detail: state }), () => clicks.get(digest) !== click);
}
