// The sentence view: the words of the text, arcs from the chosen one, their numbers; pointer, keyboard and spoken text around the scene.

import { shownPart } from "../../controls/answer";
import { el, on } from "../../controls/dom";
import { headNumber } from "../../core/input/contract";
import { headName } from "../../generated/heads";
import type { Axis } from "../../core/reading/axes";
import { stepped } from "../../core/reading/find";
import { drawnTitle, drawnWhole, shownNumber } from "../../core/reading/quantity";
import type { Reading } from "../../core/reading/reading";
import { offIn, offParts, toggledOff } from "../../core/state/off";
import { amount, counted, stackName } from "../../core/words/labels";
import { visible } from "../../core/words/tokens";
import { paint } from "../../marks/painters/canvas";
import type { Scene } from "../../marks/scene";
import type { DrawnLine, DrawnNumber, Stage, ViewInstance } from "../../registry";
import { TokenOptions } from "../options";
import { isCoarse } from "../pointer";
import { Tip } from "../tip";
import { type Arc, arcsOf, arcWidth, curveBetween, sentenceScene, spots, type Part, type SentenceInput } from "./scene";
import { isRightToLeft, textLayout, wordAt } from "./layout";
import { sinkIn } from "./sink";
import { gapBefore, type Sides, sides, type Word, wordWidth } from "./words";

const PLAY_STEP = 700; // ms a layer is shown
const SIZES = { largest: 26, oneLine: 18, several: 22 };
const SIZES_NARROW = { largest: 26, oneLine: 18, several: 20 };
const NARROW = 560;

