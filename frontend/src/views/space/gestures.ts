// What the pointer does on the canvas of a space: hover, click, drag, lasso, wheel, and two fingers.

import { on } from "../../controls/dom";

/** What a gesture leads to. Coordinates are pixels from the corner of the plot. */
export interface GestureActions {
  /** The corner of the plot inside the canvas. */
  corner(): { x: number; y: number };
  /** Whether a drag without the shift key draws a lasso. */
  drawsLasso(): boolean;
  hover(x: number, y: number): void;
  leave(): void;
  click(x: number, y: number): void;
  zoom(factor: number, x: number, y: number): void;
  dragStart(): void;
  drag(dx: number, dy: number): void;
  dragEnd(): void;
  lasso(): void;
  lassoEnd(outline: number[]): void;
  /** Two fingers: their middle moves by dx and dy, then the picture grows around (x, y). */
  pinch(move: { dx: number; dy: number }, factor: number, x: number, y: number): void;
}

/** Pixels that the pointer may move before a click becomes a drag. */
const CLICK = 4;

export class Gestures {
  private drag: { x: number; y: number; moved: boolean; lasso: boolean } | null = null;
  private fingers = new Map<number, { x: number; y: number }>();
  /** The lasso while it is drawn: x and y in turn. */
  outline: number[] = [];

  constructor(
    private canvas: HTMLCanvasElement,
    private actions: GestureActions,
  ) {
    on(canvas, "pointerdown", (event) => this.down(event));
    on(canvas, "pointermove", (event) => this.move(event));
    on(canvas, "pointerup", (event) => this.up(event));
    on(canvas, "pointercancel", () => this.letGo());
    on(canvas, "pointerleave", () => !this.drag && actions.leave());
    on(canvas, "dblclick", (event) => actions.zoom(2, ...this.position(event)));
    on(
      canvas,
      "wheel",
      (event) => {
        event.preventDefault();
        actions.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)), ...this.position(event));
      },
      { passive: false },
    );
  }

  /** Whether the picture moves under the pointer now. */
  get moving(): boolean {
    return this.drag?.moved ?? false;
  }

  private position(event: MouseEvent): [number, number] {
    const box = this.canvas.getBoundingClientRect();
    const { x, y } = this.actions.corner();
    return [event.clientX - box.left - x, event.clientY - box.top - y];
  }

  private down(event: PointerEvent): void {
    if (event.button !== 0) return;
    const [x, y] = this.position(event);
    this.canvas.setPointerCapture(event.pointerId);
    this.fingers.set(event.pointerId, { x, y });
    const lasso = event.shiftKey || this.actions.drawsLasso();
    this.drag = { x, y, moved: false, lasso };
    this.outline = lasso ? [x, y] : [];
  }

  private move(event: PointerEvent): void {
    const [x, y] = this.position(event);
    if (!this.drag) {
      if (event.pointerType !== "touch") this.actions.hover(x, y);
      return;
    }
    if (this.fingers.size === 2 && this.fingers.has(event.pointerId)) return this.pinch(event.pointerId, x, y);
    const [dx, dy] = [x - this.drag.x, y - this.drag.y];
    if (!this.drag.moved && Math.hypot(dx, dy) < CLICK) return;
    this.drag = { ...this.drag, x, y, moved: true };
    this.actions.dragStart();
    if (!this.drag.lasso) return this.actions.drag(dx, dy);
    this.outline.push(x, y);
    this.actions.lasso();
  }

  private pinch(id: number, x: number, y: number): void {
    const spread = () => {
      const [a, b] = [...this.fingers.values()];
      return { length: Math.hypot(a.x - b.x, a.y - b.y), x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
    };
    const before = spread();
    this.fingers.set(id, { x, y });
    const now = spread();
    if (this.drag) this.drag.moved = true;
    const factor = before.length > 0 ? now.length / before.length : 1;
    this.actions.pinch({ dx: now.x - before.x, dy: now.y - before.y }, factor, now.x, now.y);
  }

  private up(event: PointerEvent): void {
    const { drag, outline } = this;
    this.letGo(event.pointerId);
    if (!drag) return;
    if (!drag.moved) return this.actions.click(...this.position(event));
    if (drag.lasso) this.actions.lassoEnd(outline);
    else this.actions.dragEnd();
  }

  private letGo(id?: number): void {
    if (id === undefined) this.fingers.clear();
    else this.fingers.delete(id);
    this.drag = null;
    this.outline = [];
  }
}
