// What the model answers, as docs/view-format.md says, and how it is put into rows of bars.

import type { Spec } from "../input/contract";
import { visible } from "../words/tokens";

export interface ChoicesSpec {
  position: number | null;
  tokens: string[];
  ids: number[];
  probabilities: number[];
}

export interface PredictionSpec {
  kind: "masked" | "next" | "label" | "labels" | "span" | "number";
  choices: ChoicesSpec[];
}

/** The answer while parts of the model are switched off. */
export interface ChangedAnswer {
  off: string;
  prediction?: PredictionSpec;
  error?: string;
}

/** What the answer becomes when one head alone is switched off. */
export interface EffectSpec {
  stack: string;
  layer: number;
  probabilities: number[];
}

export interface AnswerBar {
  name: string;
  before: number;
  /** With parts switched off; null where nothing is, or where the choice is no longer among the most probable. */
  after: number | null;
}

export interface AnswerRow {
  position: number | null;
  bars: AnswerBar[];
}

const ROWS = 4;
const BARS = 5;
const LABEL_ROWS = 40;

/** The rows that are shown: the most probable choices before, and any that became the first since. */
export function answerRows(plain: PredictionSpec, changed: PredictionSpec | null): AnswerRow[] {
  const each = plain.kind === "labels";
  return plain.choices.slice(0, each ? LABEL_ROWS : ROWS).map((choices, row) => {
    const now = changed?.choices[row];
    const after = (id: number): number | null => {
      const index = now?.ids.indexOf(id) ?? -1;
      return now && index >= 0 ? now.probabilities[index] : null;
    };
    const bars = choices.tokens.slice(0, each ? 1 : BARS).map((token, i) => ({
      name: visible(token.trim() || token),
      before: choices.probabilities[i],
      after: after(choices.ids[i]),
    }));
    if (now && !choices.ids.slice(0, bars.length).includes(now.ids[0])) {
      const known = choices.ids.indexOf(now.ids[0]);
      const before = known >= 0 ? choices.probabilities[known] : 0;
      bars.push({ name: visible(now.tokens[0].trim() || now.tokens[0]), before, after: now.probabilities[0] });
    }
    return { position: choices.position, bars };
  });
}

/** "tea 0.42 → 0.31", of the first choice. */
export const changeText = (name: string, before: number, after: number | null): string =>
  `${name} ${before.toFixed(2)} → ${after === null ? "…" : after.toFixed(2)}`;

/** The same without one head (layer: its index), where that was computed; null elsewhere. */
export function withoutHead(spec: Spec, stackIndex: number, layerIndex: number, head: number): string | null {
  const stack = spec.stacks[stackIndex];
  const { layer } = stack.layers[layerIndex];
  const effects = spec.effects?.find((effect) => effect.stack === stack.name && effect.layer === layer);
  const [choices] = spec.prediction?.choices ?? [];
  const after = effects?.probabilities[head];
  return choices === undefined || after === undefined ? null : changeText(choices.tokens[0], choices.probabilities[0], after);
}
