// The text view: the paragraph itself, its words shaded by what the chosen word looks at; the map of the head beside it.

import { el, on } from "../../controls/dom";
import { headNumber } from "../../core/input/contract";
import { headName } from "../../generated/heads";
import type { Axis } from "../../core/reading/axes";
import { stepped } from "../../core/reading/find";
import { drawnTitle, shownNumber } from "../../core/reading/quantity";
import type { Reading } from "../../core/reading/reading";
import { amount, counted, stackName } from "../../core/words/labels";
import { visible } from "../../core/words/tokens";
import { paint } from "../../marks/painters/canvas";
import type { Scene } from "../../marks/scene";
import { type Thumbnail, thumbnailOf } from "../../marks/thumbnail";
import type { DrawnNumber, Stage, ViewInstance } from "../../registry";
import { TokenOptions } from "../options";
import { isRightToLeft, type TextLayout, textLayout, wordAt } from "../sentence/layout";
import { sinkIn } from "../sentence/sink";
import { printedGap, sides, type Word, wordWidth } from "../sentence/words";
import { Tip } from "../tip";
import { mapItems, shadeOf, type TextInput, textPicture, wordItems, wordsBetween } from "./scene";

const LETTERS = 16;
const BESIDE = 720; // px of width from which on the map stands beside the text
const LISTED = 100; // matches that are listed
const AROUND = 4; // words on each side of a match in the list

