// The wheel with Ctrl and two fingers, as factors of a zoom.

import { on } from "../../controls/dom";

/** Calls back with a factor and the height (clientY) at which it was meant. The wheel without Ctrl and one finger scroll. */
export function zoomGestures(element: HTMLElement, zoomBy: (factor: number, clientY: number) => void): void {
  let apart = 0; // between two fingers, px
  const touch = (event: TouchEvent) => {
    if (event.touches.length !== 2) {
      apart = 0;
      return;
    }
    const [a, b] = event.touches;
    const distance = Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
    if (event.type === "touchmove" && apart > 0) {
      event.preventDefault();
      zoomBy(distance / apart, (a.clientY + b.clientY) / 2);
    }
    apart = distance;
  };
  on(element, "touchstart", touch, { passive: true });
  on(element, "touchmove", touch, { passive: false });
  on(
    element,
    "wheel",
    (event) => {
      if (!event.ctrlKey && !event.metaKey) return; // a pinch on a touchpad comes as a wheel with Ctrl
      event.preventDefault();
      zoomBy(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.005)), event.clientY);
    },
    { passive: false },
  );
}
