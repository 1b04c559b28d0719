// A grid of heads in the app: values from Python, which change while they are measured, and the head that was clicked back.

import { type GridData, type GridHandle, mountGrid } from "../views/heads/heads";

interface Component {
  data: [GridData];
  parentElement: HTMLElement;
  setTriggerValue: (name: string, value: unknown) => void;
}

interface Mounted {
  handle: GridHandle;
  component: Component;
}

const mounted = new WeakMap<HTMLElement, Mounted>();

export default function (component: Component): () => void {
  const {
    data: [data],
    parentElement,
  } = component;
  const known = mounted.get(parentElement);
  if (known) {
    known.component = component;
    known.handle.update(data);
  } else {
    const box = document.createElement("div");
    box.className = "eyeline-grid";
    parentElement.append(box);
    const created: Mounted = {
      component,
      handle: mountGrid(box, data, ({ layer, head, stack }) => created.component.setTriggerValue("head", [layer, head, stack])),
    };
    (box as HTMLElement & { eyeline?: GridHandle }).eyeline = created.handle;
    mounted.set(parentElement, created);
  }
  return () =>
    setTimeout(() => {
      if (parentElement.isConnected) return;
      mounted.get(parentElement)?.handle.destroy();
      mounted.delete(parentElement);
    });
}
