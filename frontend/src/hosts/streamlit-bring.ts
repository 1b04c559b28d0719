// Brings the answer to a click into view: what was clicked may stand a page above or below it.

interface Component {
  data: { target: string; click: number };
}

/** How often, and how many milliseconds apart, the answer is searched and scrolled to: the page is still being drawn around it. */
const TRIES = 40;
const RETRY_MS = 50;
/** Events that show that the reader has moved on: they end the scrolling. */
const READER = ["wheel", "touchstart", "pointerdown", "keydown"] as const;

/** The click that was answered last, in milliseconds since 1970: a page that is drawn again does not scroll again. */
let answered = 0;

/** Scroll as little as possible. The bar at the top of the page lies over what is scrolled: the answer begins below it. */
function show(answer: HTMLElement): void {
  const bar = document.querySelector('[data-testid="stHeader"]')?.getBoundingClientRect().height ?? 0;
  answer.style.scrollMarginTop = `${bar}px`;
  answer.scrollIntoView({ block: "nearest" });
}

export default function ({ data }: Component): void {
  if (data.click <= answered) return;
  answered = data.click;
  let left = TRIES;
  const stop = (): void => {
    left = 0;
    for (const event of READER) removeEventListener(event, stop, true);
  };
  for (const event of READER) addEventListener(event, stop, true);
  const bring = (): void => {
    if (left <= 0 || data.click < answered) return stop();
    left -= 1;
    const answer = document.querySelector<HTMLElement>(`.st-key-${CSS.escape(data.target)}`);
    if (answer) show(answer);
    setTimeout(bring, RETRY_MS);
  };
  bring();
}
