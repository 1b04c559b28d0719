// The view of a generation: the conversation as text, lit where the chosen written token looked; below it the shares of the parts for each
// written token, and the heads that read a part. Pointer, keyboard and play move from token to token.

import { el, on } from "../../controls/dom";
import { headName } from "../../generated/heads";
import { visible } from "../../core/words/tokens";
import { paint } from "../../marks/painters/canvas";
import type { Scene } from "../../marks/scene";
import type { Stage, ViewInstance } from "../../registry";
import type { HeadGrid } from "../../core/input/contract";
import { amount } from "../../core/words/labels";
import { type CellAt, type CellsLayout, cellAt, nameOf, valueAt, valueText } from "../../marks/heads-grid";
import { asText, GenerationData, QUIET, type Row, runsOf } from "./data";
import { barAt, barsScene, gridLayout, gridScene, stacked, type TextRun, textItems } from "./scene";

const PLAY_STEP = 500; // ms a token is shown
const NAMED = 3; // how many of the strongest tokens are named in the sentence
const AROUND = 40; // tokens at either end of a part that a picture shows
const LABELLED = 0.02; // the least weight that is written at its token

export function generationView(stage: Stage): ViewInstance {
  const { labels, spec } = stage;
  const data = new GenerationData(spec, stage.reader.arrays);
  const { record } = data;
  const [text, keyText] = [spec.texts[0], spec.texts[record.keys]];
  const readsItself = record.keys === 0;
  const layers = spec.stacks[0].layers;

  const rows = el("div", { class: "gen-text" });
  const sentence = el("p", { class: "gen-sentence", role: "status" });
  const note = el("p", { class: "hint", hidden: true });
  const previous = el("button", { type: "button", class: "step", "data-name": "previous-token", "aria-label": labels.previous }, "◀");
  const next = el("button", { type: "button", class: "step", "data-name": "next-token", "aria-label": labels.next }, "▶");
  const play = el("button", { type: "button", class: "back", "data-name": "play" }, labels.play_written);
  const place = el("span", { class: "number" });
  const steps = el("div", { class: "bar", role: "group", "aria-label": labels.generation_title }, previous, next, play, place);
  const bars = el("canvas", { class: "plot points whole", role: "img", "aria-label": labels.shares_of_parts });
  const barsTip = el("p", { class: "hint" });
  const legend = el("div", { class: "gen-legend", role: "group", "aria-label": labels.shares_of_parts });
  const effectLine = el("p", { class: "hint", hidden: true });
  const gridTitle = el("h3", { class: "gen-heading" });
  const gridAxes = el("p", { class: "hint" });
  const grid = el("canvas", { class: "plot points whole", role: "img", tabindex: "-1" });
  const gridTip = el("p", { class: "hint" });
  const left = el("div", { class: "gen-left" }, steps, rows, sentence, note);
  const right = el(
    "div",
    { class: "gen-right" },
    el("h3", { class: "gen-heading" }, labels.shares_of_parts),
    bars,
    barsTip,
    legend,
    effectLine,
    gridTitle,
    gridAxes,
    grid,
    gridTip,
  );
  stage.element.append(el("div", { class: "gen" }, left, right));

  const keyTokens: HTMLElement[] = [];
  const writtenTokens: HTMLElement[] = [];
  let lit: HTMLElement[] = [];
  let chosenToken: HTMLElement | null = null;
  let shownRow: Row | null = null;
  let shownShares: Float32Array | null = null;
  let gridValues: number[][] | null = null;
  let hovered: number | null = null;
  let playing: ReturnType<typeof setInterval> | undefined;

  const written = () => hovered ?? stage.state().written;
  const partOf = (key: number) => record.part_of[key];
  const colourOf = (part: number) => record.colours[part][stage.theme().dark ? 1 : 0];
  const part = () => stage.state().part ?? record.part;
  const nameShown = (row: Row | null): string => {
    if (!row || row.layer === null) return labels.mean_of_heads;
    const { layer } = layers[row.layer];
    return row.head === null ? `${labels.layer} ${layer}` : headName(layer, row.head, "");
  };
  const choose = (t: number) => {
    hovered = null;
    stage.set({ written: Math.max(0, Math.min(data.n - 1, t)) });
  };

  // ---- The text: a row for each part, with the template's tokens small before it

  const token = (source: typeof text, position: number, quiet: boolean): HTMLElement => {
    const continues = position > 0 && source.tokens.some((each) => each.startsWith("##"));
    const shown = asText(source.tokens[position], continues);
    return el("span", { class: quiet ? "gen-token gen-quiet" : "gen-token" }, /^\s*$/.test(shown) ? shown || "∅" : visible(shown));
  };
  let line: HTMLElement | null = null;
  const newLine = (name: string, index: number): HTMLElement => {
    const label = el("button", { type: "button", class: "gen-part", "data-part": index }, name);
    if (index >= 0) on(label, "click", () => stage.set({ part: index }));
    line = el("span", { class: "gen-tokens" });
    rows.append(el("div", { class: "gen-row" }, label, line));
    return line;
  };
  for (const [index, first, last] of runsOf(record.part_of)) {
    const quiet = QUIET.includes(record.parts[index]);
    const into = quiet ? (line ?? newLine("", -1)) : newLine(record.shown_parts[index], index);
    for (let position = first; position < last; position++) {
      const span = token(keyText, position, quiet);
      keyTokens.push(span);
      if (readsItself && position >= record.n_prompt) writtenTokens.push(span);
      into.append(span);
    }
  }
  if (!readsItself) {
    const into = newLine(labels.part_written, -1);
    for (let position = record.n_prompt; position < text.tokens.length; position++) {
      const span = token(text, position, false);
      writtenTokens.push(span);
      into.append(span);
    }
  }
  writtenTokens.forEach((span, t) => {
    span.classList.add("gen-written");
    span.setAttribute("role", "button");
    span.setAttribute("data-written", String(t));
  });
  const writtenOf = (event: Event): number | null => {
    const found = (event.target as HTMLElement).closest?.("[data-written]");
    return found ? Number(found.getAttribute("data-written")) : null;
  };
  on(rows, "click", (event) => {
    const t = writtenOf(event);
    if (t !== null) choose(t);
  });
  on(rows, "pointerover", (event) => {
    if ((event as PointerEvent).pointerType !== "mouse") return;
    point(writtenOf(event));
  });
  on(rows, "pointerleave", () => point(null));

  function point(t: number | null): void {
    if (t === hovered) return;
    hovered = t;
    void show();
  }

  // ---- What lights up

  async function show(current: () => boolean = () => true): Promise<void> {
    const state = { ...stage.state(), written: written() };
    const row = await data.row(state);
    if (!current() || state.written !== written()) return;
    shownRow = row;
    for (const span of lit) {
      span.style.background = "";
      span.removeAttribute("data-weight");
      span.removeAttribute("title");
    }
    chosenToken?.removeAttribute("data-chosen");
    const muted = state.mute_sinks ? record.parts.indexOf("first position") : -1;
    const shown = row.keys
      .map((key, i) => ({ key, weight: row.weights[i] }))
      .filter(({ key, weight }) => weight > 0 && partOf(key) !== muted);
    const most = Math.max(1e-9, ...shown.map(({ weight }) => weight));
    const ink = stage.theme().key;
    const order = [...shown].sort((a, b) => b.weight - a.weight);
    lit = shown.map(({ key, weight }) => {
      const span = keyTokens[key];
      const strength = Math.sqrt(weight / most);
      if (strength > 0.08) span.style.background = `color-mix(in srgb, ${ink} ${Math.round(70 * strength)}%, transparent)`;
      span.title = `${weight.toFixed(3)} · ${record.shown_parts[partOf(key)]}`;
      return span;
    });
    for (const { key, weight } of order.slice(0, NAMED))
      if (weight >= LABELLED) keyTokens[key].setAttribute("data-weight", weight.toFixed(3));
    chosenToken = writtenTokens[state.written];
    chosenToken.setAttribute("data-chosen", "");
    writtenTokens.forEach((span, t) => span.classList.toggle("gen-later", t > state.written));
    say(state.written, row, order, muted);
  }

  function say(t: number, row: Row, order: { key: number; weight: number }[], muted: number): void {
    const token = visible(text.tokens[record.n_prompt + t].replace(/^[▁Ġ](?=.)/u, ""));
    const looks = order
      .slice(0, NAMED)
      .flatMap(({ key, weight }, i) => [
        i ? " · " : "",
        el("b", {}, visible(keyText.tokens[key].replace(/^[▁Ġ](?=.)/u, ""))),
        ` ${weight.toFixed(3)} (${record.shown_parts[partOf(key)]})`,
      ]);
    const hidden = row.keys.reduce((sum, key, i) => sum + (partOf(key) === muted ? row.weights[i] : 0), 0);
    const further = order.slice(NAMED).reduce((sum, { weight }) => sum + weight, 0);
    const rest = [labels.row_rest.replace("{rest}", (row.rest + further).toFixed(3))];
    if (muted >= 0 && hidden > 0)
      rest.push(labels.row_hidden.replace("{part}", record.shown_parts[muted]).replace("{share}", hidden.toFixed(3)));
    const [before, after] = labels.generation_when.replace("{name}", nameShown(row)).split("{token}");
    const others = record.alternatives[t].filter(([name]) => name.trim() !== token.trim()).slice(0, 4);
    const named = others.map(([name, p]) => `${visible(name.trim() || name)} ${p.toFixed(3)}`).join(", ");
    const first = t === 0 ? labels.first_row_note : "";
    sentence.replaceChildren(
      before,
      el("b", { class: "gen-word" }, token),
      `${after} `,
      ...looks,
      ` · ${rest.join(" · ")}. `,
      el(
        "span",
        { class: "caption" },
        `${labels.probability.replace("{p}", record.probabilities[t].toFixed(3))}; ${labels.instead}: ${named}. ${first}`,
      ),
    );
    place.textContent = labels.generation_position.replace("{n}", String(t + 1)).replace("{of}", String(data.n));
    const { shown, layer, heads } = stage.state();
    note.hidden = !(shown === "head" && row.head === null);
    if (!note.hidden) note.textContent = labels.no_row.replace("{layer}", String(layers[layer].layer)).replace("{head}", String(heads[0]));
  }

  // ---- Bars and grid

  const effectsShown = () => {
    const { effects } = record;
    const values = effects?.removed ?? effects?.cut;
    if (!effects || !values) return null;
    return {
      way: effects.removed ? labels.effect_removed : labels.effect_cut,
      colours: effects.parts.map((name) => colourOf(record.parts.indexOf(name))),
      values,
    };
  };

  const barsNow = (width: number): Scene =>
    barsScene({
      shares: shownShares!,
      n: data.n,
      colours: record.parts.map((_, i) => colourOf(i)),
      chosen: stage.state().written,
      effects: effectsShown(),
      tokens: text.tokens.slice(record.n_prompt).map((each) => visible(each.replace(/[▁Ġ]/gu, " "))),
      width,
      theme: stage.theme(),
    });

  const gridShown = (): HeadGrid => ({
    quantity: "share",
    title: labels.which_heads_read,
    scale: "share",
    colour: colourOf(part()),
    layers: layers.map(({ layer }) => layer),
    heads: layers.map(({ n_heads }) => n_heads),
    values: gridValues!,
  });

  const gridNow = (width: number): Scene => {
    const { shown, layer, heads } = stage.state();
    return gridScene(gridShown(), shown === "head" ? headName(layers[layer].layer, heads[0], "") : "", width, stage.theme());
  };

  /** How many layers and heads, the ones side by side first. */
  const axesOf = ({ turned, rows: nLayers, cols: nHeads }: CellsLayout): string => {
    const both = [amount(labels, "layers", nLayers), amount(labels, "heads", nHeads)];
    return `${both[turned ? 0 : 1]} → · ${both[turned ? 1 : 0]} ↓ · ${labels.darker_more}`;
  };

  const roomRight = () => Math.max(200, right.clientWidth);
  const sharesAt = (t: number): string =>
    record.shown_parts.map((name, i) => `${name} ${shownShares![t * data.nParts + i].toFixed(3)}`).join(" · ");
  on(bars, "pointermove", (event) => {
    const t = barAt(event.offsetX, bars.clientWidth, data.n);
    barsTip.textContent = `${visible(text.tokens[record.n_prompt + t])}: ${sharesAt(t)}`;
    point(t);
  });
  on(bars, "pointerleave", () => point(null));
  on(bars, "click", (event) => choose(barAt(event.offsetX, bars.clientWidth, data.n)));
  const cellUnder = (event: MouseEvent): CellAt | null => {
    if (!gridValues) return null;
    const at = cellAt(gridLayout(roomRight(), gridShown()), event.offsetX, event.offsetY);
    return at && valueAt(gridShown(), at) !== null ? at : null;
  };
  on(grid, "pointermove", (event) => {
    const at = cellUnder(event);
    const shown = gridShown();
    gridTip.textContent = at ? `${nameOf(shown, at)}: ${record.shown_parts[part()]} ${valueText(shown, valueAt(shown, at))}` : "";
  });
  on(grid, "click", (event) => {
    const at = cellUnder(event);
    if (at) stage.set({ layer: at.row, heads: [at.col], shown: "head" });
  });
  record.shown_parts.forEach((name, i) => {
    const button = el("button", { type: "button", class: "gen-key", "data-part": i }, el("span", { class: "gen-square" }), name);
    on(button, "click", () => stage.set({ part: i }));
    legend.append(button);
  });

  // ---- Moving from token to token

  const stop = () => {
    clearInterval(playing);
    playing = undefined;
    play.textContent = labels.play_written;
  };
  const toggle = () => {
    if (playing !== undefined) return stop();
    if (stage.state().written >= data.n - 1) choose(0);
    play.textContent = labels.pause;
    playing = setInterval(() => {
      const { written: t } = stage.state();
      if (t >= data.n - 1) return stop();
      choose(t + 1);
    }, PLAY_STEP);
  };
  on(play, "click", toggle);
  on(previous, "click", () => choose(stage.state().written - 1));
  on(next, "click", () => choose(stage.state().written + 1));

  function wholePicture(): Scene | null {
    if (!shownRow || !shownShares || !gridValues) return null;
    const theme = stage.theme();
    const width = 960;
    const state = stage.state();
    const muted = state.mute_sinks ? record.parts.indexOf("first position") : -1;
    const weights = new Map(shownRow.keys.map((key, i) => [key, partOf(key) === muted ? 0 : shownRow!.weights[i]]));
    const most = Math.max(1e-9, ...weights.values());
    const runs: TextRun[] = runsOf(record.part_of).map(([index, first, last]) => ({
      name: record.shown_parts[index],
      colour: colourOf(index),
      quiet: QUIET.includes(record.parts[index]),
      tokens: Array.from({ length: last - first }, (_, i) => {
        const position = first + i;
        return {
          text: keyTokens[position].textContent ?? "",
          lit: (weights.get(position) ?? 0) / most,
          chosen: readsItself && position === record.n_prompt + state.written,
          later: readsItself && position > record.n_prompt + state.written,
          near: Math.min(i, last - 1 - position) < AROUND || (weights.get(position) ?? 0) > 0,
        };
      }),
    }));
    if (!readsItself)
      runs.push({
        name: labels.part_written,
        colour: theme.accent,
        quiet: false,
        tokens: writtenTokens.map((span, t) => ({
          text: span.textContent ?? "",
          lit: 0,
          chosen: t === state.written,
          later: t > state.written,
          near: true,
        })),
      });
    return stacked(width, [textItems(runs, width - 8, theme), barsNow(width - 8), gridNow(width - 8)], theme);
  }

  return {
    async draw(current) {
      const state = stage.state();
      const [shares, values] = await Promise.all([data.sharesShown(state), data.gridOf(part())]);
      if (!current()) return;
      [shownShares, gridValues] = [shares, values];
      await show(current);
      if (!current()) return;
      rows.querySelectorAll<HTMLElement>(".gen-part").forEach((label) => {
        const index = Number(label.dataset.part);
        label.style.color = index < 0 ? stage.theme().accent : colourOf(index);
        label.setAttribute("aria-pressed", String(index === part()));
      });
      legend.querySelectorAll<HTMLElement>(".gen-key").forEach((button, i) => {
        (button.firstChild as HTMLElement).style.background = colourOf(i);
        button.setAttribute("aria-pressed", String(i === part()));
      });
      const effects = effectsShown();
      effectLine.hidden = !effects;
      if (effects) {
        const t = state.written;
        const each = record.effects!.parts.map(
          (name, i) => `${record.shown_parts[record.parts.indexOf(name)]} ${effects.values[t][i]?.toFixed(3) ?? "–"}`,
        );
        effectLine.textContent = `${labels.without_part} (${effects.way}): ${each.join(" · ")}`;
      }
      gridTitle.textContent = labels.which_heads_read.replace("{part}", record.shown_parts[part()]);
      gridAxes.textContent = axesOf(gridLayout(roomRight(), gridShown()));
      barsTip.textContent = sharesAt(state.written);
      const width = roomRight();
      paint(bars, barsNow(width));
      paint(grid, gridNow(width));
    },
    scene: wholePicture,
    summary: () => ({
      kind: "generation",
      lit: (shownRow?.keys ?? []).map((key, i) => ({ side: "key" as const, position: key, value: shownRow!.weights[i] })),
      rest: shownRow?.rest,
      written: written(),
      shares: shownShares ? Array.from(shownShares.subarray(written() * data.nParts, (written() + 1) * data.nParts)) : [],
      grid: gridValues ?? [],
      playing: playing !== undefined,
    }),
    title: () => labels.generation_title,
    caption: () => `${spec.model} · ${nameShown(shownRow)}`,
    legend: () => record.shown_parts.map((name, i) => ({ colour: colourOf(i), name })),
    key(event) {
      const { written: t, layer } = stage.state();
      const moves: Record<string, () => void> = {
        ArrowRight: () => choose(t + 1),
        ArrowLeft: () => choose(t - 1),
        Home: () => choose(0),
        End: () => choose(data.n - 1),
        ArrowDown: () =>
          stage.set({
            layer: Math.min(layers.length - 1, layer + 1),
            shown: stage.state().shown === "mean" ? "layer" : stage.state().shown,
          }),
        ArrowUp: () => stage.set({ layer: Math.max(0, layer - 1), shown: stage.state().shown === "mean" ? "layer" : stage.state().shown }),
        " ": toggle,
      };
      const move = moves[event.key];
      if (event.key === " " && (event.composedPath()[0] as HTMLElement).tagName === "BUTTON") return false;
      move?.();
      return move !== undefined;
    },
    destroy: stop,
  };
}
