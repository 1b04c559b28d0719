// The frame around a view: title, controls, drawing, note. One per element; any number per page.

import { pictureControls, toolbar, type Toolbar, type ToolbarHost } from "./controls/toolbar";
import { type AnswerControl, answerControl } from "./controls/answer";
import { el } from "./controls/dom";
import { folded } from "./controls/folded";
import { note, type Note } from "./controls/note";
import { Arrays } from "./core/input/arrays";
import { problem } from "./core/input/check";
import type { Kind, State, View } from "./core/input/contract";
import { captionOf } from "./core/words/caption";
import { keyChange } from "./core/state/keyboard";
import { labelsWith, type Labels } from "./core/words/labels";
import { drawnNote } from "./core/reading/quantity";
import { Reader } from "./core/reading/reading";
import { Redraw } from "./core/schedule";
import { change, completeState, shownKind } from "./core/state/state";
import { themeOf, watchTheme } from "./core/theme";
import { partLegend } from "./core/reading/axes";
import { type Format, savePicture, svgElement } from "./marks/painters/picture";
import { framed, type Scene } from "./marks/scene";
import type { Handle, Inspectable, MountOptions } from "./mount-types";
import { type Mounted, refuse } from "./refuse";
import { type Stage, type ViewInstance, viewKind } from "./registry";
import { CSS } from "./style";

export type { Handle, Inspectable, MountOptions } from "./mount-types";

export function mount(element: HTMLElement, view: View, options: MountOptions = {}): Handle {
  let frame = open(element, view, options);
  return {
    update(next) {
      if (!("spec" in next)) return frame.accept(next as Partial<State>);
      frame.destroy();
      frame = open(element, next as View, options);
    },
    destroy: () => frame.destroy(),
  };
}

function open(element: HTMLElement, view: View, options: MountOptions): Mounted {
  const reason = problem(view.spec);
  return reason === null ? new Frame(element, view, options) : refuse(element, reason, labelsWith(options.labels));
}

const NARROW = 560; // px
const RETRIES = 5;
const RETRY_AFTER = 100; // ms

class Frame {
  private host = el("div", { "data-lm-suppress-shortcuts": "true" }); // JupyterLab would take the arrow keys
  private box = el("div", { class: "view", tabindex: "-1" });
  private heading = el("h2", { class: "title" });
  private slot = el("div", { class: "slot" });
  private stageElement = el("div", { class: "stage" });
  private printed = el("div", { class: "printed" });
  private live = el("div", { class: "sr", "aria-live": "polite" });
  private labels: Labels;
  private state: State;
  private reader: Reader;
  private redraw: Redraw;
  private bar!: Toolbar;
  private corner!: Toolbar;
  private note!: Note;
  private answer: AnswerControl | null = null;
  private instance!: ViewInstance;
  private shown: Kind | null = null;
  private watch: ResizeObserver;
  private drawnWidth = 0;
  private retries = RETRIES;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private stopWatchingTheme: () => void;
  private markReady!: () => void;

  constructor(
    private element: HTMLElement,
    private view: View,
    private options: MountOptions,
  ) {
    this.labels = labelsWith(options.labels);
    this.state = completeState(view.spec, { ...view.spec.state, ...view.state });
    this.reader = new Reader(view.spec, new Arrays(view.arrays, view.later));
    this.redraw = new Redraw((current) => this.draw(current));
    this.build();
    const ready = new Promise<void>((resolve) => (this.markReady = resolve));
    const inspect: Inspectable = {
      state: () => structuredClone(this.state),
      scene: () => this.instance.summary(),
      upToDate: () => this.redraw.upToDate,
      ready,
    };
    (element as HTMLElement & { eyeline?: Inspectable }).eyeline = inspect;
    this.watch = new ResizeObserver(([entry]) => {
      const { width } = entry.contentRect;
      if (width > 0 && Math.abs(width - this.drawnWidth) >= 1) this.redraw.request();
    });
    this.watch.observe(this.host);
    this.stopWatchingTheme = watchTheme(this.onTheme);
    addEventListener("beforeprint", this.onBeforePrint);
    addEventListener("afterprint", this.onAfterPrint);
    if (options.wholePage) {
      document.addEventListener("keydown", this.onPageKey);
      addEventListener("resize", this.onResize); // the width is watched already; here the height counts too
    }
    this.redraw.now();
  }

