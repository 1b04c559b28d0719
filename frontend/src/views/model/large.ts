// A thumbnail, grown: the same head at reading size, beside the one under the pointer.

import { el } from "../../controls/dom";
import { headNumber, type LayerSpec, type State } from "../../core/input/contract";
import { maximum } from "../../core/reading/filters";
import { counted } from "../../core/words/labels";
import { withoutHead } from "../../core/reading/prediction";
import { drawnOf, shownNumber } from "../../core/reading/quantity";
import { headName } from "../../generated/heads";
import { visible } from "../../core/words/tokens";
import { paint } from "../../marks/painters/canvas";
import { thumbnailItem, thumbnailOf, type Thumbnail } from "../../marks/thumbnail";
import type { Stage } from "../../registry";

const nameOf = (layer: LayerSpec, head: number): string => headName(layer.layer, headNumber(layer, head));

const SIZE = 224;
const REST = 60; // ms

export class Large {
  readonly element = el("div", { class: "large", hidden: true });
  private canvas = el("canvas");
  private words = el("div");
  private lastRequest = 0;

  constructor(private stage: Stage) {
    this.element.append(this.words, this.canvas);
  }

  /** At once from the thumbnail that is there already; in full, with the largest weight, when the pointer rests. */
  async show(
    state: State,
    row: number,
    head: number,
    colour: string,
    box: { x: number; y: number; size: number; width: number; height: number },
    thumb?: Thumbnail,
  ): Promise<void> {
    const request = ++this.lastRequest;
    const { reader, spec, labels } = this.stage;
    const name = nameOf(spec.stacks[state.stack].layers[row], head);
    if (thumb) {
      this.paint(thumb, state, colour);
      this.words.replaceChildren(el("strong", {}, name));
      this.moveTo(box);
      await new Promise((resolve) => setTimeout(resolve, REST));
      if (request !== this.lastRequest) return;
    }
    const { rows, cols } = await reader.sides({ ...state, layer: row });
    const weights = await reader.map({ ...state, layer: row }, row, head, rows, cols);
    if (request !== this.lastRequest) return;
    const width = Math.max(1, cols.labels.length);
    const max = maximum(weights);
    this.paint(thumbnailOf(weights, width, state.as === "heatmap" ? SIZE : 96), state, colour);
    const best = weights.findIndex((weight) => Math.abs(weight) === max);
    const token = (text: string | undefined) => el("bdi", {}, visible(text ?? ""));
    this.words.replaceChildren(
      el("strong", {}, name),
      ` ${labels.max.toLowerCase()} ${shownNumber(weights[best] ?? 0, drawnOf(spec, state).largest)} `,
      token(rows.labels[Math.floor(best / width)]),
      " → ",
      token(cols.labels[best % width]),
      ...this.effect(state, row, head),
    );
    this.moveTo(box);
  }

  /** What the answer becomes without this head, where that was computed. */
  private effect(state: State, row: number, head: number): HTMLElement[] {
    const { spec, labels } = this.stage;
    const without = withoutHead(spec, state.stack, row, head);
    if (without === null || !drawnOf(spec, state).by_head) return [];
    const name = nameOf(spec.stacks[state.stack].layers[row], head);
    return [el("div", { class: "effect" }, counted(labels.without, name), " ", without)];
  }

  private paint(thumb: Thumbnail, state: State, colour: string): void {
    const theme = this.stage.theme();
    const item = thumbnailItem(
      thumb,
      { rescale: state.rescale, threshold: state.threshold, colour, theme, as: state.as, signed: drawnOf(this.stage.spec, state).signed },
      0,
      0,
      SIZE,
      SIZE,
    );
    paint(this.canvas, { width: SIZE, height: SIZE, background: theme.ground, items: [item] });
  }

  private moveTo(box: { x: number; y: number; size: number; width: number; height: number }): void {
    this.element.hidden = false;
    this.element.style.width = `${SIZE + 18}px`;
    const right = box.x + box.size + 12;
    const left = right + SIZE + 20 <= box.width ? right : box.x - SIZE - 32;
    this.element.style.left = `${Math.max(0, Math.min(left, box.width - SIZE - 20))}px`;
    this.element.style.top = `${Math.max(0, Math.min(box.y + box.size / 2 - SIZE / 2 - 16, Math.max(0, box.height - SIZE - 44)))}px`;
  }

  hide(): void {
    this.lastRequest++;
    this.element.hidden = true;
  }
}
