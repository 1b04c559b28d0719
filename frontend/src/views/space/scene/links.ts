// Which lines are drawn between queries and keys.

import type { State } from "../../../core/input/contract";
import { isNamed, type SpaceData, type Tops } from "../../../core/reading/space";
import { wordPairs } from "../../../core/state/space-state";

export interface Link {
  from: number; // point
  to: number;
  weight: number;
}

/** Weights below this are not drawn. */
const FAINT = 0.01;

const queriesOf = (data: SpaceData, text: number): [number, number] => [data.queries.starts[text], data.queries.starts[text + 1]];

/** From a query to its most attended keys; to a key, from the queries that have it among theirs. Strongest first. */
export function linksOf(data: SpaceData, tops: Tops, point: number): Link[] {
  const text = data.textOf(point);
  const links: Link[] = [];
  const [first, last] = queriesOf(data, text);
  const own = data.own(point);
  const startsAtPoint = data.values ? data.queries === data.keys : !data.isKey(point);
  const add = (query: number, rank: number) => {
    const key = tops.key(query, rank);
    const weight = tops.weight(query, rank);
    if (key >= 0 && weight >= FAINT && data.queryPoint(query) >= 0)
      links.push({ from: data.queryPoint(query), to: data.keyPoint(key), weight });
  };
  if (startsAtPoint) for (let rank = 0; rank < tops.ranks; rank++) add(own, rank);
  else
    for (let query = first; query < last; query++)
      for (let rank = 0; rank < tops.ranks; rank++) if (tops.key(query, rank) === own) add(query, rank);
  return links.sort((a, b) => b.weight - a.weight);
}

/** From every query that is left in to its most attended key. */
export function bestLinks(data: SpaceData, tops: Tops, isIn: (point: number) => boolean): Link[] {
  const links: Link[] = [];
  for (let query = 0; query < data.queries.count; query++) {
    const from = data.queryPoint(query);
    const key = tops.key(query, 0);
    if (from >= 0 && key >= 0 && isIn(from)) links.push({ from, to: data.keyPoint(key), weight: tops.weight(query, 0) });
  }
  return links;
}

/** The n strongest pairs of a text, from its map: weights [query, key]. */
export function topLinks(data: SpaceData, weights: Float32Array, text: number, n: number): Link[] {
  const columns = data.keys.starts[text + 1] - data.keys.starts[text];
  const least = weights.length > n ? weights.slice().sort()[weights.length - n] : 0;
  const links: Link[] = [];
  weights.forEach((weight, i) => {
    const from = data.queryPoint(data.queries.starts[text] + Math.floor(i / columns));
    if (weight > 0 && weight >= least && from >= 0)
      links.push({ from, to: data.keyPoint(data.keys.starts[text] + (i % columns)), weight });
  });
  return links.sort((a, b) => b.weight - a.weight).slice(0, n);
}

/** The n strongest pairs of all texts, from the strongest keys that are kept of each query. */
export function topLinksOfAll(data: SpaceData, tops: Tops, isIn: (point: number) => boolean, n: number): Link[] {
  const links: Link[] = [];
  for (let query = 0; query < data.queries.count; query++) {
    const from = data.queryPoint(query);
    if (from < 0 || !isIn(from)) continue;
    for (let rank = 0; rank < tops.ranks; rank++) {
      const [key, weight] = [tops.key(query, rank), tops.weight(query, rank)];
      if (key >= 0 && weight > 0) links.push({ from, to: data.keyPoint(key), weight });
    }
  }
  return links.sort((a, b) => b.weight - a.weight).slice(0, n);
}

/** Every query of the first word or piece of a pair with every key of the second in the same text: where
 * that is the query's most attended key, or everywhere. */
export function pairLinks(data: SpaceData, tops: Tops, written: string, text: number | null, every: boolean): Link[] {
  const links: Link[] = [];
  for (const [a, b] of wordPairs(written))
    for (let query = 0; query < data.queries.count; query++) {
      const from = data.queryPoint(query);
      const of = data.queries.text[query];
      if (from < 0 || (text !== null && of !== text) || !isNamed(data.queries.texts[of], data.queries.position[query], a)) continue;
      for (let key = data.keys.starts[of]; key < data.keys.starts[of + 1]; key++) {
        if (!isNamed(data.keys.texts[of], data.keys.position[key], b)) continue;
        if (!every && tops.key(query, 0) !== key) continue;
        let weight = 0;
        for (let rank = 0; rank < tops.ranks; rank++) if (tops.key(query, rank) === key) weight = tops.weight(query, rank);
        links.push({ from, to: data.keyPoint(key), weight });
      }
    }
  return links;
}

/** A red line is as wide as its weight, and is seen at any weight. */
export const visibleRed = (link: Link): Link => ({ ...link, weight: 0.12 + 0.88 * link.weight });

/** The lines that the state asks for; `point` is the one chosen, or else the one under the pointer; `strongest` are those of its text. */
export function linksFor(
  data: SpaceData,
  tops: Tops,
  state: State,
  point: number | null,
  isIn: (point: number) => boolean,
  strongest: Link[],
): Link[] {
  if (state.links === "none") return [];
  if (state.links === "best") return bestLinks(data, tops, isIn);
  if (state.links === "top")
    return state.text !== null ? strongest.slice(0, state.links_top) : topLinksOfAll(data, tops, isIn, state.links_top);
  return point === null ? [] : linksOf(data, tops, point);
}
