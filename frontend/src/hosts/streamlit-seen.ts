// Tells the page when the reader comes to this part of it, so that what takes long to draw is drawn for those who look at it.

interface Component {
  data: { what: string; drawn: boolean }; // what would be drawn here, and whether it is
  parentElement: HTMLElement;
  setStateValue: (name: string, value: unknown) => void;
}

/** Milliseconds between two checks. */
const LOOK_MS = 200;
/** The part must stay in view for this many milliseconds: while a page is being drawn, its lower parts pass by. */
const STAYS_MS = 400;
/** The page may miss the message while it is being drawn: it is sent again after this many milliseconds. */
const AGAIN_MS = 5000;
/** Pixels: the part counts as seen a little before it comes in from below. */
const AHEAD = 200;

/** The timer of each part. The page calls this function again for the same element when its data changes. */
const timers = new WeakMap<HTMLElement, ReturnType<typeof setInterval>>();

export default function ({ data, parentElement, setStateValue }: Component): () => void {
  clearInterval(timers.get(parentElement));
  if (data.drawn) return () => {};
  let inView = 0;
  let sinceSent = AGAIN_MS;
  let times = 0;
  const look = (): void => {
    const box = (parentElement.closest(".stVerticalBlock") ?? parentElement).getBoundingClientRect(); // this element itself has no height
    inView = box.top < window.innerHeight + AHEAD && box.bottom >= 0 ? inView + LOOK_MS : 0;
    sinceSent += LOOK_MS;
    if (inView < STAYS_MS || sinceSent < AGAIN_MS) return;
    sinceSent = 0;
    times += 1;
    setStateValue("seen", `${data.what} ${times}`);
  };
  const timer = setInterval(look, LOOK_MS);
  timers.set(parentElement, timer);
  return () => clearInterval(timer);
}
