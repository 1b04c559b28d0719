// Written by scripts/generate.py from src/eyeline/heads.py: change that file, and run the script.

export interface HeadRef {
  stack: string;
  layer: number;
  head: number;
}

/** The label of a head, with its stack before it where there is one. */
export const headName = (layer: number, head: number, stack = ""): string =>
  `${stack && `${stack} `}L${layer}·H${head}`;

const LABEL = /^(?:(?<stack>encoder|decoder|cross|vision) )?L(?<layer>\d+)·H(?<head>\d+)$/;

/** The head that a label names; null where it is no label of a head. */
export function readHead(label: string): HeadRef | null {
  const parts = LABEL.exec(label)?.groups;
  return parts ? { stack: parts.stack ?? "", layer: Number(parts.layer), head: Number(parts.head) } : null;
}
