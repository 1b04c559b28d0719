// Work in small pieces, so that the page stays alive while a large view is drawn.

/** Gives the event loop a turn (not requestAnimationFrame: that sleeps in hidden tabs). */
export function breathe(): Promise<void> {
  return new Promise((resolve) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => {
      channel.port1.close();
      resolve();
    };
    channel.port2.postMessage(null);
  });
}

/** Runs `draw` at most once a frame, and tells whether the run it began is still the latest. */
export class Redraw {
  private queued = false;
  private run = 0;
  private drawing = 0;

  constructor(private draw: (current: () => boolean) => Promise<void>) {}

  /** Whether everything that was asked for has been drawn. */
  get upToDate(): boolean {
    return !this.queued && this.drawing === 0;
  }

  request(): void {
    if (this.queued) return;
    this.queued = true;
    const go = () => {
      if (!this.queued) return;
      this.queued = false;
      this.now();
    };
    requestAnimationFrame(go);
    setTimeout(go, 100); // hidden tabs have no frames
  }

  now(): void {
    const number = ++this.run;
    this.drawing++;
    void this.draw(() => number === this.run).finally(() => this.drawing--);
  }

  stop(): void {
    this.queued = false;
    this.run++;
  }
}
