// A view in the app: its bytes come from Python, and the reader's state goes back.

import type { ArrayEntry, Kind, Spec, State } from "../core/input/contract";
import type { Labels } from "../core/words/labels";
import type { Handle } from "../mount";
import { sharedCore } from "./streamlit-core";

interface Packed {
  digest: string;
  kind: Kind;
  spec: Spec;
  arrays: Record<string, ArrayEntry & { size: number }>;
  labels: Partial<Labels>;
  answers: boolean;
  bare?: boolean;
}

interface Component {
  data: Uint8Array | ArrayBuffer;
  parentElement: HTMLElement;
  setStateValue: (name: string, value: unknown) => void;
}

interface Mounted {
  box: HTMLElement;
  digest: string;
  handle: Handle | null;
  waiting: ReturnType<typeof setTimeout> | undefined;
  send: Component["setStateValue"];
}

const mounted = new WeakMap<HTMLElement, Mounted>();

/** The length of a JSON header (4 bytes, little-endian), the header, and the arrays one after the other. */
function unpack(bytes: Uint8Array): Packed {
  const size = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size))) as Packed;
  let start = 4 + size;
  for (const array of Object.values(header.arrays)) {
    array.data = bytes.slice(start, start + array.size);
    start += array.size;
  }
  return header;
}

function boxIn(parentElement: HTMLElement, send: Mounted["send"]): Mounted {
  const known = mounted.get(parentElement);
  if (known) return known;
  const box = document.createElement("div");
  box.className = "eyeline-view";
  parentElement.append(box);
  const created: Mounted = { box, digest: "", handle: null, waiting: undefined, send };
  box.addEventListener("eyeline:state", (event) => created.handle?.update((event as CustomEvent<Partial<State>>).detail));
  mounted.set(parentElement, created);
  return created;
}

async function draw(target: Mounted, view: Packed): Promise<void> {
  const core = await sharedCore();
  await core.whenLoaded(view.kind);
  if (target.digest !== view.digest) return; // another view has arrived meanwhile
  target.handle?.destroy();
  let off = view.spec.state?.off ?? "";
  target.handle = core.mount(target.box, view, {
    labels: view.labels,
    answers: view.answers,
    bare: view.bare,
    onState(state: State) {
      clearTimeout(target.waiting);
      // with the time: Streamlit sends only what has changed, and a reader may come back to an old state
      const send = () => target.send("reading", { digest: view.digest, state, at: Date.now() });
      if (state.off !== off)
        send(); // a reader waits for the answer
      else target.waiting = setTimeout(send, 200);
      off = state.off;
    },
  });
  target.box.dataset.digest = view.digest;
}

export default function ({ data, parentElement, setStateValue }: Component): () => void {
  const view = unpack(data instanceof Uint8Array ? data : new Uint8Array(data));
  const target = boxIn(parentElement, setStateValue);
  target.send = setStateValue;
  if (target.digest !== view.digest) {
    target.digest = view.digest;
    clearTimeout(target.waiting);
    void draw(target, view);
  }
  return () =>
    setTimeout(() => {
      if (target.box.isConnected) return;
      clearTimeout(target.waiting);
      target.handle?.destroy();
      target.handle = null;
      mounted.delete(parentElement);
    });
}