export function textView(stage: Stage): ViewInstance {
  const { labels } = stage;
  const canvas = el("canvas", { class: "plot points", role: "img", "aria-label": labels.drawing });
  const map = el("canvas", { class: "plot points whole", role: "img", "aria-label": labels.heatmap });
  const spacer = el("div");
  const scroll = el("div", { class: "scroll paragraph" }, spacer);
  const list = new TokenOptions(
    labels.tokens_list,
    { move: (index) => reach(index), choose: (index) => choose(words[index], false), leave: () => point(null) },
    true,
  );
  spacer.append(list.element, canvas);
  const tip = new Tip();
  const legend = el("div", { class: "legend" });
  const found = el("ol", { class: "found", hidden: true });
  const sinkWords = el("span");
  const sinkButton = el("button", { type: "button", class: "quiet", "data-name": "mute_sinks" });
  const sinkLine = el("p", { class: "hint", role: "status", hidden: true }, sinkWords, " ", sinkButton);
  const message = el("div", { class: "message", role: "status", hidden: true });
  const beside = el("div", { class: "textmap" }, map, legend, found);
  const both = el("div", { class: "textpair" }, scroll, beside);
  stage.element.append(both, sinkLine, message, tip.element);

  let reading: Reading | null = null;
  let words: Word[] = [];
  let others: Word[] = [];
  let layout: TextLayout = textLayout({
    width: 300,
    widths: () => [],
    gaps: () => [],
    sizes: { largest: 16, oneLine: 16, several: 16 },
    arcs: { one: 0, several: 0 },
    numbers: 0,
  });
  let thumb: Thumbnail | null = null;
  let thumbOf: Float32Array | null = null;
  let hovered: Word | null = null;
  let input: TextInput | null = null;
  let side = 300;
  let shownLocked = "";
  let match = { find: "", at: -1 };

  const from = () => stage.state().direction === "from";
  const indexOf = (word: Word) => (from() ? word.row : word.col);
  const locked = (): Set<Word> => {
    const held = new Set(stage.state().locked);
    return new Set(words.filter((word) => indexOf(word) >= 0 && word.group.some((token) => held.has(token))));
  };
  const focusNow = (): Set<Word> => {
    const chosen = locked();
    return chosen.size || !hovered || indexOf(hovered) < 0 ? chosen : new Set([hovered]);
  };

  const numbersOf = (focus: Set<Word>): Map<Word, number> => {
    const [head] = reading?.maps ?? [];
    const numbers = new Map<Word, number>();
    if (!head || !focus.size) return numbers;
    const width = reading!.cols.labels.length;
    for (const other of others) {
      let sum = 0;
      for (const word of focus) sum += head.weights[from() ? word.row * width + other.col : other.row * width + word.col];
      numbers.set(other, sum);
    }
    return numbers;
  };

  const matching = (): number[] => {
    const needle = stage.state().find.trim().toLocaleLowerCase();
    return needle ? words.flatMap(({ label, written }, i) => (`${label} ${written}`.toLocaleLowerCase().includes(needle) ? [i] : [])) : [];
  };

  const sink = () => (reading && stage.state().mute_sinks ? sinkIn(reading, words) : null);

  const seenRange = (): [number, number] => wordsBetween(layout, scroll.scrollTop, scroll.scrollTop + scroll.clientHeight);

  const read = (): TextInput => {
    const chosen = focusNow();
    const numbers = numbersOf(chosen);
    const rest = sink();
    const muted = new Set(rest ? [rest.word] : []);
    let largest = 1e-9;
    for (const [word, value] of numbers) if (!muted.has(word) && !chosen.has(word)) largest = Math.max(largest, Math.abs(value));
    const state = stage.state();
    const matches = new Set(matching().map((i) => words[i]));
    return {
      words,
      layout,
      theme: stage.theme(),
      state,
      chosen,
      numbers,
      largest,
      signed: reading!.quantity.signed,
      muted,
      matches,
      hovered,
    };
  };

  const mapScene = (): Scene | null => {
    if (!thumb || !input || !reading) return null;
    const [rows, cols] = [reading.rows.labels.length, reading.cols.labels.length];
    const items = mapItems(input, thumb, rows, cols, seenRange(), 10, 10, side - 14);
    return { width: side, height: 14 + (side - 14) * Math.min(1, rows / cols) + 4, background: input.theme.ground, items };
  };

  const render = () => {
    if (!reading) return;
    input = read();
    const top = scroll.scrollTop;
    const height = scroll.clientHeight;
    paint(canvas, { width: layout.width, height, background: input.theme.ground, items: wordItems(input, top, top + height) });
    const scene = mapScene();
    if (scene) paint(map, scene);
    placeOptions(top);
  };

  const placeOptions = (top: number) => {
    const chosen = locked();
    const axis: Axis = {
      groups: words.map(({ group }) => group),
      units: words.map((_, i) => i),
      labels: words.map(({ label }) => label),
      special: words.map(({ special }) => special),
      segments: words.map(() => 0),
      parts: [],
      total: words.length,
    };
    const box = (i: number) => {
      const { x, y, w } = layout.boxes[i];
      return { x: x - w / 2, y: y - layout.up - top, w, h: 2 * layout.up };
    };
    list.update(axis, [0, -1], box, new Set(words.flatMap((word, i) => (chosen.has(word) ? [i] : []))));
  };

  const spoken = (focus: Set<Word>): string => {
    const numbers = [...numbersOf(focus)].sort((a, b) => Math.abs(b[1]) - Math.abs(a[1])).slice(0, 3);
    const said = numbers.map(([word, value]) => `${visible(word.label)} ${shownNumber(value, reading!.quantity.largest)}`).join(", ");
    return `${[...focus].map((word) => visible(word.label)).join(", ")}. ${from() ? labels.from : labels.to}: ${said}`;
  };

  const bring = (index: number) => {
    const { y } = layout.boxes[index];
    const [top, height] = [scroll.scrollTop, scroll.clientHeight];
    if (y - layout.up < top || y + layout.up > top + height) scroll.scrollTop = Math.max(0, y - height / 2);
  };

  const reach = (index: number) => {
    if (!reading || !words[index]) return;
    bring(index);
    hovered = words[index];
    render();
    if (indexOf(hovered) >= 0) stage.announce(spoken(new Set([hovered])));
  };

  const choose = (word: Word | undefined, add: boolean) => {
    if (!word || indexOf(word) < 0) return;
    const held = stage.state().locked;
    const isHeld = word.group.some((token) => held.includes(token));
    const without = held.filter((token) => !word.group.includes(token));
    if (add) stage.set({ locked: isHeld ? without : [...held, word.group[0]] });
    else stage.set({ locked: isHeld && !without.length ? [] : [word.group[0]] });
  };

  const under = (event: MouseEvent): Word | null => {
    const box = canvas.getBoundingClientRect();
    return words[wordAt(layout, event.clientX - box.left, event.clientY - box.top + scroll.scrollTop, layout.up + 2)] ?? null;
  };

  const point = (word: Word | null) => {
    if (word === hovered) return;
    hovered = word;
    render();
  };

  const showTip = (event: PointerEvent, word: Word | null) => {
    const [chosen] = locked();
    const value = word && chosen ? input?.numbers.get(word) : undefined;
    if (!word || !chosen || value === undefined) return tip.hide();
    const box = stage.element.getBoundingClientRect();
    const [query, key] = from() ? [chosen, word] : [word, chosen];
    const number = { number: shownNumber(value, reading!.quantity.largest) };
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    tip.show(x, y, [[{ token: query.label }, " → ", { token: key.label }, "  ", number]], { width: box.width, height: box.height });
  };

  /** The word whose row (or column) of the map lies under the pointer. */
  const inMap = (event: MouseEvent): Word | undefined => {
    const box = map.getBoundingClientRect();
    const count = from() ? reading!.rows.labels.length : reading!.cols.labels.length;
    const across = from() ? reading!.cols.labels.length : reading!.rows.labels.length;
    const length = (side - 14) * Math.min(1, count / across);
    const at = Math.floor((((from() ? event.clientY - box.top : event.clientX - box.left) - 10) / length) * count);
    return words.find((word) => indexOf(word) === Math.max(0, Math.min(count - 1, at)));
  };

  on(scroll, "scroll", render, { passive: true });
  on(canvas, "pointermove", (event) => {
    if (!reading || event.pointerType === "touch") return;
    const word = under(event);
    point(word);
    showTip(event, word);
  });
  on(canvas, "pointerleave", () => {
    tip.hide();
    point(null);
  });
  on(canvas, "click", (event) => choose(under(event) ?? undefined, event.shiftKey || event.ctrlKey || event.metaKey));
  on(map, "click", (event) => {
    const word = reading ? inMap(event) : undefined;
    if (!word) return;
    bring(words.indexOf(word));
    stage.set({ locked: [word.group[0]] });
  });
  on(sinkButton, "click", () => stage.set({ mute_sinks: !stage.state().mute_sinks }));

  /** All matches with the words around them; a click goes there and chooses the word. */
  const listMatches = () => {
    const indices = matching();
    found.hidden = !indices.length;
    found.replaceChildren(
      ...indices.slice(0, LISTED).map((index) => {
        const part = (a: number, b: number) =>
          words
            .slice(Math.max(0, a), b)
            .map(({ written }) => written)
            .join(" ");
        const button = el("button", { type: "button", class: "entry", "data-match": index });
        button.append(
          `… ${part(index - AROUND, index)} `,
          el("strong", {}, words[index].written),
          ` ${part(index + 1, index + 1 + AROUND)} …`,
        );
        on(button, "click", () => {
          bring(index);
          stage.set({ locked: [words[index].group[0]] });
        });
        return el("li", {}, button);
      }),
    );
    if (indices.length > LISTED) found.append(el("li", {}, counted(labels.more_matches, indices.length - LISTED)));
  };

  const syncLegend = () => {
    if (!input?.chosen.size) return legend.replaceChildren();
    const { largest } = reading!.quantity;
    const entry = (part: number) => {
      const square = el("span", { class: "swatch" });
      square.style.setProperty("--colour", shadeOf(part * input!.largest, input!) ?? input!.theme.ground);
      return el("span", {}, square, shownNumber(part * input!.largest, largest));
    };
    legend.replaceChildren(entry(0.05), entry(0.25), entry(1));
  };

  const syncSink = () => {
    const now = reading && sinkIn(reading, words);
    sinkLine.hidden = !now;
    if (!now) return;
    const muted = stage.state().mute_sinks;
    sinkWords.textContent = labels[muted ? "sink_muted" : "sink_share"]
      .replace("{token}", visible(now.word.label))
      .replace("{share}", `${Math.round(100 * now.share)} %`);
    sinkButton.textContent = muted ? labels.sink_show : labels.sink_mute;
  };

  const measure = () => {
    const whole = Math.max(240, stage.element.clientWidth);
    const isWide = whole >= BESIDE;
    side = isWide ? Math.min(380, Math.round(0.34 * whole)) : Math.min(320, whole);
    both.toggleAttribute("data-wide", isWide);
    const width = isWide ? whole - side - 24 : whole;
    const letters = { largest: LETTERS, oneLine: LETTERS, several: LETTERS };
    layout = textLayout({
      width,
      widths: (size) => words.map((word) => wordWidth(word, size)),
      gaps: (size) => words.map((word, i) => printedGap(word, words[i - 1], size)),
      sizes: letters,
      arcs: { one: 0, several: 0 },
      numbers: 4,
      margin: 6,
      rightToLeft: isRightToLeft(words.slice(0, 200).map((word) => word.written)),
    });
    const room = stage.room(scroll) ?? 0.7 * innerHeight;
    scroll.style.width = `${width}px`;
    beside.style.width = isWide ? `${side}px` : "";
    scroll.style.height = `${Math.min(layout.height + 4, Math.max(260, isWide ? room : 0.5 * innerHeight))}px`;
    spacer.style.height = `${layout.height}px`;
  };

  return {
    async draw(live) {
      const state = stage.state();
      const axes = await stage.reader.sides(state);
      if (!live()) return;
      const empty = !axes.rows.labels.length || !axes.cols.labels.length;
      message.hidden = !empty;
      message.textContent = empty ? labels.empty_tokens : "";
      both.hidden = empty;
      if (empty) {
        [reading, input] = [null, null];
        sinkLine.hidden = true;
        return;
      }
      const next = await stage.reader.read(state, state.heads.slice(0, 1));
      if (!live()) return;
      reading = next;
      const [head] = next.maps;
      if (thumbOf !== head.weights) [thumb, thumbOf] = [thumbnailOf(head.weights, next.cols.labels.length, 320), head.weights];
      const shown = sides(stage.spec.texts, stage.spec.stacks[state.stack], next);
      words = "one" in shown ? shown.one : from() ? shown.queries : shown.keys;
      others = "one" in shown ? shown.one.filter((word) => (from() ? word.col : word.row) >= 0) : from() ? shown.keys : shown.queries;
      if (!("one" in shown)) words = [...shown.keys, ...shown.queries];
      hovered = null;
      tip.hide();
      measure();
      const now = state.locked.join();
      const first = words.findIndex((word) => locked().has(word));
      if (now !== shownLocked && first >= 0) bring(first);
      shownLocked = now;
      render();
      syncSink();
      syncLegend();
      listMatches();
    },
    scene() {
      const beside = reading && mapScene();
      if (!beside || !input) return null;
      const size: [number, number] = [reading!.rows.labels.length, reading!.cols.labels.length];
      const moved = mapItems(input, thumb!, ...size, seenRange(), layout.width + 24, 10, side - 14);
      return textPicture(input, moved, side + 24, beside.height);
    },
    summary() {
      const shades = [...(input?.numbers ?? [])].flatMap(([word, value]): DrawnNumber[] => [
        { side: from() ? "key" : "query", position: word.group[0], value },
      ]);
      const lines = 1 + (layout.boxes[layout.boxes.length - 1]?.line ?? 0);
      const shaded = [...(input?.numbers ?? [])].flatMap(([word, value]) =>
        !input!.muted.has(word) && shadeOf(value, input!) !== null ? [word.group[0]] : [],
      );
      const [first, last] = seenRange();
      const seen = { left: words[first]?.group[0] ?? 0, right: words[last]?.group[0] ?? 0 };
      return {
        kind: "text",
        queries: reading?.rows.labels ?? [],
        keys: reading?.cols.labels ?? [],
        numbers: shades,
        rows: lines,
        shaded,
        seen,
      };
    },
    title() {
      return drawnTitle(stage.spec, stage.state(), labels, from() ? labels.head_title : labels.head_title_to);
    },
    caption() {
      const state = stage.state();
      const stack = stage.spec.stacks[state.stack];
      const record = stack.layers[state.layer];
      const name = stage.spec.stacks.length > 1 ? `${stackName(labels, stack.name)} · ` : "";
      const head = headName(record.layer, headNumber(record, state.heads[0]));
      return `${stage.spec.model} · ${name}${head} · ${amount(labels, "tokens", stage.spec.texts[stack.query_text].tokens.length)}`;
    },
    find(by) {
      const { find } = stage.state();
      const indices = matching();
      if (!indices.length) return;
      match = { find, at: stepped(match.find === find ? match.at : -1, by, indices.length) };
      reach(indices[match.at]);
      stage.announce(`${labels.match} ${match.at + 1} / ${indices.length}. ${spoken(new Set([words[indices[match.at]]]))}`);
    },
    destroy() {
      for (const part of [both, sinkLine, message, tip.element]) part.remove();
    },
  };
}
