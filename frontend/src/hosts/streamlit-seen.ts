// Tells the page when the reader comes to this part of it, so that what takes long to draw is drawn for those who look at it.

interface Component {
  data: string; // what would be drawn here
  parentElement: HTMLElement;
  setStateValue: (name: string, value: unknown) => void;
}

/** The part must stay in view for so long: while a page is being drawn, its lower parts pass by. */
const STAYS_MS = 400;
/** It counts as seen a little before it comes in from below. */
const AHEAD = "0px 0px 200px 0px";

export default function ({ data, parentElement, setStateValue }: Component): () => void {
  let waiting: ReturnType<typeof setTimeout> | undefined;
  const observer = new IntersectionObserver(
    (entries) => {
      clearTimeout(waiting);
      if (!entries[entries.length - 1].isIntersecting) return;
      waiting = setTimeout(() => {
        observer.disconnect();
        setStateValue("seen", data);
      }, STAYS_MS);
    },
    { rootMargin: AHEAD },
  );
  observer.observe(parentElement.closest(".stVerticalBlock") ?? parentElement); // the container: this element itself has no height
  return () => {
    clearTimeout(waiting);
    observer.disconnect();
  };
}
