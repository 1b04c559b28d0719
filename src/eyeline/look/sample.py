"""Translations with their cross attention, recorded from a small encoder-decoder that training/translation/train.py trains from nothing.

No package that we know brings a translation model, so this one is ours: MarianMT's architecture, 2 + 2 layers of 4 heads, trained on
made-up sentences in English, French and Japanese. measured.json says what it does with sentences that it was not trained on.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import as_file, files

from eyeline.errors import TraceError, nearest
from eyeline.heads import HeadRef
from eyeline.look.trace import Trace, open_trace

#: A black cat in French and in Japanese, and *I love you* in Japanese.
TRANSLATIONS = ("cat-fr", "cat-ja", "love-ja")


@dataclass(frozen=True)
class AligningHead:
    """aligned: how often the English word that it looks at most is the one that is being translated. weight: what that word gets."""

    layer: int
    head: int
    aligned: float
    weight: float

    @property
    def ref(self) -> HeadRef:
        return HeadRef("cross", self.layer, self.head)


@dataclass(frozen=True)
class MeasuredTranslator:
    """On sentences that it was not trained on. exact: the share that it translates word for word. words: those that translate a word."""

    command: str
    steps: int
    sentences: int
    exact: float
    words: int
    heads: tuple[AligningHead, ...]

    @property
    def best(self) -> AligningHead:
        """The head that aligns most words."""
        return max(self.heads, key=lambda head: head.aligned)

    @property
    def least(self) -> AligningHead:
        """The head that aligns the fewest."""
        return min(self.heads, key=lambda head: head.aligned)


@lru_cache(maxsize=len(TRANSLATIONS))
def sample_translation(name: str = "cat-fr") -> Trace:
    """A trace with three stacks, encoder, decoder and cross: `el.head_view(el.traces.sample_translation(), stack="cross")`.

    name   cat-fr, cat-ja: "the black cat sat on the mat"; love-ja: "I love you"

    >>> " ".join(sample_translation("love-ja").stacks["cross"].query_text.tokens)
    '<s> 私 は あなた を 愛しています'
    """
    if name not in TRANSLATIONS:
        raise TraceError(f"No translation called {name!r}.", nearest(name, TRANSLATIONS))
    with as_file(files("eyeline.look").joinpath("translation", f"{name}.safetensors")) as path:
        return open_trace(path)


@lru_cache(maxsize=1)
def measured_translator() -> MeasuredTranslator:
    """What training/translation/train.py measured."""
    data = json.loads(files("eyeline.look").joinpath("translation", "measured.json").read_text(encoding="utf-8"))
    return MeasuredTranslator(**{**data, "heads": tuple(AligningHead(**head) for head in data["heads"])})


def by_written_words(trace: Trace) -> Trace:
    """The cross attention alone, a row for each word of the translation instead of each word that the decoder read.

    A decoder writes a word where it reads the one before: so the row of *chat* is that of the token before it.

    >>> by_written_words(sample_translation("love-ja")).only.query_text.tokens
    ('私', 'は', 'あなた', 'を', '愛しています')
    """
    cross = trace.stacks["cross"]
    return Trace.from_arrays(
        [weights[:, :-1] for weights in cross.weights_by_layer],
        cross.query_text.tokens[1:],
        key_tokens=cross.key_text.tokens,
        layers=cross.layers,
        model=trace.model,
    )
