// What a host says when it mounts a view, and what it gets back.

import type { State, View } from "./core/input/contract";
import type { Labels } from "./core/words/labels";
import type { Summary } from "./registry";

export interface MountOptions {
  onState?: (state: State) => void;
  labels?: Partial<Labels>;
  /** Whether a model stands behind the view: it answers to a changed `off` with an event "eyeline:answer" on the element. */
  answers?: boolean;
  /** The picture alone, without title, controls and notes: its host has them. */
  bare?: boolean;
  /** Listen for keys on the whole page, where the view has it to itself. */
  wholePage?: boolean;
}

export interface Handle {
  update(next: View | Partial<State>): void;
  destroy(): void;
}

export interface Inspectable {
  state(): State;
  scene(): Summary;
  /** Whether the scene shows the present state: after a change it follows a frame or two later. */
  upToDate(): boolean;
  ready: Promise<void>;
}