  private build(): void {
    const root = this.host.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(CSS);
    root.adoptedStyleSheets = [sheet];
    this.note = note(this.labels);
    this.corner = pictureControls(this.toolbarHost);
    this.answer = answerControl({
      ...this.toolbarHost,
      answers: this.options.answers === true,
      element: this.element,
      announce: this.say,
    });
    this.box.append(
      el("div", { class: "top" }, this.heading, this.corner.element),
      ...(this.view.spec.notices ?? []).map((notice) => el("p", { class: "notice", role: "note" }, notice)),
      ...(this.answer ? [this.answer.element] : []),
      this.slot,
      this.stageElement,
      ...(this.view.spec.tables ?? []).map(folded),
      this.note.line,
      this.printed,
      this.live,
      this.note.dialog,
    );
    this.box.toggleAttribute("data-bare", this.options.bare === true);
    this.box.addEventListener("keydown", this.onKey);
    root.append(this.box);
    this.element.append(this.host);
    this.element.removeAttribute("data-drawn");
    this.element.removeAttribute("data-failed");
  }

  private say = (text: string): void => {
    this.live.textContent = text;
  };

  private set = (patch: Partial<State>): void => {
    const next = change(this.view.spec, this.state, patch);
    if (JSON.stringify(next) === JSON.stringify(this.state)) return;
    this.state = next;
    this.options.onState?.(structuredClone(next));
    this.redraw.request();
  };

  /** A state from the host: taken over silently. */
  accept(patch: Partial<State>): void {
    const next = change(this.view.spec, this.state, patch);
    if (JSON.stringify(next) === JSON.stringify(this.state)) return;
    this.state = next;
    this.redraw.request();
  }

  private get toolbarHost(): ToolbarHost {
    return {
      spec: this.view.spec,
      labels: this.labels,
      state: () => this.state,
      set: this.set,
      save: (format) => void this.save(format),
      find: (by) => this.instance.find?.(by),
      switchOff: this.answer?.switchOff ?? null,
    };
  }

  private show(kind: Kind): void {
    if (this.shown === kind) return;
    this.instance?.destroy();
    this.stageElement.replaceChildren();
    const view = viewKind(kind);
    const stage: Stage = {
      spec: this.view.spec,
      reader: this.reader,
      labels: this.labels,
      element: this.stageElement,
      given: { ...this.view.spec.state, ...this.view.state },
      state: () => this.state,
      set: this.set,
      theme: () => themeOf(this.state.theme),
      room: (from) => this.room(from),
      redraw: () => this.redraw.request(),
      announce: this.say,
      switchOff: this.answer?.switchOff ?? null,
    };
    this.instance = view.create(stage);
    this.bar = view.toolbar?.(this.toolbarHost) ?? toolbar(this.toolbarHost, kind, this.view.kind);
    this.slot.replaceChildren(this.bar.element);
    this.note.help(
      {
        head: this.labels.keyboard_help,
        model: this.labels.keyboard_help_model + (this.answer?.switchOff ? ` · ${this.labels.keyboard_off}` : ""),
        neuron: this.labels.keyboard_help_neuron,
        space: this.labels.keyboard_help_space,
        sentence: this.labels.keyboard_help_sentence,
        generation: this.labels.keyboard_help_generation,
        text: this.labels.keyboard_help_text,
      }[kind],
    );
    this.shown = kind;
  }

  /** Controls above the picture; where there is no room beside each other, some views begin with the picture. */
  private order(): void {
    const first = viewKind(this.shown!).pictureFirst === true && this.host.clientWidth < NARROW;
    if (first === (this.stageElement.nextElementSibling === this.slot)) return;
    if (first) this.stageElement.after(this.slot, ...(this.answer ? [this.answer.element] : []));
    else this.stageElement.before(...(this.answer ? [this.answer.element] : []), this.slot);
  }

  private room(from: HTMLElement): number | null {
    if (!this.options.wholePage) return null;
    const { top } = from.getBoundingClientRect();
    const line = this.note.line.getBoundingClientRect();
    const below = line.bottom - this.stageElement.getBoundingClientRect().bottom + parseFloat(getComputedStyle(this.box).paddingBottom);
    const body = getComputedStyle(document.body);
    return innerHeight - (top + scrollY) - below - parseFloat(body.paddingBottom) - parseFloat(body.marginBottom);
  }

