"""A masked language model and a text without a mask: why there is no answer, and one click that masks a word."""

from __future__ import annotations

import streamlit as st

from eyeline.capture.trace import Trace
from eyeline.hosts.app.address import Looking
from eyeline.hosts.app.messages import Say
from eyeline.hosts.app.models import model_named
from eyeline.hosts.app.plain import escaped

#: The most words that are offered.
MOST_WORDS = 24


def offer_mask(say: Say, looking: Looking, trace: Trace) -> None:
    """Says why the model answers nothing, where a mask is missing, with a button for each word that could be masked."""
    from eyeline.models.answer.masking import words_to_mask

    model = model_named(looking.model)
    words = [] if trace.prediction is not None else words_to_mask(model, looking.text)
    if not words:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="mask-words"):
        st.caption(say("look.no_mask", model=escaped(looking.model), mask=escaped(model.mask_token or "")), width="content")
        for number, masked in enumerate(words[:MOST_WORDS]):
            st.button(escaped(masked.word), key=f"mask-{number}", on_click=_write, args=(masked.text,), type="tertiary")


def _write(text: str) -> None:
    st.session_state["look-text"] = text
