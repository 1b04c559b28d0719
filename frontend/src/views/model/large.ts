// A thumbnail, grown: the same head at reading size, beside the one under the pointer.

import { el } from "../../controls/dom";
import type { State } from "../../core/contract";
import { maximum } from "../../core/filters";
import { headName } from "../../core/reading";
import { visible } from "../../core/tokens";
import { paint } from "../../marks/canvas";
import { thumbnailItem, thumbnailOf } from "../../marks/thumbnail";
import type { Stage } from "../../registry";

const SIZE = 224;

export class Large {
  readonly element = el("div", { class: "large", hidden: true });
  private canvas = el("canvas");
  private words = el("div");
  private asked = 0;

  constructor(private stage: Stage) {
    this.element.append(this.words, this.canvas);
  }

  async show(state: State, row: number, head: number, colour: string, box: { x: number; y: number; size: number; width: number; height: number }): Promise<void> {
    const mine = ++this.asked;
    const { reader, spec, labels } = this.stage;
    const { rows, cols } = await reader.sides({ ...state, layer: row });
    const weights = await reader.map({ ...state, layer: row }, row, head, rows, cols);
    if (mine !== this.asked) return;
    const theme = this.stage.theme();
    const max = maximum(weights);
    const thumb = thumbnailOf(weights, cols.labels.length, max, state.as === "heatmap" ? SIZE : 96);
    const item = thumbnailItem(thumb, { rescale: state.rescale, threshold: state.threshold, colour, theme, as: state.as }, 0, 0, SIZE, SIZE);
    paint(this.canvas, { width: SIZE, height: SIZE, background: theme.ground, items: [item] });
    const best = weights.indexOf(max);
    const [r, c] = [Math.floor(best / Math.max(1, cols.labels.length)), best % Math.max(1, cols.labels.length)];
    const name = el("strong", {}, headName(spec.stacks[state.stack].layers[row].layer, head));
    this.words.replaceChildren(name, ` ${labels.max.toLowerCase()} ${max.toFixed(3)} `, el("bdi", {}, visible(rows.labels[r] ?? "")), " → ", el("bdi", {}, visible(cols.labels[c] ?? "")));
    this.element.hidden = false;
    this.element.style.width = `${SIZE + 18}px`;
    const right = box.x + box.size + 12;
    const left = right + SIZE + 20 <= box.width ? right : box.x - SIZE - 32;
    this.element.style.left = `${Math.max(0, Math.min(left, box.width - SIZE - 20))}px`;
    this.element.style.top = `${Math.max(0, Math.min(box.y + box.size / 2 - SIZE / 2 - 16, Math.max(0, box.height - SIZE - 44)))}px`;
  }

  hide(): void {
    this.asked++;
    this.element.hidden = true;
  }
}
