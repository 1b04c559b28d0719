// Text of a PDF in the fonts that every reader of PDF has: their names, how wide their letters are, which characters they know.

import type { Text } from "../scene";

/** Without embedding: sans and monospaced, plain and bold. */
export const FONTS = ["Helvetica", "Helvetica-Bold", "Courier", "Courier-Bold"];

export const fontOf = ({ mono, bold }: Text): number => (mono ? 2 : 0) + (bold ? 1 : 0);

// Widths of the characters from space to ~, in thousandths of the size.
const WIDTHS = [
  `278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 278 278 584 584 584 556
   1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 667 778 722 667 611 722 667 944 667 667 611 278 278 278 469 556
   333 556 556 500 556 556 278 556 556 222 222 500 222 833 556 556 556 556 333 500 278 556 500 722 500 500 500 334 260 334 584`,
  `278 333 474 556 556 889 722 238 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 333 333 584 584 584 611
   975 722 722 722 722 667 611 778 722 278 556 722 611 833 722 778 667 778 722 667 611 722 667 944 667 667 611 333 278 333 584 556
   333 556 611 556 611 556 333 611 611 278 278 556 278 889 611 611 611 611 389 556 333 611 556 778 556 556 500 389 280 389 584`,
].map((list) => list.trim().split(/\s+/).map(Number));
const OTHER = 556; // accented letters, about

/** Characters beyond Latin-1 that the fonts have, by their byte in WinAnsiEncoding; a minus is as wide as the dash. */
const BYTES: Record<string, number> = {
  "…": 0x85,
  "‘": 0x91,
  "’": 0x92,
  "“": 0x93,
  "”": 0x94,
  "•": 0x95,
  "–": 0x96,
  "−": 0x96,
  "—": 0x97,
};

/** The text as bytes of WinAnsiEncoding, one a character; null where the fonts lack a character. */
export function encoded(text: string): string | null {
  let bytes = "";
  for (const character of text) {
    const code = BYTES[character] ?? character.codePointAt(0)!;
    const isKnown = (code >= 0x20 && code <= 0x7e) || (code >= 0xa0 && code <= 0xff) || character in BYTES;
    if (!isKnown) return null;
    bytes += String.fromCharCode(code);
  }
  return bytes;
}

/** Width of encoded text at a size of 1. */
export function widthOf(bytes: string, font: number): number {
  if (font >= 2) return 0.6 * bytes.length;
  let sum = 0;
  for (let i = 0; i < bytes.length; i++) sum += WIDTHS[font][bytes.charCodeAt(i) - 32] ?? OTHER;
  return sum / 1000;
}

export const quoted = (bytes: string): string => `(${bytes.replace(/[\\()]/g, "\\$&")})`;
