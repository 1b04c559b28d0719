// A view that is mounted in the app, found by the digest of its data from another component of the page.

const TRIES = 100;
const RETRY_MS = 50; // the view may not be drawn yet

/** Send an event to the view with this digest, as soon as it is on the page. `isLate`: whether the event has been overtaken meanwhile. */
export function sendToView(digest: string, event: CustomEvent, isLate: () => boolean = () => false, left = TRIES): void {
  if (isLate()) return;
  const box = document.querySelector(`.eyeline-view[data-digest="${CSS.escape(digest)}"]`);
  if (box) box.dispatchEvent(event);
  else if (left > 0) setTimeout(() => sendToView(digest, event, isLate, left - 1), RETRY_MS);
}
