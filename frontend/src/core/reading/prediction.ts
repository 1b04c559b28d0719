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
  /** Null where the choice was not among those that are listed. */
  before: number | null;
  /** With parts switched off; null where nothing is, or where the choice has become less probable than all that were followed. */
  after: number | null;
}

export interface AnswerRow {
  position: number | null;
  bars: AnswerBar[];
}

const ROWS = 4;
const BARS = 5;
const LABEL_ROWS = 40;
/** Smaller ones are written as 0.00. */
const SMALLEST = 0.005;

/** The rows that are shown: the most probable choices before, and any that became the first since. */
export function answerRows(plain: PredictionSpec, changed: PredictionSpec | null): AnswerRow[] {
  const each = plain.kind === "labels";
  return plain.choices.slice(0, each ? LABEL_ROWS : ROWS).map((choices, row) => {
    const now = changed?.choices[row];
    const after = (choice: number): number | null => {
      if (!now) return null;
      const index = now.ids.findIndex((id, i) => id === choices.ids[choice] && now.tokens[i] === choices.tokens[choice]);
      return index >= 0 ? now.probabilities[index] : null;
    };
    const bars: AnswerBar[] = choices.tokens.slice(0, each ? 1 : BARS).map((token, i) => ({
      name: visible(token.trim() || token),
      before: choices.probabilities[i],
      after: after(i),
    }));
    const known = now ? choices.ids.findIndex((id, i) => id === now.ids[0] && choices.tokens[i] === now.tokens[0]) : 0;
    if (now && (known < 0 || known >= bars.length)) {
      const least = choices.probabilities[choices.probabilities.length - 1];
      const before = known >= 0 ? choices.probabilities[known] : least < SMALLEST ? 0 : null;
      bars.push({ name: visible(now.tokens[0].trim() || now.tokens[0]), before, after: now.probabilities[0] });
    }
    return { position: choices.position, bars };
  });
}

/** "tea 0.42 → 0.31", of the first choice. */
export const changeText = (name: string, before: number | null, after: number | null): string =>
  `${name} ${before === null ? "…" : before.toFixed(2)} → ${after === null ? "<0.01" : after.toFixed(2)}`;

/** The same without one head (layer: its index), where that was computed; null elsewhere. */
export function withoutHead(spec: Spec, stackIndex: number, layerIndex: number, head: number): string | null {
  const stack = spec.stacks[stackIndex];
  const { layer } = stack.layers[layerIndex];
  const effects = spec.effects?.find((effect) => effect.stack === stack.name && effect.layer === layer);
  const [choices] = spec.prediction?.choices ?? [];
  const after = effects?.probabilities[head];
  return choices === undefined || after === undefined ? null : changeText(choices.tokens[0], choices.probabilities[0], after);
}
