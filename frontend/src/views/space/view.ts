// The space of queries and keys: all heads, or one head and a sentence beside it; two models side by side where there are two.

import { amount } from "../../core/words/labels";
import { el } from "../../controls/dom";
import type { State } from "../../core/input/contract";
import { stepped } from "../../core/reading/find";
import { headName } from "../../generated/heads";
import { SpaceData } from "../../core/reading/space";
import { moved, type Scene } from "../../marks/scene";
import type { Stage, ViewInstance } from "../../registry";
import { attentionOf } from "./scene/colouring";
import { Matrix } from "./matrix";
import { Pane } from "./pane";
import { SentencePart } from "./sentence";
import { spokenPoint } from "./tips";

interface Part {
  data: SpaceData;
  element: HTMLElement;
  matrix?: Matrix;
  pane?: Pane;
  sentence?: SentencePart;
}

const FITTED = ["fitted", "freed"]; // to attention; other projections promise nothing about distances
const WIDE = 860; // from here on plot and sentence stand side by side

export function spaceView(stage: Stage): ViewInstance {
  const spaces = stage.spec.spaces!;
  const root = el("div", { class: "panes" });
  stage.element.append(root);
  let parts: Part[] = [];
  let shown = "";
  let match = { find: "", at: -1 };
  const datas = new Map<number, SpaceData[]>();

  const dataOf = (stack: number): SpaceData[] => {
    if (!datas.has(stack))
      datas.set(
        stack,
        spaces.map((space) => new SpaceData(stage.spec, space, stack, stage.reader.arrays)),
      );
    return datas.get(stack)!;
  };
  /** Whether a point's number means the same token as in the first space. */
  const isSame = (data: SpaceData, first: SpaceData) =>
    data.values === first.values &&
    [["query_texts"], ["key_texts"]].every(([side]) => data.stack[side as "key_texts"].join() === first.stack[side as "key_texts"].join());

  const build = (state: State) => {
    const key = `${state.stack}.${state.opened}`;
    if (key === shown) return;
    clear();
    shown = key;
    const list = dataOf(state.stack);
    parts = list.map((data) => {
      const same = isSame(data, list[0]);
      const element = el("div", { class: "pane" });
      if (!state.opened) {
        const matrix = new Matrix(stage, data, same, list.length > 1);
        element.append(matrix.element);
        element.style.flexBasis = `${matrix.least}px`; // two that do not fit side by side stand one below the other
        return { data, element, matrix };
      }
      const [pane, sentence] = [new Pane(stage, data, same), new SentencePart(stage, data, same)];
      if (list.length > 1) element.append(el("strong", { class: "model" }, data.space.model));
      element.append(el("div", { class: "pair" }, pane.element, sentence.element));
      return { data, element, pane, sentence };
    });
    root.replaceChildren(...parts.map(({ element }) => element));
  };

  const clear = () => {
    for (const { matrix, pane, sentence } of parts) for (const part of [matrix, pane, sentence]) part?.destroy();
    parts = [];
    shown = "";
  };

  const arrange = (state: State) => {
    const room = stage.room(root);
    const full = Math.max(360, room === null ? Math.min(760, innerHeight * 0.78) : Math.min(1100, room)) - (parts.length > 1 ? 24 : 0);
    for (const { element, pane, sentence } of parts) {
      const wide = element.clientWidth >= WIDE;
      element.toggleAttribute("data-wide", wide);
      const both = state.text !== null && !wide;
      pane!.height = both ? Math.max(340, Math.round(full * 0.58)) : full;
      sentence!.height = wide ? full : Math.max(340, Math.round(full * 0.8));
      sentence!.element.hidden = state.text === null;
    }
  };

  const draw = async (current: () => boolean) => {
    const state = stage.state();
    build(state);
    if (!state.opened) {
      for (const { matrix } of parts) {
        await matrix!.draw(current);
        if (!current()) return;
      }
      return;
    }
    arrange(state);
    for (const { pane } of parts) {
      await pane!.load(state);
      if (!current()) return;
      pane!.render();
    }
    for (const { sentence } of parts) {
      await sentence!.draw(current);
      if (!current()) return;
    }
  };

  /** Also before the first drawing: a caption that changed its length then would change the height left for the drawing. */
  const name = (state: State) => {
    const [data] = dataOf(state.stack);
    return headName(data.layer(state.layer).layer, data.stack.heads[state.heads[0]]);
  };

  /** Keyboard: to another token of the sentence, or from the query to the key and back. */
  const walk = (by: 1 | -1 | 0): boolean => {
    const { data, pane } = parts[0];
    const { point, text } = stage.state();
    if (!pane?.tops) return false;
    let to: number;
    if (point === null)
      to =
        data.queryPoint(data.queries.starts[text ?? 0]) < 0
          ? data.keyPoint(data.keys.starts[text ?? 0])
          : data.queryPoint(data.queries.starts[text ?? 0]);
    else if (by === 0) {
      if (data.values || data.queries !== data.keys) return false;
      to = data.isKey(point) ? data.queryPoint(data.own(point)) : data.keyPoint(point);
    } else {
      const side = data.sideOf(point);
      const [first, last] = [side.starts[data.textOf(point)], side.starts[data.textOf(point) + 1]];
      const own = Math.min(last - 1, Math.max(first, data.own(point) + by));
      to = data.isKey(point) ? data.keyPoint(own) : own;
    }
    stage.set({ point: to, text: data.textOf(to) });
    stage.announce(spokenPoint(data, pane.tops, to, stage.labels));
    return true;
  };

  const single = (event: KeyboardEvent): boolean => {
    const state = stage.state();
    const zoomBy = (factor: number) => {
      const side = (1 / state.zoom.k) * (1 - 1 / factor);
      stage.set({ zoom: { k: Math.max(1, state.zoom.k * factor), x: state.zoom.x + side / 2, y: state.zoom.y + side / 2 } });
      return true;
    };
    if (event.key === "." || event.key === ",") return walk(event.key === "." ? 1 : -1);
    if (event.key === "x") return walk(0);
    if (event.key === "+" || event.key === "=") return zoomBy(1.5);
    if (event.key === "-") return zoomBy(1 / 1.5);
    if (event.key === "0") {
      stage.set({ zoom: { x: 0, y: 0, k: 1 } });
      return true;
    }
    if (event.key !== "Escape") return false;
    if (state.point !== null) stage.set({ point: null });
    else if (state.lasso.length) stage.set({ lasso: [] });
    else if (state.text !== null) stage.set({ text: null });
    else stage.set({ opened: false });
    return true;
  };

  return {
    draw,
    scene() {
      const scenes = parts.map(({ matrix, pane }) => (matrix ?? pane)!.scene()).filter((scene): scene is Scene => scene !== null);
      if (scenes.length < 2) return scenes[0] ?? null;
      const [a, b] = scenes;
      const gap = 24;
      return {
        width: a.width + gap + b.width,
        height: Math.max(a.height, b.height),
        background: a.background,
        items: [...a.items, ...b.items.map((item) => moved(item, a.width + gap, 0))],
      };
    },
    summary() {
      const { opened } = stage.state();
      if (!opened)
        return {
          kind: "space",
          thumbnails: parts.flatMap(({ matrix }) => matrix?.thumbnails() ?? []),
          sheet: parts.flatMap(({ matrix }) => matrix?.sheet() ?? []),
        };
      return {
        kind: "space",
        spaces: parts.flatMap(({ pane, sentence }) => (pane ? [{ ...pane.summary(), sentence: sentence?.summary() ?? null }] : [])),
      };
    },
    title: () =>
      spaces[0].of === "values"
        ? stage.labels.values_title
        : (spaces[0].of === "shared" ? stage.labels.shared_title : stage.labels.space_title) +
          (spaces.every(({ project }) => FITTED.includes(project)) ? `: ${stage.labels.near_means}` : ""),
    caption() {
      const state = stage.state();
      const { labels } = stage;
      const [data] = dataOf(state.stack);
      const projectionName = (project: string) => (project === "fitted" || project === "freed" ? stage.labels[project] : project);
      const how = [
        ...new Set(
          spaces.map(
            ({ project, gauge, dims }) =>
              `${projectionName(project)}${gauge === "none" || FITTED.includes(project) ? "" : ` (${gauge})`}, ${dims}-D`,
          ),
        ),
      ].join(" / ");
      const what = state.opened
        ? name(state)
        : `${amount(labels, "layers", data.stack.layers.length)} × ${amount(labels, "heads", data.stack.heads.length)}`;
      const size = `${amount(labels, "texts", data.keys.texts.length)} · ${amount(labels, "tokens", data.keys.count)}`;
      const background = spaces.some(({ held_out }) => held_out === "background") ? ` · ${labels.with_background}` : "";
      return `${stage.spec.model} · ${how} · ${what} · ${size}${background}`;
    },
    key: (event) => (stage.state().opened ? single(event) : (parts[0]?.matrix?.key(event) ?? false)),
    find(by) {
      const state = stage.state();
      const { data, pane } = parts[0] ?? {};
      if (!data || !pane?.tops) return;
      const { isMatch } = attentionOf(data, state, true);
      const list: number[] = [];
      for (let i = 0; i < data.count; i++) if (isMatch(i)) list.push(i);
      if (!list.length) return;
      match = { find: state.find, at: stepped(match.find === state.find ? match.at : -1, by, list.length) };
      const point = list[match.at];
      stage.set({ point, text: data.textOf(point) });
      stage.announce(`${stage.labels.match} ${match.at + 1} / ${list.length}. ${spokenPoint(data, pane.tops, point, stage.labels)}`);
    },
    destroy() {
      clear();
      root.remove();
    },
  };
}
