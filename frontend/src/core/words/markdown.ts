// The little Markdown that our own pages use, as data: headings, paragraphs, lists, emphasis, code and links. Pure, no elements.

export type Inline = { type: "text" | "strong" | "em" | "code"; text: string } | { type: "link"; text: string; href: string };

export type Block =
  | { type: "heading"; level: number; inline: Inline[] }
  | { type: "paragraph"; inline: Inline[] }
  | { type: "list"; ordered: boolean; items: Inline[][] };

const SPANS = [
  /\*\*(?<strong>[^*]+)\*\*/,
  /\*(?<em>[^*]+)\*/,
  /`(?<code>[^`]+)`/,
  /<(?<address>https?:\/\/[^\s<>]+)>/,
  /\[(?<name>[^\]]+)\]\((?<href>https?:\/\/[^\s()]+)\)/,
];
const SPAN = new RegExp(SPANS.map(({ source }) => source).join("|"), "gu");

/** Emphasis does not nest; a link leads to http or https or is not one. */
export function inline(source: string): Inline[] {
  const parts: Inline[] = [];
  let last = 0;
  for (const match of source.matchAll(SPAN)) {
    if (match.index > last) parts.push({ type: "text", text: source.slice(last, match.index) });
    last = match.index + match[0].length;
    const { strong, em, code, address, name, href } = match.groups!;
    if (strong) parts.push({ type: "strong", text: strong });
    else if (em) parts.push({ type: "em", text: em });
    else if (code) parts.push({ type: "code", text: code });
    else parts.push({ type: "link", text: name ?? address.replace(/^https?:\/\/|\/$/g, ""), href: href ?? address });
  }
  if (last < source.length) parts.push({ type: "text", text: source.slice(last) });
  return parts;
}

export function blocks(source: string): Block[] {
  const result: Block[] = [];
  for (const chunk of source.replace(/\r\n?/g, "\n").split(/\n\s*\n/)) {
    const lines = chunk.split("\n").filter((line) => line.trim() !== "");
    if (!lines.length) continue;
    const heading = /^(#{1,4})\s+(.*)$/.exec(lines[0]);
    if (heading) {
      result.push({ type: "heading", level: heading[1].length, inline: inline(heading[2]) });
      lines.shift();
    }
    if (!lines.length) continue;
    const list = /^(-|\d+\.)\s/.exec(lines[0]);
    if (list) result.push({ type: "list", ordered: list[1] !== "-", items: items(lines).map(inline) });
    else result.push({ type: "paragraph", inline: inline(joined(lines)) });
  }
  return result;
}

const joined = (lines: string[]): string => lines.map((line) => line.trim()).join(" ");

/** A line that begins with a mark opens an item; the others carry it on. */
function items(lines: string[]): string[] {
  const open: string[][] = [];
  for (const line of lines) {
    const mark = /^(?:-|\d+\.)\s+/.exec(line);
    if (mark) open.push([line.slice(mark[0].length)]);
    else open[open.length - 1].push(line);
  }
  return open.map(joined);
}
