"""Instead of BertViz' copies of BERT, GPT-2 and RoBERTa: a message that says what to import instead."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    if not name[0].isupper():  # BertViz' module has only model classes
        raise AttributeError(name)
    raise ImportError(
        f"{name}: eyeline has no model classes of its own, it reads queries and keys from any model of transformers.\n"
        "  from transformers import AutoModel, AutoTokenizer\n"
        "  from eyeline.bertviz.neuron_view import show"
    )
