// Where the words of a running text stand: one line as large as it fits, then several lines. Pure: widths in, boxes out.

export interface WordBox {
  /** The middle of the word, and its width. */
  x: number;
  y: number;
  w: number;
  line: number;
}

export interface TextLayout {
  width: number;
  height: number;
  size: number; // of the letters
  boxes: WordBox[];
  /** Room for arcs above each line of words. */
  arcs: number;
  /** From the middle of a word up to where arcs end, and down to the middle of its number. */
  up: number;
  down: number;
}

export interface TextNeeds {
  width: number;
  /** Widths of all words at this size, and the gap before each of them. */
  widths: (size: number) => number[];
  gaps: (size: number) => number[];
  /** Sizes of letters: the largest, the smallest at which one line is preferred, and that of several lines. */
  sizes: { largest: number; oneLine: number; several: number };
  /** Room for arcs above a line, where there is one line and where there are several. */
  arcs: { one: number; several: number };
  /** Room for numbers below each line. */
  numbers: number;
  /** Lines run from right to left. */
  rightToLeft?: boolean;
  /** Pixels left free at both sides. */
  margin?: number;
  /** The height at which the text begins. */
  top?: number;
}

const total = (widths: number[], gaps: number[]): number => widths.reduce((sum, w, i) => sum + w + (i ? gaps[i] : 0), 0);

/** The largest size at which all words fit in one line; null where even the smallest is too large. */
function sizeOfOneLine({ widths, gaps, sizes: { largest, oneLine } }: TextNeeds, room: number): number | null {
  for (let size = largest; size >= oneLine; size--) if (total(widths(size), gaps(size)) <= room) return size;
  return null;
}

export function textLayout(needs: TextNeeds): TextLayout {
  const margin = needs.margin ?? 8;
  const top = needs.top ?? 0;
  const room = Math.max(120, needs.width - 2 * margin);
  const one = sizeOfOneLine(needs, room);
  const size = one ?? needs.sizes.several;
  const arcs = one === null ? needs.arcs.several : needs.arcs.one;
  const [widths, gaps] = [needs.widths(size).map((w) => Math.min(w, room)), needs.gaps(size)];
  const high = Math.round(size * 1.4);
  const pitch = arcs + high + needs.numbers;
  const boxes: WordBox[] = [];
  let [x, line] = [0, 0];
  widths.forEach((w, i) => {
    const gap = x === 0 ? 0 : gaps[i];
    if (x > 0 && x + gap + w > room) [x, line] = [0, line + 1];
    const start = x === 0 ? 0 : x + gap;
    boxes.push({ x: margin + start + w / 2, y: top + line * pitch + arcs + high / 2, w, line });
    x = start + w;
  });
  const centre = one === null ? 0 : (room - x) / 2; // one line stands in the middle
  for (const box of boxes) box.x = needs.rightToLeft ? needs.width - box.x - centre : box.x + centre;
  const height = top + (boxes.length ? line + 1 : 0) * pitch;
  return { width: needs.width, height, size, boxes, arcs, up: high / 2, down: high / 2 + needs.numbers / 2 };
}

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/u;

/** Whether most words are of a script that is written from right to left. */
export function isRightToLeft(labels: string[]): boolean {
  const words = labels.filter((label) => /\p{L}/u.test(label));
  return words.filter((label) => RIGHT_TO_LEFT.test(label)).length > words.length / 2;
}

/** The word at a point, or −1. `reach`: pixels above and below the middle of a word that still belong to it. */
export function wordAt({ boxes }: TextLayout, x: number, y: number, reach: number): number {
  return boxes.findIndex((box) => Math.abs(x - box.x) <= box.w / 2 + 5 && Math.abs(y - box.y) <= reach);
}
