// What is drawn: attention, or one of the quantities that came with the view.

import type { LayerSpec, QuantitySpec, Spec, State } from "../input/contract";
import type { Decoded } from "../input/decode";
import type { LabelKey, Labels } from "../words/labels";

const ATTENTION: QuantitySpec = {
  method: "attention",
  name: "Attention",
  signed: false,
  largest: 1,
  answer: "",
  by_head: true,
  by_layer: true,
};

export const quantitiesOf = (spec: Spec): QuantitySpec[] => spec.quantities ?? [ATTENTION];

/** The quantity that the state draws. */
export const drawnOf = (spec: Spec, state: Pick<State, "drawn">): QuantitySpec => quantitiesOf(spec)[state.drawn] ?? quantitiesOf(spec)[0];

/** The name of its array in a layer; null where the quantity has nothing there. */
export const arrayOf = (layer: LayerSpec, drawn: number): string | null =>
  drawn === 0 ? layer.weights : (layer.also?.[drawn - 1] ?? null);

/** Its name in the reader's language. */
export function quantityName(quantity: QuantitySpec, labels: Labels): string {
  const isLengths = quantity.method === "decompx" && quantity.answer === ""; // parts of the layers' outputs, not of an answer
  const key = (isLengths ? "drawn_decompx_lengths" : `drawn_${quantity.method.replaceAll("-", "_")}`) as LabelKey;
  return labels[key] ?? quantity.name;
}

/** A title: the quantity and the answer that it is about. Attention has the titles of the views. */
export function drawnTitle(spec: Spec, state: State, labels: Labels, attention: string): string {
  const quantity = drawnOf(spec, state);
  if (quantity.method === "attention") return attention;
  const answer = quantity.answer.trim();
  return quantityName(quantity, labels) + (answer ? ` → ${answer}` : "");
}

/** What the drawing shows, and what it does not, in a sentence. */
export function drawnNote(spec: Spec, state: Pick<State, "drawn">, labels: Labels): string {
  const quantity = drawnOf(spec, state);
  if (quantity.method === "attention") return labels.note;
  return (quantity.answer ? labels.note_answer : labels.note_parts).replace("{n}", quantityName(quantity, labels));
}

/** A number as it is shown: weights with three decimals, other quantities with three digits; with a true minus sign. */
export function shownNumber(part: number, unit: number): string {
  if (unit === 1 && part >= 0) return part.toFixed(3);
  const value = part * unit;
  const size = Math.abs(value);
  const text =
    size >= 100
      ? size.toFixed(0)
      : size >= 10
        ? size.toFixed(1)
        : size >= 0.1 || size < 0.0005
          ? size.toFixed(2 + Number(size < 1))
          : size.toPrecision(2);
  return (value < 0 && Number(text) !== 0 ? "−" : "") + text;
}

/** Signed numbers travel as fractions of the range from −1 to 1. */
export function signedArray(array: Decoded): Decoded {
  return { ...array, block: (i) => array.block(i).map((step) => (step / 65535) * 2 - 1) };
}

/** Zeros of the shape of a map, for a layer in which a quantity has nothing. */
export const emptyArray = (queries: number, keys: number): Decoded => ({
  shape: [1, queries, keys],
  byteLength: 0,
  block: () => new Float32Array(queries * keys),
});

/** What a caption says instead of a head, for quantities that do not tell heads (or layers) apart; null for those that do. */
export function drawnWhole(quantity: QuantitySpec, layer: string, allLayers: string): string | null {
  if (quantity.by_head && quantity.by_layer) return null;
  return quantity.by_layer ? layer : allLayers;
}
