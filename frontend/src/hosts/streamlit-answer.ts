// What a model answers in the app while something is switched off: passed on to the view that it belongs to.

import type { ChangedAnswer } from "../core/reading/prediction";
import { sendToView } from "./streamlit-mounted";

interface Component {
  data: [digest: string, answer: ChangedAnswer];
}

export default function ({ data: [digest, answer] }: Component): void {
  sendToView(digest, new CustomEvent("eyeline:answer", { detail: answer }));
}
