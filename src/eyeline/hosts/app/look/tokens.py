"""Which languages a model reads, and what unknown tokens and bytes mean where they appear."""

from __future__ import annotations

import streamlit as st

from eyeline.capture.trace import Trace
from eyeline.hosts.app.messages import Say
from eyeline.hosts.app.models import model_named
from eyeline.hosts.app.plain import escaped
from eyeline.models.embedded import EMBEDDED
from eyeline.text.unknown import byte_tokens, count_unknown


def say_language(say: Say, model: str) -> None:
    """Beside the field: the language that an embedded model was trained on. Of other models nothing is known."""
    if any(embedded.name == model for embedded in EMBEDDED):
        st.caption(say("look.reads_english", model=escaped(model)), width="content")


def explain_tokens(say: Say, model: str, trace: Trace) -> None:
    """Above the view: how many tokens the model does not know, or spells byte by byte."""
    texts = list(dict.fromkeys(text for stack in trace.stacks.values() for text in (stack.query_text, stack.key_text)))
    tokenizer = model_named(model).tokenizer
    unknown, total = count_unknown(texts, tokenizer)
    token = escaped(str(getattr(tokenizer, "unk_token", "")))
    if unknown:
        st.caption(say("look.unknown", model=escaped(model), n=unknown, total=total, token=token))
    if in_bytes := byte_tokens(texts):
        example = escaped(in_bytes[0].lstrip("▁"))  # without the mark of a new word
        st.caption(say("look.bytes", model=escaped(model), n=len(in_bytes), total=total, example=example))
