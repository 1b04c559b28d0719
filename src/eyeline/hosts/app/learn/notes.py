"""A place to note what was found: it stays in the visitor's browser, and is saved from there. The server never sees it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from eyeline.hosts.app.address import Looking, written
from eyeline.hosts.app.messages import Say

NAME = "attention-notes.txt"
NOTES = """
const KEPT = "eyeline-notes";
const made = new WeakMap();
function make(parent) {
  const [box, label, area, save] = ["div", "label", "textarea", "button"].map((name) => document.createElement(name));
  box.className = "eyeline-notes";
  Object.assign(area, { id: KEPT, rows: 6, maxLength: 20000, value: sessionStorage.getItem(KEPT) ?? "" });
  Object.assign(save, { type: "button" });
  label.htmlFor = KEPT;
  area.addEventListener("input", () => sessionStorage.setItem(KEPT, area.value));
  box.append(label, area, save);
  parent.append(box);
  return { label, area, save };
}
export default function ({ data, parentElement }) {
  if (!made.has(parentElement)) made.set(parentElement, make(parentElement));
  const { label, area, save } = made.get(parentElement);
  label.textContent = data.label;
  area.placeholder = data.hint;
  save.textContent = data.save;
  save.onclick = () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([`${data.about}?${data.state}\\n\\n${area.value}\\n`], { type: "text/plain;charset=utf-8" }));
    link.download = data.name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
}
"""


@lru_cache(maxsize=1)
def _notes() -> Callable[..., Any]:
    return st.components.v2.component("eyeline_notes", js=NOTES, isolate_styles=False)


def show(say: Say, looking: Looking) -> None:
    """The notes, headed in their file by the sentence and a link to its view."""
    parameters, _ = written(looking)
    _notes()(
        key="exercise-notes",
        data={
            "label": say("learn.exercise.notes"),
            "hint": say("learn.exercise.notes_hint"),
            "save": say("learn.exercise.save"),
            "about": f"{say('learn.exercise.title')}\n\n{looking.text}\n{looking.model}\n",
            "state": urlencode(parameters),
            "name": NAME,
        },
    )
