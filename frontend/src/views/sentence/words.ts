// The words of a text as they stand in a sentence: one list for queries and keys, in the order of the text.

import type { TextSpec } from "../../core/input/contract";
import type { Axis } from "../../core/reading/axes";
import type { Reading } from "../../core/reading/reading";
import { pieces, shorten, visible } from "../../core/words/tokens";
import { measure } from "../../marks/painters/canvas";

export interface Word {
  /** Its tokens. */
  group: number[];
  /** The token as it is, and as it is written here: without the marks of word beginnings and continuations. */
  label: string;
  written: string;
  special: boolean;
  /** The index of its part of a conversation; −1 where the text has none. */
  part: number;
  /** What a model is asked to fill in. */
  blank: boolean;
  /** It goes on where the word before it stopped. */
  goesOn: boolean;
  /** Its row and its column in the map; −1 where it is left out on that side. */
  row: number;
  col: number;
}

/** "text": queries and keys are the same text; else they stand apart. */
export type Sides = { one: Word[] } | { queries: Word[]; keys: Word[] };

const BLANK_TOKEN = /^[[<]\|?mask\|?[\]>]$/i;
const plain = (text: string): string => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

/** A piece in the letters of the word it belongs to: tokenisers drop capitals and accents. null where the pieces do not spell the word. */
function asInWord(text: TextSpec, token: number): string | null {
  const word = text.words[token];
  if (word === null) return null;
  const letters = [...(text.word_texts[word] ?? "").normalize("NFC")];
  let [at, found] = [0, null as string | null];
  for (let i = text.words.indexOf(word); text.words[i] === word; i++) {
    const body = pieces(text.tokens[i]).body;
    const piece = letters.slice(at, at + [...body.normalize("NFC")].length).join("");
    if (plain(piece) !== plain(body)) return null;
    at += [...piece].length;
    if (i === token) found = piece;
  }
  return at === letters.length ? found : null;
}

function wordsOf(
  text: TextSpec,
  groups: number[][],
  axis: Axis,
  row: (group: number[]) => number,
  col: (group: number[]) => number,
): Word[] {
  const label = new Map(axis.groups.map((group, i) => [group[0], axis.labels[i]]));
  return groups.map((group, i) => {
    const own = label.get(group[0]) ?? text.tokens[group[0]];
    const special = text.special[group[0]];
    const word = text.words[group[0]];
    const before = groups[i - 1]?.[groups[i - 1].length - 1];
    const body = pieces(own).body;
    const isToken = group.length === 1 || word === null;
    return {
      group,
      label: own,
      written: special ? visible(own) : isToken ? (asInWord(text, group[0]) ?? body) : own,
      special,
      part: text.part_of?.[group[0]] ?? -1,
      blank: BLANK_TOKEN.test(own),
      goesOn: word !== null && before === group[0] - 1 && text.words[before] === word,
      row: row(group),
      col: col(group),
    };
  });
}

const indexIn = (axis: Axis) => {
  const at = new Map(axis.groups.map((group, i) => [group[0], i]));
  return (group: number[]) => at.get(group[0]) ?? -1;
};
const nowhere = () => -1;

export function sides(texts: TextSpec[], stack: { query_text: number; key_text: number }, { rows, cols }: Reading): Sides {
  const [query, key] = [texts[stack.query_text], texts[stack.key_text]];
  if (stack.query_text !== stack.key_text)
    return {
      queries: wordsOf(query, rows.groups, rows, indexIn(rows), nowhere),
      keys: wordsOf(key, cols.groups, cols, nowhere, indexIn(cols)),
    };
  const byFirst = new Map([...rows.groups, ...cols.groups].map((group) => [group[0], group]));
  const groups = [...byFirst.keys()].sort((a, b) => a - b).map((first) => byFirst.get(first)!);
  const both = { ...rows, groups: [...rows.groups, ...cols.groups], labels: [...rows.labels, ...cols.labels] };
  return { one: wordsOf(query, groups, both, indexIn(rows), indexIn(cols)) };
}

const BLANK = 3.4; // of the size of the letters
const SMALL = 0.52;

/** The size of special tokens beside letters of this size: small, never too small to be read. */
export const specialSize = (size: number): number => Math.max(12, Math.round(size * SMALL));

const widths = new Map<string, number>();

export function writtenWidth(text: string, size: number): number {
  const key = `${size} ${text}`;
  let width = widths.get(key);
  if (width === undefined) {
    if (widths.size > 20_000) widths.clear();
    widths.set(key, (width = measure(text, { size })));
  }
  return width;
}

export function wordWidth(word: Word, size: number): number {
  if (word.blank) return BLANK * size;
  return writtenWidth(word.written, word.special ? specialSize(size) : size);
}

/** Pieces of a word stand close, words apart. */
export const gapBefore = (word: Word, size: number): number => (word.goesOn ? Math.max(2, 0.12 * size) : 0.62 * size);

const CLOSES = /^[,.;:!?%)\]}\u2019\u201d\u00bb\u3001\u3002\uff0c\uff0e\uff01\uff1f\uff09\u300d\u300f'-]+$/u;
const OPENS = /^[([{\u201c\u00ab\u300c\u300e\uff08-]$/u;

/** As it is printed: no space before a comma and after a bracket. */
export function printedGap(word: Word, before: Word | undefined, size: number): number {
  const tight = word.goesOn || CLOSES.test(word.written) || (before !== undefined && OPENS.test(before.written));
  return tight ? (word.goesOn ? 1.5 : 1) : 0.34 * size;
}

/** The longest form of the text that fits. */
export function fittedText(text: string, room: number, size: number): string {
  if (writtenWidth(text, size) <= room + 0.5) return text;
  for (let n = [...text].length - 1; n > 1; n--) {
    const short = shorten(text, n);
    if (writtenWidth(short, size) <= room) return short;
  }
  return "…";
}
