// How a token is written on screen: as itself, with what cannot be seen made visible.

const NAMED: Record<number, string> = { 9: "\\t", 10: "\\n", 13: "\\r", 32: "␣" };
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const INVISIBLE = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u180e\u200b-\u200f\u2028-\u202f\u205f-\u206f\u3164\ufeff\ufff9-\ufffb]/gu;
const JOINERS = new Set([0x200c, 0x200d]);

function spelled(character: string): string {
  const code = character.codePointAt(0)!;
  if (code in NAMED) return NAMED[code];
  if (code < 0x80) return `\\x${code.toString(16).padStart(2, "0")}`;
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

/** The token with control characters, direction marks and lone white space spelled out; joiners inside a cluster stay. */
export function visible(token: string): string {
  if (token === "") return "∅";
  if (/^\s+$/u.test(token)) return [...token].map(spelled).join("");
  const alone = [...token].length === 1;
  return token.replace(INVISIBLE, (c) => (!alone && JOINERS.has(c.codePointAt(0)!) ? c : spelled(c)));
}

const PREFIX = /^(##|▁|Ġ|Ċ)(?=.)/u;

/** A continuation or space mark at the front, shown dimmed, and the rest. */
export function pieces(token: string): { mark: string; body: string } {
  const shown = visible(token);
  const mark = PREFIX.exec(shown)?.[0] ?? "";
  return { mark, body: shown.slice(mark.length) };
}

/** Shortened in the middle to at most n characters. */
export function shorten(text: string, n: number): string {
  const characters = [...text];
  if (characters.length <= n) return text;
  const front = Math.ceil((n - 1) / 2);
  return `${characters.slice(0, front).join("")}…${characters.slice(characters.length - (n - 1 - front)).join("")}`;
}
