// What is switched off, as one string with ";" between its parts: heads "L3·H7", all heads of a layer "L3·H0-11", and edges of them,
// "L3·H7 2,3>5"; "all 2>5" is an edge in every head of every layer.

import { headName } from "../../generated/heads";

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
  headName(layer, head, stacks > 1 ? stack : "");

/** All heads of a layer. */
export const layerPart = (stacks: number, stack: string, layer: number, heads: number): string =>
  headPart(stacks, stack, layer, 0) + (heads > 1 ? `-${heads - 1}` : "");

/** All heads of all layers, of which edges alone can be switched off. */
export const allPart = (stacks: number, stack: string): string => (stacks > 1 ? `${stack} all` : "all");

export const edgePart = (head: string, queries: number[], keys: number[]): string => `${head} ${queries.join(",")}>${keys.join(",")}`;

const EDGE = /^(.+) ([\d,]+)>([\d,]+)$/;

/** Whether a head is switched off, or what a query sees of a key in it. `stacks` is the number of stacks, `heads` of heads in the layer. */
export function offIn(
  off: string,
  { stacks, stack, layer, head, heads }: { stacks: number; stack: string; layer: number; head: number; heads: number },
): (query?: number, key?: number) => boolean {
  const names = [headPart(stacks, stack, layer, head), layerPart(stacks, stack, layer, heads), allPart(stacks, stack)];
  const edges: [string[], string[]][] = [];
  let whole = false;
  for (const part of offParts(off)) {
    const edge = EDGE.exec(part);
    if (edge && names.includes(edge[1])) edges.push([edge[2].split(","), edge[3].split(",")]);
    else if (names.includes(part)) whole = true;
  }
  return (query, key) =>
    whole || (query !== undefined && edges.some(([queries, keys]) => queries.includes(String(query)) && keys.includes(String(key))));
}

/** A part for the eye: an edge by its tokens. */
export function partName(part: string, queryTokens: string[], keyTokens: string[], allLayers = "all"): string {
  const edge = EDGE.exec(part);
  if (!edge) return part;
  const names = (numbers: string, tokens: string[]) =>
    numbers
      .split(",")
      .map((number) => tokens[Number(number)] ?? number)
      .join(" ");
  return `${edge[1].replace(/all$/, allLayers)} ${names(edge[2], queryTokens)} → ${names(edge[3], keyTokens)}`;
}