  /** A hidden view is not drawn: its width is 0. It is tried again a few times, since a notebook hides a view while its theme changes. */
  private isHidden(): boolean {
    const { width } = this.element.getBoundingClientRect(); // the host itself is never narrower than its smallest width
    this.drawnWidth = width > 0 ? this.host.clientWidth : 0;
    if (this.drawnWidth > 0) {
      this.retries = RETRIES;
      return false;
    }
    if (this.retries-- > 0) this.retry = setTimeout(() => this.redraw.request(), RETRY_AFTER);
    return true;
  }

  private async draw(current: () => boolean): Promise<void> {
    try {
      this.show(shownKind(this.view.kind, this.state));
      this.box.dataset.theme = themeOf(this.state.theme).dark ? "dark" : "light";
      this.bar.sync(this.state);
      this.corner.sync(this.state);
      this.answer?.sync(this.state);
      this.titles();
      this.order();
      if (this.isHidden()) return; // after the controls: one layout for all of them
      await this.instance.draw(current);
      if (!current()) return;
      this.titles();
      this.element.setAttribute("data-drawn", "");
      performance.mark("eyeline:drawn");
      this.element.dispatchEvent(new CustomEvent("eyeline:drawn", { bubbles: true }));
      this.markReady();
    } catch (error) {
      if (!current()) return;
      console.error(error);
      this.fail(error);
    }
  }

  private titles(): void {
    this.heading.replaceChildren(this.instance.title(), el("span", { class: "caption" }, this.instance.caption()));
    this.note.about(drawnNote(this.view.spec, this.state, this.labels));
  }

  private fail(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    this.stageElement.replaceChildren(el("div", { class: "message", role: "alert" }, el("strong", {}, this.labels.failed), reason));
    this.shown = null;
    this.element.setAttribute("data-failed", reason);
    this.markReady();
  }

  /** What is drawn, as a figure of its own; null where nothing is. */
  private picture(): Scene | null {
    const scene = this.shown && this.instance.scene();
    if (!scene) return null;
    const caption = [this.instance.caption(), captionOf(this.view.spec, this.state, this.view.kind, this.labels)].filter(Boolean);
    const { dark } = themeOf(this.state.theme);
    const [title, legend] = [
      this.instance.title(),
      [...(this.instance.legend?.() ?? []), ...partLegend(this.view.spec, this.state, dark)],
    ];
    return framed(scene, { title, legend, caption, theme: themeOf(this.state.theme) });
  }

  private async save(format: Format): Promise<void> {
    const picture = this.picture();
    if (picture) await savePicture(picture, format, `${this.view.spec.model || "eyeline"}-${this.shown}`);
  }

  /** On paper the picture stands alone (style.css), as lines and letters: the canvas has only as many pixels as the screen. */
  private onBeforePrint = (): void => {
    const picture = this.picture();
    if (picture) this.printed.replaceChildren(svgElement(picture));
  };

  private onAfterPrint = (): void => this.printed.replaceChildren();

  private onTheme = (): void => {
    if (this.state.theme === "system") this.redraw.request();
  };

  private onKey = (event: KeyboardEvent): void => {
    if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || this.note.dialog.open) return;
    const target = event.composedPath()[0] as HTMLElement;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) && event.key !== "Escape") return;
    const used = this.instance.key?.(event);
    const patch = used ? null : keyChange(event.key, this.view.kind, this.view.spec, this.state);
    if (!used && !patch) return;
    event.preventDefault();
    event.stopPropagation();
    if (patch) this.set(patch);
  };

  private onResize = (): void => this.redraw.request();

  private onPageKey = (event: KeyboardEvent): void => {
    if (event.target === document.body || event.target === document.documentElement) this.onKey(event);
  };

  destroy(): void {
    this.redraw.stop();
    clearTimeout(this.retry);
    this.watch.disconnect();
    this.stopWatchingTheme();
    document.removeEventListener("keydown", this.onPageKey);
    removeEventListener("resize", this.onResize);
    removeEventListener("beforeprint", this.onBeforePrint);
    removeEventListener("afterprint", this.onAfterPrint);
    this.answer?.destroy();
    this.instance?.destroy();
    this.host.remove();
    delete (this.element as HTMLElement & { eyeline?: Inspectable }).eyeline;
  }
}