export function sentenceView(stage: Stage): ViewInstance {
  const { labels } = stage;
  const canvas = el("canvas", { class: "plot points whole", role: "img", "aria-label": labels.drawing });
  const tip = new Tip();
  const sinkWords = el("span");
  const sinkButton = el("button", { type: "button", class: "quiet", "data-name": "mute_sinks" });
  const sinkLine = el("p", { class: "hint", role: "status", hidden: true }, sinkWords, " ", sinkButton);
  const message = el("div", { class: "message", role: "status", hidden: true });
  const list = new TokenOptions(
    labels.tokens_list,
    {
      move: (index) => reach(index),
      choose: (index) => choose(words[index], false),
      leave: () => point(null),
    },
    true,
  );
  const offButton = el("button", { type: "button", class: "main", "data-name": "switch-head" });
  const playButton = el("button", { type: "button", "data-name": "play" });
  const allButton = el("button", { type: "button", "data-name": "all-lines" }, labels.all_arcs);
  const buttons = el("div", { class: "actions", role: "group", "aria-label": labels.drawing }, offButton, playButton, allButton);
  stage.element.append(list.element, canvas, message, sinkLine, buttons, tip.element);

  let reading: Reading | null = null;
  let parts: Part[] = [];
  let words: Word[] = []; // of all parts, in the order of the keyboard
  let hovered: Word | null = null;
  let current: Scene | null = null;
  let drawn: Arc[] = [];
  let input: SentenceInput | null = null;
  let playing: ReturnType<typeof setInterval> | undefined;
  let match = { find: "", at: -1 };
  let lastChosen: number[] = [];

  const side = () => (stage.state().direction === "from" ? "row" : "col");
  const canBeChosen = (word: Word) => word[side()] >= 0;

  const locked = (): Set<Word> => {
    const held = new Set(stage.state().locked);
    return new Set(words.filter((word) => canBeChosen(word) && word.group.some((token) => held.has(token))));
  };

  /** The chosen words; where none is, the one under the pointer. */
  const focusNow = (): Set<Word> => {
    const chosen = locked();
    return chosen.size || !hovered || !canBeChosen(hovered) ? chosen : new Set([hovered]);
  };

  /** Attention of the words in focus, summed, for each word of the other side. */
  const numbersOf = (focus: Set<Word>): Map<Word, number> => {
    const [map] = reading?.maps ?? [];
    const numbers = new Map<Word, number>();
    if (!map || !focus.size) return numbers;
    const width = reading!.cols.labels.length;
    const from = side() === "row";
    for (const other of words) {
      if ((from ? other.col : other.row) < 0) continue;
      let sum = 0;
      for (const word of focus) sum += map.weights[from ? word.row * width + other.col : other.row * width + word.col];
      numbers.set(other, sum);
    }
    return numbers;
  };

  const offOf = (): ((query?: number, key?: number) => boolean) => {
    const state = stage.state();
    const stack = stage.spec.stacks[state.stack];
    const { layer, n_heads: heads } = stack.layers[state.layer];
    return offIn(state.off, { stacks: stage.spec.stacks.length, stack: stack.name, layer, head: state.heads[0], heads });
  };

  const place = (shown: Sides) => {
    const width = Math.max(240, stage.element.clientWidth);
    const narrow = width < NARROW;
    const lay = (each: Word[], top: number, arcs: { one: number; several: number }): Part => ({
      words: each,
      layout: textLayout({
        width,
        widths: (size) => each.map((word) => wordWidth(word, size)),
        gaps: (size) => each.map((word) => gapBefore(word, size)),
        sizes: narrow ? SIZES_NARROW : SIZES,
        arcs,
        numbers: 22,
        top,
        rightToLeft: isRightToLeft(each.map((word) => word.written)),
      }),
    });
    const arcs = { one: Math.round(Math.max(84, Math.min(150, 0.2 * width))), several: narrow ? 40 : 52 };
    if ("one" in shown) parts = [lay(shown.one, 0, arcs)];
    else {
      const keys = lay(shown.keys, 8, { one: 0, several: 6 });
      parts = [keys, lay(shown.queries, keys.layout.height, { one: 84, several: 52 })];
    }
    words = "one" in shown ? shown.one : [...shown.keys, ...shown.queries];
    return { width, height: parts[parts.length - 1].layout.height + 6 };
  };

  let size = { width: 0, height: 0 };

  const render = () => {
    if (!reading) return;
    const state = stage.state();
    const focus = focusNow();
    const sink = state.mute_sinks ? sinkIn(reading, words) : null;
    const muted = new Set(sink ? [sink.word] : []);
    const [keys, queries] = parts.length > 1 ? [parts[0].words, parts[1].words] : [words, words];
    drawn = arcsOf(reading, state, queries, keys, focus, muted, offOf());
    const needle = state.find.trim().toLocaleLowerCase();
    input = {
      reading,
      state,
      theme: stage.theme(),
      parts,
      ...size,
      arcs: drawn,
      focus,
      numbers: numbersOf(focus),
      hovered,
      matches: new Set(needle ? words.filter(({ label }) => label.toLocaleLowerCase().includes(needle)) : []),
      muted,
    };
    current = sentenceScene(input);
    paint(canvas, current);
    placeOptions();
  };

  const placeOptions = () => {
    const boxes = parts.flatMap(({ layout }) =>
      layout.boxes.map(({ x, y, w }) => ({ x: x - w / 2, y: y - layout.up, w, h: 2 * layout.up })),
    );
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
    list.update(axis, [0, words.length - 1], (i) => boxes[i], new Set(words.flatMap((word, i) => (chosen.has(word) ? [i] : []))));
  };

  /** The words with the largest numbers, as they are said and written. */
  const said = (focus: Set<Word>, count: number): string => {
    const numbers = [...numbersOf(focus)].sort((a, b) => Math.abs(b[1]) - Math.abs(a[1])).slice(0, count);
    const { largest } = reading!.quantity;
    return numbers.map(([word, value]) => `${visible(word.label)} ${shownNumber(value, largest)}`).join(", ");
  };

  const spoken = (focus: Set<Word>): string => {
    const names = [...focus].map((word) => visible(word.label)).join(", ");
    return `${names}. ${stage.state().direction === "from" ? labels.from : labels.to}: ${said(focus, 3)}`;
  };

  const under = (event: MouseEvent): Word | null => {
    const box = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    for (const { words: own, layout } of parts) {
      const index = wordAt(layout, x, y, layout.up + (isCoarse() ? 8 : 2));
      if (index >= 0) return own[index];
    }
    return null;
  };

  const point = (word: Word | null) => {
    if (word === hovered) return;
    hovered = word;
    render();
  };

  /** A click chooses a word alone, or lets go of it; with Shift or Ctrl it is added. */
  const choose = (word: Word | undefined, add: boolean) => {
    if (!word || !canBeChosen(word)) return;
    const held = stage.state().locked;
    const isHeld = word.group.some((token) => held.includes(token));
    const without = held.filter((token) => !word.group.includes(token));
    if (add) stage.set({ locked: isHeld ? without : [...held, word.group[0]] });
    else stage.set({ locked: isHeld && !without.length ? [] : [word.group[0]] });
  };

  const reach = (index: number) => {
    if (!reading || !words[index]) return;
    hovered = words[index];
    render();
    stage.announce(spoken(new Set([words[index]])));
  };

  /** The arc nearest to a point, where one is near enough. */
  const arcUnder = (event: MouseEvent): Arc | null => {
    if (!input) return null;
    const box = canvas.getBoundingClientRect();
    const [px, py] = [event.clientX - box.left, event.clientY - box.top];
    const spot = spots(parts);
    let best: [number, Arc | null] = [Infinity, null];
    for (const arc of drawn) {
      const [x1, y1, ax, ay, bx, by, x2, y2] = curveBetween(spot.get(arc.query)!, spot.get(arc.key)!, parts[parts.length - 1].layout.arcs);
      for (let step = 0; step <= 32; step++) {
        const [t, s] = [step / 32, 1 - step / 32];
        const x = s ** 3 * x1 + 3 * s * s * t * ax + 3 * s * t * t * bx + t ** 3 * x2;
        const y = s ** 3 * y1 + 3 * s * s * t * ay + 3 * s * t * t * by + t ** 3 * y2;
        const distance = Math.hypot(x - px, y - py) - arcWidth(Math.abs(arc.weight), focusNow().size > 0) / 2;
        if (distance < Math.min(best[0], 7)) best = [distance, arc];
      }
    }
    return best[1];
  };

  const switchArc = (event: MouseEvent): boolean => {
    const arc = stage.switchOff && arcUnder(event);
    if (!arc || !reading) return false;
    const { by_head, by_layer } = reading.quantity;
    const heads = by_head ? stage.state().heads[0] : by_layer ? "layer" : "all";
    stage.switchOff!({ heads, queries: arc.query.group, keys: arc.key.group });
    return true;
  };

  const showTip = (event: PointerEvent, word: Word | null) => {
    const focus = locked();
    const box = stage.element.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const arc = word ? null : arcUnder(event);
    const { largest } = reading!.quantity;
    const room = { width: box.width, height: box.height };
    if (arc)
      return tip.show(
        x,
        y,
        [[{ token: arc.query.label }, " → ", { token: arc.key.label }, "  ", { number: shownNumber(arc.weight, largest) }]],
        room,
      );
    const value = word && focus.size ? numbersOf(focus).get(word) : undefined;
    if (!word || value === undefined || focus.size !== 1) return tip.hide();
    const [chosen] = focus;
    const [query, key] = side() === "row" ? [chosen, word] : [word, chosen];
    tip.show(x, y, [[{ token: query.label }, " → ", { token: key.label }, "  ", { number: shownNumber(value, largest) }]], room);
  };

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
  on(canvas, "click", (event) => {
    const word = under(event);
    if (word) choose(word, event.shiftKey || event.ctrlKey || event.metaKey);
    else switchArc(event);
  });
  on(canvas, "contextmenu", (event) => {
    if (!under(event) && switchArc(event)) event.preventDefault();
  });
  on(sinkButton, "click", () => stage.set({ mute_sinks: !stage.state().mute_sinks }));
  on(allButton, "click", () => {
    const { locked: held } = stage.state();
    if (held.length) lastChosen = held;
    stage.set({ locked: held.length ? [] : lastChosen });
  });
  on(offButton, "click", () => {
    const part = shownPart(stage.spec, stage.state());
    if (part) stage.set({ off: toggledOff(stage.state().off, part) });
  });

  const stop = () => {
    clearInterval(playing);
    playing = undefined;
    syncButtons();
  };
  on(playButton, "click", () => {
    if (playing) return stop();
    const layers = stage.spec.stacks[stage.state().stack].layers.length;
    if (stage.state().layer === layers - 1) stage.set({ layer: 0 });
    playing = setInterval(() => {
      const next = stage.state().layer + 1;
      if (next >= layers) stop();
      else stage.set({ layer: next });
    }, PLAY_STEP);
    syncButtons();
  });

  const syncButtons = () => {
    const state = stage.state();
    const part = stage.switchOff && shownPart(stage.spec, state);
    offButton.hidden = !part;
    if (part) offButton.textContent = counted(offParts(state.off).includes(part) ? labels.switch_on : labels.switch_off, part);
    playButton.hidden = stage.spec.stacks[state.stack].layers.length < 2;
    playButton.textContent = playing ? `■ ${labels.stop}` : `▶ ${labels.play_layers}`;
    allButton.setAttribute("aria-pressed", String(!state.locked.length));
  };

  const syncSink = () => {
    const sink = reading && sinkIn(reading, words);
    sinkLine.hidden = !sink;
    if (!sink) return;
    const muted = stage.state().mute_sinks;
    sinkWords.textContent = labels[muted ? "sink_muted" : "sink_share"]
      .replace("{token}", visible(sink.word.label))
      .replace("{share}", `${Math.round(100 * sink.share)} %`);
    sinkButton.textContent = muted ? labels.sink_show : labels.sink_mute;
  };

  return {
    async draw(live) {
      const state = stage.state();
      const { rows, cols } = await stage.reader.sides(state);
      if (!live()) return;
      const empty = !rows.labels.length || !cols.labels.length;
      message.hidden = !empty;
      message.textContent = empty ? labels.empty_tokens : "";
      canvas.hidden = empty;
      syncButtons();
      if (empty) {
        reading = null;
        sinkLine.hidden = true;
        return;
      }
      const next = await stage.reader.read(state, state.heads.slice(0, 1));
      if (!live()) return;
      reading = next;
      hovered = null;
      tip.hide();
      size = place(sides(stage.spec.texts, stage.spec.stacks[state.stack], next));
      render();
      syncSink();
    },
    scene: () => (reading ? current : null),
    summary() {
      const lines: DrawnLine[] = drawn.map(({ query, key, weight, off }) => ({
        from: query.group[0],
        to: key.group[0],
        head: reading?.maps[0]?.head ?? -1,
        weight,
        opacity: off ? 0.5 : 1,
      }));
      const other = side() === "row" ? "key" : "query";
      const numbers: DrawnNumber[] = [...(input?.numbers ?? [])].map(([word, value]) => ({ side: other, position: word.group[0], value }));
      const rows = parts.reduce((sum, { layout }) => sum + 1 + (layout.boxes[layout.boxes.length - 1]?.line ?? 0), 0);
      return { kind: "sentence", queries: reading?.rows.labels ?? [], keys: reading?.cols.labels ?? [], lines, numbers, rows };
    },
    title() {
      const { direction } = stage.state();
      return drawnTitle(stage.spec, stage.state(), labels, direction === "from" ? labels.head_title : labels.head_title_to);
    },
    caption() {
      const state = stage.state();
      const stack = stage.spec.stacks[state.stack];
      const record = stack.layers[state.layer];
      const quantity = reading?.quantity;
      const whole = quantity && drawnWhole(quantity, `${labels.layer} ${record.layer}`, labels.all_layers);
      const what = whole ?? headName(record.layer, headNumber(record, state.heads[0]));
      const name = stage.spec.stacks.length > 1 ? `${stackName(labels, stack.name)} · ` : "";
      const [nq, nk] = [stack.query_text, stack.key_text].map((i) => stage.spec.texts[i].tokens.length);
      const count = stack.query_text === stack.key_text ? `${nq}` : `${nq} × ${nk}`;
      return `${stage.spec.model} · ${name}${what} · ${amount(labels, "tokens", count)}`;
    },
    key(event) {
      if (event.key !== "Escape" || !playing) return false;
      stop();
      return true;
    },
    find(by) {
      const { find } = stage.state();
      const needle = find.trim().toLocaleLowerCase();
      const found = needle ? words.flatMap(({ label }, i) => (label.toLocaleLowerCase().includes(needle) ? [i] : [])) : [];
      if (!found.length) return;
      match = { find, at: stepped(match.find === find ? match.at : -1, by, found.length) };
      reach(found[match.at]);
      stage.announce(`${labels.match} ${match.at + 1} / ${found.length}. ${spoken(new Set([words[found[match.at]]]))}`);
    },
    destroy() {
      clearInterval(playing);
      for (const part of [list.element, canvas, message, sinkLine, buttons, tip.element]) part.remove();
    },
  };
}
