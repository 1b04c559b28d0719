// What is said about the point under the pointer.

import type { Labels } from "../../core/words/labels";
import type { SpaceData, Tops } from "../../core/reading/space";
import { linksOf } from "./scene/links";

type Piece = string | { token: string } | { number: string };

const AROUND = 5; // words of the sentence, each side

/** The sentence around a token, in words: before, the word itself, after. */
export function context(data: SpaceData, point: number): [string, string, string] {
  const side = data.sideOf(point);
  const own = data.own(point);
  const text = side.texts[side.text[own]];
  const word = text.words[side.position[own]];
  if (word === null) {
    const at = side.position[own];
    const near = text.words.findIndex((w, i) => i >= at && w !== null);
    const from = near < 0 ? Math.max(0, text.word_texts.length - AROUND) : (text.words[near] ?? 0);
    return ["", side.token(own), text.word_texts.slice(from, from + AROUND).join(" ")];
  }
  const [start, end] = [Math.max(0, word - AROUND), word + 1 + AROUND];
  const before = text.word_texts.slice(start, word).join(" ");
  const after = text.word_texts.slice(word + 1, end).join(" ");
  return [(start > 0 ? "… " : "") + before, text.word_texts[word], after + (end < text.word_texts.length ? " …" : "")];
}

export function tipLines(data: SpaceData, tops: Tops, point: number, chosen: number | null, labels: Labels): Piece[][] {
  const side = data.sideOf(point);
  const own = data.own(point);
  const kind = data.values ? labels.value : data.isKey(point) ? labels.key : labels.query;
  const tag = side.tag(own);
  const word = data.wordOf(point);
  const lines: Piece[][] = [[{ token: data.tokenOf(point) }, ` · ${kind}${tag ? ` · ${tag}` : ""}`]];
  if (word !== data.tokenOf(point)) lines.push([`${labels.word_of} `, { token: word }]);
  const [before, self, after] = context(data, point);
  lines.push([`${before} `, { token: self }, ` ${after}`]);
  lines.push([`${labels.text} ${side.text[own]} · ${labels.position} ${side.position[own]}`]);
  if (chosen !== null && chosen !== point && data.textOf(chosen) === data.textOf(point)) {
    const link = [...linksOf(data, tops, chosen), ...linksOf(data, tops, point)].find(
      (l) => (l.from === chosen && l.to === point) || (l.from === point && l.to === chosen),
    );
    if (link)
      lines.push([{ token: data.tokenOf(link.from) }, " → ", { token: data.tokenOf(link.to) }, " ", { number: link.weight.toFixed(3) }]);
  } else {
    const [best] = linksOf(data, tops, point);
    if (best)
      lines.push(
        best.from === point
          ? ["→ ", { token: data.tokenOf(best.to) }, " ", { number: best.weight.toFixed(3) }]
          : ["← ", { token: data.tokenOf(best.from) }, " ", { number: best.weight.toFixed(3) }],
      );
  }
  return lines;
}

/** The same text for screen readers. */
export const spokenPoint = (data: SpaceData, tops: Tops, point: number, labels: Labels): string =>
  tipLines(data, tops, point, null, labels)
    .map((line) => line.map((piece) => (typeof piece === "string" ? piece : "token" in piece ? piece.token : piece.number)).join(""))
    .join(". ");
