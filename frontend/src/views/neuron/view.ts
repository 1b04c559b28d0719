// The neuron view: one head, one query, and every step from vectors to weights.

import { amount, stackName } from "../../core/words/labels";
import { el, on } from "../../controls/dom";
import { headNumber } from "../../core/input/contract";
import { axes, axis as axisFor, matches, unitIndex, type Axis } from "../../core/reading/axes";
import { stepped } from "../../core/reading/find";
import { renormalise } from "../../core/reading/filters";
import { keyHeadOf, largest, output, product, sum } from "../../core/reading/neuron";
import { drawnOf, drawnTitle } from "../../core/reading/quantity";
import { headName } from "../../generated/heads";
import { visible } from "../../core/words/tokens";
import { paint } from "../../marks/painters/canvas";
import type { Scene } from "../../marks/scene";
import type { Stage, ViewInstance } from "../../registry";
import { widestToken } from "../head/scene-lines";
import { isCoarse } from "../pointer";
import { TokenOptions } from "../options";
import { neuronLayout, keyAt, rowTop } from "./layout";
import { OpeningQuery } from "./opening-query";
import { neuronScene, type NeuronInput } from "./scene";
import { Sentence } from "./sentence";
import { struckKeys, switchedKey } from "./switch-off";

export function neuronView(stage: Stage): ViewInstance {
  const canvas = el("canvas", { class: "plot points", role: "img", "aria-label": stage.labels.drawing });
  const options = new TokenOptions(stage.labels.keys, {
    move: (index) => reach(index),
    choose: (index) => toggle(index),
    leave: () => hover(-1),
  });
  const spacer = el("div", {}, options.element, canvas);
  const scroll = el("div", { class: "scroll" }, spacer);
  const sentence = new Sentence(stage.labels.query, (query) => stage.set({ query }));
  const message = el("div", { class: "message", role: "status", hidden: true });
  const missing = el("p", { class: "missing", hidden: true });
  stage.element.append(sentence.element, scroll, missing, message);
  const opening = new OpeningQuery(stage);
  let input: NeuronInput | null = null;
  let queries: Axis | null = null; // those that the reading controls leave in
  let current: Scene | null = null;
  let match = { find: "", at: -1 };

  const say = (text: string) => {
    message.textContent = text;
    message.hidden = text === "";
    scroll.hidden = text !== "";
  };

  const render = () => {
    if (!input) return;
    input.scroll = scroll.scrollTop;
    current = neuronScene(input);
    current.items.push(...struckKeys(stage, input));
    paint(canvas, current);
    const { layout, opened, scroll: top } = input;
    const shown = input.rows.map((_, i) => rowTop(layout, i, opened, top));
    const seen = shown.map((y, i) => (y + layout.row > layout.top && y < layout.height ? i : -1)).filter((i) => i >= 0);
    options.update(
      input.axis,
      [seen[0] ?? 0, seen[seen.length - 1] ?? -1],
      (i) => ({ x: 12, y: shown[i], w: layout.token - 12, h: layout.row }),
      new Set(opened >= 0 ? [opened] : []),
    );
  };

  /** All numbers of the chosen head and query, for the keys left in. */
  const read = async (): Promise<NeuronInput | null> => {
    const state = stage.state();
    const stack = stage.spec.stacks[state.stack];
    const layer = stack.layers[state.layer];
    if (!layer.queries || !layer.keys) return null;
    const [head] = state.heads;
    const get = (name: string) => stage.reader.arrays.get(name);
    const [weightsAll, queriesAll, keysAll, valuesAll, biasAll, maskAll] = await Promise.all([
      get(layer.weights),
      get(layer.queries),
      get(layer.keys),
      layer.values ? get(layer.values) : null,
      layer.bias ? get(layer.bias) : null,
      layer.mask ? get(layer.mask) : null,
    ]);
    const [queryText, keyText] = [stage.spec.texts[stack.query_text], stage.spec.texts[stack.key_text]];
    const nKeys = keyText.tokens.length;
    const dims = queriesAll.shape[2];
    const vector = queriesAll.block(head).subarray(state.query * dims, (state.query + 1) * dims);
    const keyBlock = keysAll.block(keyHeadOf(head, layer.n_heads, layer.n_key_heads)); // [key, dim]
    const keyVector = (j: number) => keyBlock.subarray(j * dims, (j + 1) * dims);
    let weights = weightsAll.block(head).subarray(state.query * nKeys, (state.query + 1) * nKeys);
    const bias = biasAll?.block(head).subarray(state.query * nKeys, (state.query + 1) * nKeys) ?? null;
    const scale = layer.scale ?? 1;
    const scores = Float32Array.from({ length: nKeys }, (_, j) => scale * sum(product(vector, keyVector(j))));
    const allowed = maskAll?.block(state.query) ?? null; // [key]
    const sink = state.hide_sink ? await stage.reader.sink(state.stack, state.layer) : null;
    const kept = axes(stage.spec, { ...state, level: "token" }, sink).cols.units;
    if (state.renormalise) {
      const scaled = renormalise(
        Float32Array.from(kept, (j) => weights[j]),
        kept.length || 1,
      );
      weights = weights.slice().fill(0);
      kept.forEach((j, at) => (weights[j] = scaled[at]));
    }
    const left = new Set(kept);
    const axis = axisFor(
      keyText,
      "token",
      (group) => left.has(group[0]) && (state.threshold === 0 || weights[group[0]] >= state.threshold),
    );
    const keys = axis.units.map(keyVector);
    const valueDims = valuesAll?.shape[2] ?? 0;
    const valueBlock = valuesAll?.block(keyHeadOf(head, layer.n_heads, valuesAll.shape[0])) ?? null; // [key, dim]
    const quantity = drawnOf(stage.spec, state);
    const drawnAll = state.drawn ? await stage.reader.weights(state.stack, state.layer, state.drawn) : null;
    const drawnRow = drawnAll?.block(Math.min(head, drawnAll.shape[0] - 1)).subarray(state.query * nKeys, (state.query + 1) * nKeys);
    const rows = axis.units.map((j) => ({
      key: j,
      score: scores[j],
      bias: bias ? bias[j] : null,
      weight: weights[j],
      drawn: drawnRow?.[j] ?? null,
      masked: allowed !== null && !allowed[j],
      contribution: valueBlock?.subarray(j * valueDims, (j + 1) * valueDims).map((value) => weights[j] * value) ?? null,
    }));
    const total = output(rows);
    const opened = state.expanded === null ? -1 : unitIndex(axis, state.expanded);
    const finite = (values: Float32Array | null) => (values ? values.filter((value) => value > -1e4) : new Float32Array());
    const window = Math.max(360, Math.min(820, innerHeight * 0.72));
    return {
      layout: neuronLayout({
        width: stage.element.clientWidth,
        window,
        keys: rows.length,
        dims,
        widest: widestToken(axis),
        bias: bias !== null,
        values: valueDims,
        expanded: opened >= 0,
        coarse: isCoarse(),
      }),
      theme: stage.theme(),
      labels: stage.labels,
      state,
      axis,
      rows,
      query: { label: queryText.tokens[state.query], special: queryText.special[state.query], vector },
      keys,
      scale,
      quantity,
      output: total,
      partial: state.renormalise || rows.length < nKeys,
      most: {
        vector: largest(vector, ...keys),
        product: largest(...keys.map((key) => product(vector, key))),
        score: largest(finite(scores), finite(bias)),
        weight: state.rescale ? largest(Float32Array.from(rows, (row) => row.weight)) : 1,
        drawn: largest(Float32Array.from(rows, (row) => row.drawn ?? 0)),
        contribution: largest(total ?? new Float32Array(), ...rows.map((row) => row.contribution ?? new Float32Array())),
      },
      opened,
      hovered: -1,
      scroll: 0,
    };
  };

  const keyUnder = (event: MouseEvent): number => {
    if (!input) return -1;
    return keyAt(input.layout, event.clientY - canvas.getBoundingClientRect().top, input.opened, input.scroll, input.rows.length);
  };
  const hover = (to: number) => {
    if (!input || input.hovered === to) return;
    input.hovered = to;
    render();
  };
  const toggle = (at: number) => {
    if (!input || at < 0) return;
    const { key } = input.rows[at];
    stage.set({ expanded: stage.state().expanded === key ? null : key });
  };
  /** Keyboard: brings the key into the window and says its numbers. */
  const reach = (at: number) => {
    if (!input?.rows[at]) return;
    const { layout, rows, axis, opened } = input;
    const top = rowTop(layout, at, opened, 0) - layout.top;
    const room = layout.height - layout.top - layout.row;
    if (top < scroll.scrollTop) scroll.scrollTop = top;
    else if (top > scroll.scrollTop + room) scroll.scrollTop = top - room;
    input.hovered = at;
    render();
    const weight = rows[at].masked ? stage.labels.masked : `${stage.labels.weight} ${rows[at].weight.toFixed(3)}`;
    stage.announce(`${visible(axis.labels[at])}. ${stage.labels.score} ${rows[at].score.toFixed(2)}, ${weight}`);
  };
  on(scroll, "scroll", render, { passive: true });
  on(canvas, "pointermove", (event) => hover(keyUnder(event)));
  on(canvas, "pointerleave", () => hover(-1));
  on(canvas, "click", (event) => toggle(keyUnder(event)));
  on(canvas, "contextmenu", (event) => {
    const row = input?.rows[keyUnder(event)];
    if (row && switchedKey(stage, row.key)) event.preventDefault();
  });

  return {
    async draw(live) {
      await opening.choose(live);
      if (!live()) return;
      const next = await read();
      if (!live()) return;
      const state = stage.state();
      const text = stage.spec.texts[stage.spec.stacks[state.stack].query_text];
      queries = axes(stage.spec, { ...state, level: "token" }, null).rows;
      sentence.update(
        text,
        state.query,
        new Set(queries.units),
        matches(
          axisFor(text, "token", () => true),
          state.find,
        ),
      );
      input = next;
      say(!next ? stage.labels.empty_neuron : next.rows.length && queries.units.length ? "" : stage.labels.empty_tokens);
      const why = stage.spec.stacks[state.stack].why_no_values;
      missing.hidden = !next || next.output !== null || why === undefined;
      missing.textContent = missing.hidden ? "" : stage.labels[why === "not_given" ? "values_not_given" : "values_not_kept"];
      if (!next) return;
      scroll.style.height = `${next.layout.height}px`;
      spacer.style.cssText = `height:${next.layout.full}px;width:${next.layout.width}px`;
      render();
    },
    scene: () => current,
    summary() {
      const expanded =
        input && input.opened >= 0
          ? [...product(input.query.vector, input.keys[input.opened])].map((value, d) => ({
              q: input!.query.vector[d],
              k: input!.keys[input!.opened][d],
              product: value,
            }))
          : [];
      return {
        kind: "neuron",
        queries: queries?.labels ?? [],
        keys_shown:
          input?.rows.map((row, i) => ({ ...row, token: input!.axis.labels[i], contribution: [...(row.contribution ?? [])] })) ?? [],
        output: [...(input?.output ?? [])],
        expanded,
      };
    },
    title: () => drawnTitle(stage.spec, stage.state(), stage.labels, stage.labels.neuron_title),
    caption() {
      const state = stage.state();
      const stack = stage.spec.stacks[state.stack];
      const layer = stack.layers[state.layer];
      const grouped =
        layer.n_key_heads < layer.n_heads
          ? ` · ${stage.labels.key_head
              .replace("{n}", String(keyHeadOf(state.heads[0], layer.n_heads, layer.n_key_heads)))
              .replace("{of}", String(layer.n_key_heads))}`
          : "";
      const name = stage.spec.stacks.length > 1 ? `${stackName(stage.labels, stack.name)} · ` : "";
      const size = amount(stage.labels, "tokens", stage.spec.texts[stack.key_text].tokens.length);
      return `${stage.spec.model} · ${name}${headName(layer.layer, headNumber(layer, state.heads[0]))}${grouped} · ${size}`;
    },
    find(by) {
      if (!input) return;
      const { find } = stage.state();
      const list = matches(input.axis, find).flatMap((yes, index) => (yes ? [index] : []));
      if (!list.length) return;
      match = { find, at: stepped(match.find === find ? match.at : -1, by, list.length) };
      reach(list[match.at]);
    },
    destroy() {
      sentence.element.remove();
      scroll.remove();
      missing.remove();
      message.remove();
    },
  };
}
