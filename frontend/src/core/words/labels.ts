// Every word on screen; a host may pass other words for any of them. The English ones are those of Python's catalogue.
// note_page: the page behind the note, as Markdown; empty is the English one, which the bundle carries.

import { ENGLISH } from "../../generated/labels";

export type LabelKey = keyof typeof ENGLISH;
export type Labels = Record<LabelKey, string>;

export const labelsWith = (given: Partial<Labels> = {}): Labels => ({ ...ENGLISH, ...given });

/** A label such as "{n} tokens" with its number. */
export const counted = (label: string, n: number | string): string => label.replace("{n}", String(n));

/** The name of a stack within a line of text. */
export const stackName = (labels: Labels, name: string): string => (labels[name as "encoder"] ?? name).toLowerCase();

/** A number with its noun: "1 text", "8 texts". */
export const amount = (labels: Labels, what: "texts" | "tokens" | "layers" | "heads", n: number | string): string =>
  counted(String(n) === "1" ? labels[`n_${what}_one`] : labels[`n_${what}`], n);
