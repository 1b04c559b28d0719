"""The text of a corpus on which a run's heads are shown, with a mask for a masked language model to answer at."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable

from eyeline.analyses.prepare import Preparation, characters
from eyeline.capture.trace import Trace
from eyeline.models.model import Model
from eyeline.text.corpora.corpus import Document
from eyeline.text.tokenized import TokenizedText

#: The most tokens of the example that head views show, and the characters at which a document is long enough for one.
EXAMPLE_TOKENS, EXAMPLE_CHARACTERS = 48, 80


def example_of(model: Model, documents: Iterable[Document], question_seed: int | None = None) -> Trace | None:
    """The trace of the first document that is long enough, or of its beginning; where all are short, of the longest.

    question_seed   for a run about the model's answers: one word, drawn with this seed, is masked for a masked language model
    """
    longest_first = sorted(documents, key=lambda document: -min(characters(document.item), EXAMPLE_CHARACTERS))
    for document in longest_first:
        beginning = document.item[: EXAMPLE_TOKENS * 16] if isinstance(document.item, str) else document.item
        for sides in Preparation(model, EXAMPLE_TOKENS, window=True).read(Document(beginning, document.line))[:1]:
            texts = [*sides.source.sources, *(sides.target.sources if sides.target is not None else ())]
            mask = getattr(model.tokenizer, "mask_token", None)
            if question_seed is not None and mask is not None and model.answers_at_masks:
                texts[0] = with_question(sides.source, mask, question_seed)
            item = texts[0] if len(texts) == 1 else (texts[0], texts[1])
            return model.traces([item], keep={"weights"}, truncate=True)[0]
    return None


def with_question(text: TokenizedText, mask: str, seed: int) -> str:
    """The first source of a text with the mask token for one of its words; unchanged where no word is a single token.

    >>> text = TokenizedText(("a", "cat"), (0, 1), ("a", "cat"), (0, 0), (False, False), (5, 6), ((0, 1), (2, 5)), ("a cat",))
    >>> with_question(text, "[MASK]", seed=1)
    '[MASK] cat'
    """
    source = text.sources[0]
    sizes = Counter(text.words)
    plain = [
        span
        for span, word, special, segment in zip(text.spans, text.words, text.special, text.segments, strict=False)
        if segment == 0 and not special and sizes[word] == 1 and source[slice(*span)].isalpha()
    ]
    if mask in source or not plain:
        return source
    start, end = random.Random(f"{seed} {source}").choice(plain)  # noqa: S311 - seeded, not a secret
    return source[:start] + mask + source[end:]
