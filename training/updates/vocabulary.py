"""The vocabulary that both updates are trained with: that of e5-small, which comes with the embedded model minilm."""

from __future__ import annotations

from tokenizers import Tokenizer

from eyeline.look.embedded import embedded


def open_tokenizer() -> Tokenizer:
    """The tokeniser; a message where its package is not installed."""
    model = embedded("minilm")
    source = None if model is None else model.find()
    if source is None:
        raise SystemExit("The embedded model minilm is not installed: its vocabulary is needed (make setup).")
    return Tokenizer.from_file(str(source / "tokenizer.json"))
