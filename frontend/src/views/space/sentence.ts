// The attention of one sentence in one head, beside the points: the head view itself, fed from the space.

import { amount } from "../../core/words/labels";
import { el, on } from "../../controls/dom";
import type { Source } from "../../core/input/arrays";
import type { Spec, State } from "../../core/input/contract";
import { Reader } from "../../core/reading/reading";
import type { SpaceData } from "../../core/reading/space";
import { change, completeState } from "../../core/state/state";
import type { Stage, Summary, ViewInstance } from "../../registry";
import { headView } from "../head/view";

export class SentencePart {
  readonly element = el("div", { class: "beside" });
  private heading = el("div", { class: "beside-top" });
  private slot = el("div", { class: "stage" });
  private inner: ViewInstance | null = null;
  private key = "";
  private spec: Spec | null = null;
  private state: State | null = null;
  private seen = "";
  private brought: number | undefined;
  height = 480;

  constructor(
    private stage: Stage,
    private data: SpaceData,
    private same: boolean,
  ) {
    this.element.append(this.heading, this.slot);
  }

  async draw(current: () => boolean): Promise<void> {
    const outer = this.stage.state();
    const { text } = outer;
    this.element.hidden = text === null;
    if (text === null) return this.clear();
    const [layer, head] = [outer.layer, outer.heads[0]];
    const key = [layer, head, text].join();
    if (key !== this.key || !this.inner) {
      const { weights, whole } = await this.data.map(layer, head, text);
      if (!current()) return;
      this.open(weights, layer, head, text);
      this.title(text, whole);
      this.key = key;
    }
    this.follow(outer);
    const seen = JSON.stringify([this.key, this.state, this.slot.clientWidth, this.height, this.stage.theme().dark]);
    if (seen === this.seen) return; // the points moved, the sentence did not
    await this.inner!.draw(current);
    if (!current()) return;
    this.seen = seen;
    this.bring();
  }

  /** The token held is brought into sight, once for each. */
  private bring(): void {
    const scroll = this.slot.querySelector(".scroll");
    const [token] = this.state!.locked;
    const n = this.spec!.texts[0].tokens.length;
    if (token === this.brought || token === undefined || !scroll) return;
    this.brought = token;
    const top = (token / n) * scroll.scrollHeight;
    if (top < scroll.scrollTop || top > scroll.scrollTop + scroll.clientHeight - 60) scroll.scrollTop = top - scroll.clientHeight / 3;
  }

  private open(weights: Float32Array, layer: number, head: number, text: number): void {
    this.clear();
    const { data } = this;
    const [queries, keys] = [data.queries.texts[text], data.keys.texts[text]];
    const number = data.stack.heads[head];
    const same = queries === keys;
    this.spec = {
      format: 1,
      kind: "head",
      model: data.space.model,
      texts: same ? [queries] : [queries, keys],
      stacks: [
        {
          name: data.stack.name,
          query_text: 0,
          key_text: same ? 0 : 1,
          layers: [{ layer: data.layer(layer).layer, n_heads: number + 1, n_key_heads: number + 1, weights: "map" }],
        },
      ],
    };
    const shape = [number + 1, queries.tokens.length, keys.tokens.length];
    const source: Source = { get: async () => ({ shape, byteLength: weights.byteLength, block: () => weights.slice() }) };
    const spec = this.spec;
    this.state = completeState(spec, { heads: [number] });
    this.inner = headView({
      ...this.stage,
      spec,
      reader: new Reader(spec, source),
      element: this.slot,
      given: {},
      state: () => this.state!,
      set: (patch) => this.set(patch),
      room: () => this.height - this.heading.offsetHeight,
    });
  }

  /** The point chosen outside is the token held here, and its side says the direction. */
  private follow(outer: State): void {
    const { data } = this;
    const { point, text } = outer;
    if (!this.spec || !this.state) return;
    const patch: Partial<State> = { find: outer.find, theme: outer.theme, locked: [] };
    if (this.same && point !== null && data.textOf(point) === text) {
      patch.direction = data.isKey(point) && !data.values ? "to" : "from";
      patch.locked = [data.sideOf(point).position[data.own(point)]];
    }
    this.state = change(this.spec, { ...this.state, locked: [] }, patch);
  }

  /** A token held here is the point chosen outside. */
  private set(patch: Partial<State>): void {
    const { data, stage } = this;
    const next = change(this.spec!, this.state!, patch);
    const text = stage.state().text;
    this.state = next;
    if (patch.locked === undefined || text === null || !this.same) return stage.redraw();
    const held = next.locked[next.locked.length - 1];
    if (held === undefined) return stage.set({ point: null });
    const point =
      next.direction === "from" ? data.queryPoint(data.queries.starts[text] + held) : data.keyPoint(data.keys.starts[text] + held);
    stage.set({ point: point >= 0 ? point : null });
  }

  private title(text: number, whole: boolean): void {
    const { labels } = this.stage;
    const close = el(
      "button",
      { type: "button", class: "close", "data-name": "close_text", "aria-label": labels.close, title: labels.close },
      "×",
    );
    on(close, "click", () => this.stage.set({ text: null, point: null }));
    const n = this.data.queries.texts[text].tokens.length;
    this.heading.replaceChildren(
      el(
        "span",
        {},
        el("strong", {}, `${labels.text} ${text}`),
        ` · ${amount(labels, "tokens", n)}`,
        whole ? "" : ` · ${labels.strongest_only}`,
      ),
      close,
    );
  }

  private clear(): void {
    this.inner?.destroy();
    this.inner = null;
    this.key = "";
    this.seen = "";
    this.brought = undefined;
    this.slot.replaceChildren();
  }

  summary(): Summary | null {
    return this.inner?.summary() ?? null;
  }

  destroy(): void {
    this.clear();
    this.element.remove();
  }
}
