// A spec that cannot be shown is refused in words, before anything is drawn.

import type { Spec } from "./contract";

const KINDS = ["head", "model", "neuron", "space", "sentence", "text", "generation"];

/** What is wrong with a spec, or null. */
export function problem(spec: Spec): string | null {
  if (spec?.format !== 1) return `This view was written in format ${String(spec?.format)}; this front end reads format 1.`;
  if (!KINDS.includes(spec.kind)) return `A view of the kind “${String(spec.kind)}”; known are ${KINDS.join(", ")}.`;
  if (!spec.stacks?.length) return "This view has no attention in it.";
  for (const stack of spec.stacks) {
    if (!stack.layers?.length) return `The ${stack.name} has no layers.`;
    for (const side of [stack.query_text, stack.key_text]) {
      const text = spec.texts?.[side];
      if (!text) return `The ${stack.name} names text ${side}, but there are ${spec.texts?.length ?? 0}.`;
      const n = text.tokens.length;
      for (const name of ["special", "segments", "words"] as const)
        if (text[name].length !== n) return `${n} tokens, but ${text[name].length} ${name}.`;
    }
  }
  if (spec.kind === "generation" && !spec.generation?.parts?.length) return "This view has no generation in it.";
  return spec.kind === "space" ? spaceProblem(spec) : null;
}

function spaceProblem({ spaces, stacks, texts }: Spec): string | null {
  if (!spaces?.length) return "This view has no space in it.";
  for (const { model, stacks: own } of spaces) {
    if (own.length !== stacks.length) return `${model} has ${own.length} kinds of attention, but ${stacks.length} are shown.`;
    for (const stack of own)
      for (const text of [...stack.query_texts, ...stack.key_texts])
        if (!texts[text]) return `${model} names text ${text}, but there are ${texts.length}.`;
  }
  return null;
}
