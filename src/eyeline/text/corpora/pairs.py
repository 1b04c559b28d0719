"""The paper's segments: sentences of one document up to a length, cut in two at random, `[CLS] A [SEP] B [SEP]`."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, islice, pairwise
from typing import TYPE_CHECKING

from eyeline.errors import TextError
from eyeline.text.conversation import Conversation
from eyeline.text.corpora.corpus import Document

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

#: How many articles are in memory at one time.
ARTICLES_IN_MEMORY = 50_000
#: A sentence ends with one of these, closing quotes and brackets, and white space; CJK full stops need no space.
_ENDS = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])")


def split_sentences(text: str) -> list[str]:
    """Sentences of a plain text, by their closing marks.

    >>> split_sentences('It rained. "Did it?" It did.')
    ['It rained.', '"Did it?"', 'It did.']
    """
    ends = [0, *(match.end() for match in _ENDS.finditer(text)), len(text)]
    return [piece for start, end in pairwise(ends) if (piece := text[start:end].strip())]


@dataclass
class PairTally:
    """How many documents were read for pairs, and how many of them gave none: they have fewer than two sentences."""

    documents: int = 0
    without: int = 0


def build_pairs(
    documents: Iterable[Document],
    tokenizer: PreTrainedTokenizerBase,
    *,
    max_tokens: int,
    seed: int,
    limit: int | None = None,
    tally: PairTally | None = None,
) -> Iterator[Document]:
    """Segments of at most `max_tokens` tokens, special ones included, documents in random order (`_shuffled`).

    Sentences, at least two, are collected until they fill the segment or the document ends; the segment is cut at a random sentence
    boundary into A and B; tokens are deleted from the longer side, from its front or back at random, until it fits. A document of one
    sentence has no boundary and is left out (counted in `tally`). A word cut in half by a deletion is tokenised as what is left of it.
    """
    draw = random.Random(seed)  # noqa: S311 - a seeded choice, not a secret
    room = max_tokens - tokenizer.num_special_tokens_to_add(pair=True)
    n_pairs, tally = 0, tally or PairTally()
    for article in _shuffled(_articles(documents), draw, None if limit is None else max(ARTICLES_IN_MEMORY, 2 * limit)):
        if limit is not None and n_pairs >= limit:
            return
        tally.documents += 1
        tally.without += sum(len(_sentences_of(document)) for document in article) < 2
        for sentences, line in _segments(article, tokenizer, room):
            if limit is not None and n_pairs >= limit:
                return
            boundary = draw.randint(1, len(sentences) - 1)
            first, second = _trim(" ".join(sentences[:boundary]), " ".join(sentences[boundary:]), tokenizer, room, draw)
            if first.strip() and second.strip():
                n_pairs += 1
                yield Document((first, second), line)


def _articles(documents: Iterable[Document]) -> Iterator[list[Document]]:
    for _, group in groupby(enumerate(documents), key=lambda pair: pair[1].group or pair[0]):
        yield [document for _, document in group]


def _shuffled(articles: Iterator[list[Document]], draw: random.Random, sample: int | None) -> Iterator[list[Document]]:
    """Articles in random order: in shuffled blocks of ARTICLES_IN_MEMORY; with `sample`, a random sample of that size of all of them."""
    if sample is not None:
        chosen = list(islice(articles, sample))
        for index, article in enumerate(articles, len(chosen)):
            if (slot := draw.randrange(index + 1)) < sample:
                chosen[slot] = article
        draw.shuffle(chosen)
        yield from chosen
        return
    while block := list(islice(articles, ARTICLES_IN_MEMORY)):
        draw.shuffle(block)
        yield from block


def _segments(article: list[Document], tokenizer: PreTrainedTokenizerBase, room: int) -> Iterator[tuple[list[str], int]]:
    sentences = [(sentence, document.line) for document in article for sentence in _sentences_of(document)]
    current: list[str] = []
    size = 0
    start = 0
    for index, (sentence, line) in enumerate(sentences):
        start = start if current else line
        current.append(sentence)
        size += len(tokenizer(sentence, add_special_tokens=False, verbose=False).input_ids)
        if (size >= room and len(current) > 1) or index == len(sentences) - 1:
            if len(current) > 1:
                yield current, start
            current, size = [], 0


def _sentences_of(document: Document) -> list[str]:
    if document.sentences:
        return list(document.sentences)
    if isinstance(document.item, list):
        return [" ".join(document.item)]
    if isinstance(document.item, Conversation):
        raise TextError(f"Line {document.line} is a conversation.", "Segments of two parts are built of texts: leave out pairs.")
    return [
        sentence for text in ([document.item] if isinstance(document.item, str) else document.item) for sentence in split_sentences(text)
    ]


def _trim(first: str, second: str, tokenizer: PreTrainedTokenizerBase, room: int, draw: random.Random) -> tuple[str, str]:
    texts = [first, second]
    spans = [_spans(tokenizer, text) for text in texts]
    while sum(map(len, spans)) > room:
        longer = 0 if len(spans[0]) >= len(spans[1]) else 1
        if draw.random() < 0.5:
            spans[longer].pop(0)
        else:
            spans[longer].pop()
        if sum(map(len, spans)) <= room:  # a word cut in half may now be more pieces than before: look again
            texts = [text[own[0][0] : own[-1][1]] if own else "" for text, own in zip(texts, spans, strict=True)]
            spans = [_spans(tokenizer, text) for text in texts]
    return texts[0], texts[1]


def _spans(tokenizer: PreTrainedTokenizerBase, text: str) -> list[tuple[int, int]]:
    """[start, end) of each token; of a tokeniser without offsets, even shares of the text."""
    if not text.strip():
        return []
    if getattr(tokenizer, "is_fast", False):
        return [
            tuple(span) for span in tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False).offset_mapping
        ]
    n = len(tokenizer(text, add_special_tokens=False, verbose=False).input_ids)
    return [(i * len(text) // n, (i + 1) * len(text) // n) for i in range(n)]
