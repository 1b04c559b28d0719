// What is switched off, as one string: heads "L3·H7" and edges "L3·H7 2,3>5" with ";" between them.

export const offParts = (off: string): string[] =>
  off
    .split(";")
    .map((part) => part.trim())
    .filter(Boolean);

/** The string with this part added, or without it where it is there. */
export function toggledOff(off: string, part: string): string {
  const parts = offParts(off);
  return (parts.includes(part) ? parts.filter((other) => other !== part) : [...parts, part]).join("; ");
}

/** The name of a head: with its stack, where there are several. */
export const headPart = (stacks: number, stack: string, layer: number, head: number): string =>
  `${stacks > 1 ? `${stack} ` : ""}L${layer}·H${head}`;

export const edgePart = (head: string, queries: number[], keys: number[]): string => `${head} ${queries.join(",")}>${keys.join(",")}`;

/** A part for the eye: an edge by its tokens. */
export function partName(part: string, queryTokens: string[], keyTokens: string[]): string {
  const edge = /^(.*H\d+) ([\d,]+)>([\d,]+)$/.exec(part);
  if (!edge) return part;
  const names = (numbers: string, tokens: string[]) =>
    numbers
      .split(",")
      .map((number) => tokens[Number(number)] ?? number)
      .join(" ");
  return `${edge[1]} ${names(edge[2], queryTokens)} → ${names(edge[3], keyTokens)}`;
}
