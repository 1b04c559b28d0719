// The exercise's notes: they stay in the visitor's browser and are saved from there. The server never sees them.

interface Notes {
  data: { label: string; hint: string; save: string; about: string; state: string; name: string };
  parentElement: HTMLElement;
}

const STORAGE_KEY = "eyeline-notes";
const ADDRESS_MS = 10_000; // how long the address of a saved file stays valid

interface Parts {
  label: HTMLLabelElement;
  area: HTMLTextAreaElement;
  save: HTMLButtonElement;
}

const built = new WeakMap<HTMLElement, Parts>();

function build(parent: HTMLElement): Parts {
  const box = document.createElement("div");
  const label = document.createElement("label");
  const area = document.createElement("textarea");
  const save = document.createElement("button");
  box.className = "eyeline-notes";
  Object.assign(area, { id: STORAGE_KEY, rows: 6, maxLength: 20_000, value: sessionStorage.getItem(STORAGE_KEY) ?? "" });
  save.type = "button";
  label.htmlFor = STORAGE_KEY;
  area.addEventListener("input", () => sessionStorage.setItem(STORAGE_KEY, area.value));
  box.append(label, area, save);
  parent.append(box);
  const parts = { label, area, save };
  built.set(parent, parts);
  return parts;
}

export default function ({ data, parentElement }: Notes): void {
  const { label, area, save } = built.get(parentElement) ?? build(parentElement);
  label.textContent = data.label;
  area.placeholder = data.hint;
  save.textContent = data.save;
  save.onclick = () => {
    const link = document.createElement("a");
    const address = `${location.origin}${location.pathname}?${data.state}`;
    const text = `${data.about}${address}\n\n${area.value}\n`;
    link.href = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
    link.download = data.name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), ADDRESS_MS);
  };
}
