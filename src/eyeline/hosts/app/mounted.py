"""The front end inside Streamlit: its code is sent once a visit, a view as bytes, and what the reader does comes back as state."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import streamlit as st

from eyeline.views.page import bundle
from eyeline.views.view import View

FRONT = """
if (!globalThis.eyelineFront) {
  globalThis.eyelineFront = { mount: MOUNT };
  dispatchEvent(new Event("eyeline:front"));
}
const readable = (colour) => { const p = document.createElement("canvas").getContext("2d"); p.fillStyle = colour; return p.fillStyle; };
export default function ({ data, parentElement }) {
  const ground = getComputedStyle(parentElement).getPropertyValue("--st-background-color").trim();
  if (ground) document.documentElement.dataset.theme = parseInt(readable(ground).slice(1, 3), 16) < 128 ? "dark" : "light";
  document.documentElement.lang = data.language;
  if (!document.cookie.includes("eyeline_visitor="))
    document.cookie = `eyeline_visitor=${data.visitor}; path=/; max-age=31536000; SameSite=Strict`;
}
"""
VIEW = """
const held = new WeakMap();
const front = () => globalThis.eyelineFront
  ? Promise.resolve(globalThis.eyelineFront)
  : new Promise((ready) => addEventListener("eyeline:front", () => ready(globalThis.eyelineFront), { once: true }));
function unpack(bytes) {
  const room = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const size = room.getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
  let at = 4 + size;
  for (const array of Object.values(head.arrays)) { array.data = bytes.slice(at, at + array.size); at += array.size; }
  return head;
}
export default function ({ data, parentElement, setStateValue }) {
  const bytes = data instanceof Uint8Array ? data : new Uint8Array(data);
  const view = unpack(bytes);
  let one = held.get(parentElement);
  if (!one) {
    const box = document.createElement("div");
    box.className = "eyeline-view";
    parentElement.append(box);
    held.set(parentElement, (one = { box, digest: null, handle: null, waiting: 0, send: null }));
  }
  one.send = setStateValue;
  if (one.digest !== view.digest) {
    one.digest = view.digest;
    clearTimeout(one.waiting);
    front().then(({ mount }) => {
      if (one.digest !== view.digest) return;
      one.handle?.destroy();
      one.handle = mount(one.box, view, {
        labels: view.labels,
        onState(state) {
          clearTimeout(one.waiting);
          one.waiting = setTimeout(() => one.send("reading", { digest: view.digest, state }), 200);
        },
      });
      one.box.dataset.digest = view.digest;
    });
  }
  return () => setTimeout(() => {
    if (one.box.isConnected) return;
    clearTimeout(one.waiting);
    one.handle?.destroy();
    one.handle = null;
    held.delete(parentElement);
  });
}
"""


@lru_cache(maxsize=1)
def _front() -> Callable[..., Any]:
    code, names = bundle()
    return st.components.v2.component("eyeline_front", js=code + FRONT.replace("MOUNT", names["mount"]), isolate_styles=False)


@lru_cache(maxsize=1)
def _view() -> Callable[..., Any]:
    return st.components.v2.component("eyeline_view", js=VIEW, isolate_styles=False)


def front(language: str, visitor: str) -> None:
    """The front end's code, the page's language, and the cookie by which a visitor finds his own runs again. Shows nothing."""
    _front()(data={"language": language, "visitor": visitor}, key="eyeline-front", height=1)


def packed(view: View, labels: Mapping[str, str]) -> bytes:
    """A view as bytes: the length of a JSON head (4 bytes, little-endian), the head, and the arrays one after the other."""
    arrays = {name: {**array.header(), "size": len(array.data)} for name, array in view.arrays.items()}
    body = b"".join(array.data for array in view.arrays.values())
    head: dict[str, Any] = {"kind": view.kind, "spec": dict(view.spec), "arrays": arrays, "labels": dict(labels)}
    head["digest"] = hashlib.sha256(json.dumps(head).encode() + body).hexdigest()[:16]
    text = json.dumps(head, separators=(",", ":")).encode()
    return len(text).to_bytes(4, "little") + text + body


def show(data: bytes, key: str) -> dict[str, Any]:
    """Mount a packed view; the state that its reader has left it in, {} before the reader did anything."""
    shown = _view()(data=data, key=key, on_reading_change=lambda: None)
    reading = shown.get("reading") or {}
    length = int.from_bytes(data[:4], "little")
    digest = json.loads(data[4 : 4 + length])["digest"]
    return dict(reading.get("state") or {}) if reading.get("digest") == digest else {}
