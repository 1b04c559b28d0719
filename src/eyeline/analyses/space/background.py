"""The built-in paragraphs, fitted together with a short text: a projection cannot be fitted well to few tokens."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from eyeline.analyses.prepare import Preparation
from eyeline.analyses.space.capture import Captured, CapturedStack, capture_space
from eyeline.errors import TraceError
from eyeline.models.model import Model
from eyeline.sample.text import sample_text
from eyeline.text.corpora.corpus import Corpus, Document, Item
from eyeline.text.tokenized import TokenizedText

#: With fewer tokens of their own, pictures are fitted together with the built-in paragraphs (measured: docs/how-to/space.md).
FEW_TOKENS = 1_000
#: With fewer tokens of paragraphs than this, no background is used.
LEAST_TOKENS = 300
#: Nor where the tokeniser knows less than this share of their tokens (they are English).
LEAST_KNOWN_SHARE = 0.9


def is_wanted(captured: Captured, background: bool | None) -> bool:
    """Whether the paragraphs are used: as given, else where the texts have few tokens and the model has one kind of attention."""
    if background is not None:
        return background
    return len(captured.stacks) == 1 and captured.counts["tokens"] < FEW_TOKENS


def capture_background(
    model: Model,
    captured: Captured,
    *,
    layers: Sequence[int] | None,
    heads: Collection[int] | None,
    required: bool,
) -> CapturedStack | None:
    """The paragraphs that the texts do not hold themselves, through the model; None where it can read too little of them.

    required: a background that cannot be captured is an error.
    """
    if len(captured.stacks) > 1:
        raise TraceError(f"{model.name} has several kinds of attention: the built-in paragraphs fit only one.", "Leave background out.")
    (stack,) = captured.stacks.values()
    own = {_plain(text) for text in stack.query_tokens.texts}
    preparation = Preparation(model)
    paragraphs: list[Item] = []
    n_tokens = 0
    for paragraph in sample_text().split("\n\n"):
        sides = preparation.read(Document(paragraph, 1))
        if len(sides) == 1 and not any(text in _plain(sides[0].source) for text in own):
            paragraphs.append(paragraph)
            n_tokens += len(sides[0].source)
    n_known = n_tokens - preparation.counts["unknown"]
    if n_known < max(LEAST_TOKENS, LEAST_KNOWN_SHARE * n_tokens):
        if required:
            raise TraceError(
                f"{model.name} knows {max(0, n_known):,} of {n_tokens:,} tokens of the built-in paragraphs.",
                "That is too few to fit pictures on.",
            )
        return None
    background = capture_space(model, Corpus.from_texts(paragraphs, "built-in paragraphs"), layers=layers, heads=heads)
    return next(iter(background.stacks.values()))


def _plain(text: TokenizedText) -> str:
    """The tokens that the tokeniser did not add, to see whether one text holds another."""
    return " ".join(token for token, special in zip(text.tokens, text.special, strict=True) if not special)
