"""Cross attention in the lesson: a live view of a small translator of our own (eyeline.sample.translation)."""

from __future__ import annotations

import streamlit as st

from eyeline.capture.trace import Trace
from eyeline.hosts.app import mounted
from eyeline.hosts.app.messages import Say
from eyeline.hosts.app.models import view_cache
from eyeline.sample.translation.examples import TRANSLATIONS, by_written_words, measured_translator, sample_translation
from eyeline.views import head_view


def show_translation(say: Say, trace: Trace) -> None:
    """The words of a translation, each looking at what was read while it is written; first in the head that aligns most words."""
    best = measured_translator().best
    st.markdown(say("learn.self.cross_title", head=str(best.ref)))
    chosen = st.segmented_control(
        say("learn.choose"), list(TRANSLATIONS), format_func=lambda name: say(f"learn.self.choice_{name.replace('-', '_')}"),
        default=TRANSLATIONS[0], key="lesson-translation", label_visibility="collapsed", required=True,
    )  # fmt: skip
    name = chosen or TRANSLATIONS[0]

    def drawn() -> bytes:
        shown = head_view(by_written_words(sample_translation(name)), layer=best.layer, heads=[best.head], language=say.language)
        return mounted.packed(shown, say.part("view"))

    mounted.show(view_cache().get(("lesson-translation", name, say.language), drawn, len), key=f"lesson-translation-{name}")
    st.caption(say("learn.self.cross_note", command=measured_translator().command, name=name))
