// Where the two columns of tokens stand. Pure: sizes in, sizes out.

export interface LinesLayout {
  width: number;
  /** Height of the window; the list behind it may be taller. */
  height: number;
  full: number;
  row: number; // height of a token's row
  size: number; // of its text
  top: number; // room for the column headings
  x1: number; // lines start here; left tokens end just before
  x2: number;
  tokens: [number, number]; // room for text, left and right
  numbers: number; // room for the numbers, each side
  strip: number; // room for the strip of heads, each side
}

export interface LinesNeeds {
  width: number;
  window: number; // the tallest the drawing may be
  rows: number;
  cols: number;
  widest: (size: number) => [number, number]; // widest token at this size of text, left and right
  maps: number;
  coarse?: boolean; // a finger needs 44 px
  zoom?: number; // 1: as much as fits well; larger: larger rows and text
}

const GAP = 8;
const TOP = 26;
const LEAST = 60; // between the columns
const LEAST_PART = 0.28; // of a phone's width: long tokens are shortened rather than the lines squeezed
const WIDEST = 1800;
const LARGEST_TEXT = 32;
/** The largest magnification of lines. */
export const MOST_ZOOM = 4;

export function linesLayout(needs: LinesNeeds): LinesLayout {
  const width = Math.max(280, Math.min(needs.width, WIDEST));
  const longest = Math.max(needs.rows, needs.cols, 1);
  const zoom = Math.max(1, Math.min(MOST_ZOOM, needs.zoom ?? 1));
  const row = Math.round((needs.coarse ? 44 : longest <= 24 ? 24 : longest <= 48 ? 20 : 18) * zoom);
  const size = Math.min(LARGEST_TEXT, Math.round((needs.coarse || longest <= 24 ? 14 : 12) * zoom));
  const all = TOP + longest * row;
  const window = Math.max(240, needs.window);
  const fits = all + 8 <= window;
  const whole = TOP + Math.floor((window - TOP) / row) * row; // no row is cut through at the bottom
  const full = fits ? all + 8 : all;
  const narrow = width < 560;
  const numbers = 44;
  const strip = narrow || needs.maps < 2 ? 0 : Math.min(96, needs.maps * 6) + GAP;
  const side = numbers + strip;
  const least = narrow ? Math.max(LEAST, Math.floor(width * LEAST_PART)) : LEAST;
  const room = Math.max(40, Math.min((width - 2 * side) * (narrow ? 0.36 : 0.28), Math.floor((width - 2 * side - 2 * GAP - least) / 2)));
  const tokens = needs.widest(size).map((w) => Math.ceil(Math.min(room, w + 2))) as [number, number];
  const between = Math.max(least, width - 2 * side - tokens[0] - tokens[1] - 2 * GAP);
  const x1 = side + tokens[0] + GAP;
  return {
    width: x1 + between + GAP + tokens[1] + side,
    height: fits ? full : Math.min(full, whole),
    full,
    row,
    size,
    top: TOP,
    x1,
    x2: x1 + between,
    tokens,
    numbers,
    strip,
  };
}

export const rowY = (layout: LinesLayout, index: number, scroll: number): number => layout.top + (index + 0.5) * layout.row - scroll;

export const rowAt = (layout: LinesLayout, y: number, scroll: number): number => Math.floor((y - layout.top + scroll) / layout.row);

/** First and last rows that can be seen. */
export function visibleRows(layout: LinesLayout, count: number, scroll: number): [number, number] {
  const first = Math.max(0, Math.floor(scroll / layout.row) - 1);
  const last = Math.min(count - 1, Math.ceil((scroll + layout.height - layout.top) / layout.row));
  return [first, last];
}
