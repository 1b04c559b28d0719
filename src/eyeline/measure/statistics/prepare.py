"""What a run needs before its first batch: documents as tokens, the choice behind `limit`, the size of batches, and its first facts."""

from __future__ import annotations

import platform
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import torch
import transformers

from eyeline.errors import Advice, TextError
from eyeline.measure.runs.facts import CorpusFacts, KindOfFacts, ModelFacts
from eyeline.measure.runs.options import Options
from eyeline.messages import Message
from eyeline.models import tracing
from eyeline.models.context import context, context_notices
from eyeline.models.inputs import Example
from eyeline.models.model import Model
from eyeline.models.objective import tokenizer_of
from eyeline.text.conversation import Conversation, encode_conversation
from eyeline.text.corpora.corpus import Corpus, Document, Item
from eyeline.text.corpora.pairs import PairTally, build_pairs
from eyeline.text.encode import NOTICE_FROM_SHARE, encode, encode_many, unknown_in, unknown_number
from eyeline.text.tokenized import TokenizedText
from eyeline.version import __version__

#: A text with more characters than this for each token that fits is too long, and is not tokenised.
CHARACTERS_A_TOKEN = 64

#: With windows, a longer text is cut at white space into pieces of about this many characters before it is tokenised.
AT_ONCE = 50_000

NEEDED_FOR_A_CORPUS = "A corpus of texts needs a model that reads text."


@dataclass
class Preparation:
    """Tokenises documents for one model and counts what happened to them. Long documents are skipped, or cut into windows.

    counts   documents, texts, tokens, too_long, windows, unreadable (documents), unreadable_pieces (of documents read in part),
             dropped (tokens that a window had no room for), unknown (tokens that the tokeniser does not know)
    """

    model: Model
    max_tokens: int | None = None
    window: bool = False
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        tokenizer = tokenizer_of(self.model, NEEDED_FOR_A_CORPUS)
        self._unknown, self._two_texts = unknown_number(tokenizer), bool(self.model._hf.config.is_encoder_decoder)
        limits = [limit for limit in (self.max_tokens, self.model.max_tokens) if limit is not None]
        self.longest = min(limits) if limits else None
        if self.longest is not None and self.longest < 4:
            raise TextError(
                f"At most {self.longest} tokens leave no room for a text.",
                Advice("Give max_tokens=4 or more.", "Give --max-tokens 4 or more."),
            )

    def read(self, document: Document, encoded: TokenizedText | TextError | None = None) -> list[Example]:
        """The texts of a document: one, several windows, or none. encoded: its tokens, or why it has none, where that is known already."""
        self.counts["documents"] += 1
        if (
            not self.window
            and self.longest is not None
            and characters(document.item) > CHARACTERS_A_TOKEN * self.longest * (2 if isinstance(document.item, tuple) else 1)
        ):
            self.counts["too_long"] += 1
            return []
        if self.window and isinstance(document.item, str) and len(document.item) > AT_ONCE:
            pieces = [self._texts(piece) for piece in _pieces(document.item)]
        else:
            pieces = [self._texts(document.item, encoded)]
        texts = [example for piece in pieces for example in piece or ()]
        if None in pieces:  # of a long document, it may be only some of the pieces
            self.counts["unreadable_pieces" if texts else "unreadable"] += pieces.count(None) if texts else 1
        return texts

    def read_many(self, documents: Sequence[Document]) -> list[Example]:
        """The texts of these documents, in order, as `read` gives them; plain texts are tokenised together."""
        encoded: dict[int, TokenizedText | TextError] = {}
        if not self._two_texts:
            most = AT_ONCE if self.window else CHARACTERS_A_TOKEN * self.longest if self.longest is not None else None
            plain = [
                index
                for index, document in enumerate(documents)
                if isinstance(document.item, str) and (most is None or len(document.item) <= most)
            ]
            texts = [str(documents[index].item) for index in plain]
            encoded = dict(zip(plain, encode_many(self.model._tokenizer, texts), strict=True))
        return [example for index, document in enumerate(documents) for example in self.read(document, encoded.get(index))]

    def _texts(self, item: Item, encoded: TokenizedText | TextError | None = None) -> list[Example] | None:
        """The texts that an item makes, none where it is too long; None: it cannot be read. encoded: its tokens, where they are known."""
        try:
            if self._two_texts and isinstance(item, tuple):
                return self._read_and_written(item)
            if isinstance(encoded, TextError):
                return None
            example = Example(self._encode(item) if encoded is None else encoded)
            if self.longest is None or len(example.source) <= self.longest:
                texts = [example]
            elif self.window and not isinstance(item, tuple | Conversation):
                texts = [Example(text) for text in self._windows(example.source, item)]
                self.counts["windows"] += len(texts)
            else:
                self.counts["too_long"] += 1
                return []
            if self._two_texts:
                texts = [self.model.read(self._again(example.source, item)) for example in texts]
        except TextError:
            return None
        return self._counted(texts)

    def _read_and_written(self, item: tuple[str, str]) -> list[Example]:
        """What an encoder reads and what its decoder has written: each may be as long as the model takes."""
        if self.longest is not None and max(len(encode(self.model._tokenizer, text)) for text in item) > self.longest:
            self.counts["too_long"] += 1
            return []
        return self._counted([self.model.read(item)])

    def _counted(self, texts: list[Example]) -> list[Example]:
        self.counts["texts"] += len(texts)
        for example in texts:
            self.counts["tokens"] += len(example.source) + (len(example.target) if example.target else 0)
            unknown = unknown_in(example.source, self._unknown)
            if unknown:
                self.counts["unknown"] += unknown
        return texts

    def _encode(self, item: Item) -> TokenizedText:
        if isinstance(item, Conversation):
            return encode_conversation(tokenizer_of(self.model, NEEDED_FOR_A_CORPUS), item)
        if isinstance(item, list):
            return encode(self.model._tokenizer, words=item)
        text, pair = item if isinstance(item, tuple) else (item, None)
        return encode(self.model._tokenizer, text, pair)

    def _again(self, text: TokenizedText, item: Item) -> Item:
        return item if isinstance(item, tuple) or len(text.sources) != 1 else text.sources[0]

    def _windows(self, text: TokenizedText, item: Item) -> Iterator[TokenizedText]:
        """Pieces of at most `longest` tokens, one after the other, cut between words; a word is cut only where it is longer than that."""
        longest = self.longest or len(text)
        room = longest - sum(text.special)
        words = [group for group in text.word_groups if text.words[group[0]] is not None]
        if text.spans and not isinstance(item, list):
            words = [group[i : i + room] for group in words for i in range(0, len(group), room)]
        start = 0
        while start < len(words):
            end, size = start, 0
            while end < len(words) and (end == start or size + len(words[end]) <= room):
                size += len(words[end])
                end += 1
            if isinstance(item, list):
                given = [text.words[group[0]] for group in words[start:end]]
                piece: Item = [text.word_texts[word] for word in given if word is not None]
            elif text.spans:
                piece = text.sources[0][text.spans[words[start][0]][0] : text.spans[words[end - 1][-1]][1]]
            else:
                piece = " ".join(text.word_texts[text.words[group[0]] or 0] for group in words[start:end])
            read = self._encode(piece)
            if len(read) > longest:  # words of a list are never cut, and parts of a cut word can have more tokens than the word
                self.counts["dropped"] += len(read) - longest
                read = shortened(read, longest)
            yield read
            start = end


def unknown_tokens(counts: Mapping[str, int]) -> tuple[Message, ...]:
    """A notice where most of the tokens that were counted are unknown: one sentence, or none."""
    unknown, tokens = counts.get("unknown", 0), counts.get("tokens", 0)
    if not unknown or unknown < NOTICE_FROM_SHARE * tokens:
        return ()
    return (Message("notice.unknown_tokens", unknown=f"{unknown:,}", tokens=f"{tokens:,}"),)


def shortened(text: TokenizedText, n: int) -> TokenizedText:
    """The first n tokens of a text, its last token (an ending such as [SEP]) included where that is special."""
    kept = list(range(min(n, len(text))))
    if n < len(text) and text.special[-1]:
        kept[-1] = len(text) - 1
    return text.only(kept)


def documents_of(
    corpus: Corpus,
    model: Model,
    *,
    pairs: bool,
    limit: int | None,
    max_tokens: int | None,
    seed: int,
    tally: PairTally | None = None,
) -> Iterator[Document]:
    """The documents of a run, always the same for the same corpus, options and seed; with `limit`, a random choice in corpus order.

    tally   counts, of pairs, the documents that gave none
    """
    if pairs:
        check_limit(limit)
        tokenizer = tokenizer_of(model, NEEDED_FOR_A_CORPUS)
        limits = [n for n in (max_tokens or 128, model.max_tokens) if n is not None]
        return build_pairs(corpus, tokenizer, max_tokens=min(limits), seed=seed, limit=limit, tally=tally)
    if limit is None:
        return iter(corpus)
    check_limit(limit)
    if corpus.n_documents is None:
        return iter(sample_stream(corpus, limit, seed))
    return _at(corpus, sample_indices(corpus.n_documents, limit, seed))


def _at(corpus: Corpus, indices: Sequence[int]) -> Iterator[Document]:
    """The documents at these ascending indices; nothing is read after the last."""
    wanted = iter(indices)
    next_index = next(wanted, None)
    for index, document in enumerate(corpus):
        if index == next_index:
            yield document
            next_index = next(wanted, None)
        if next_index is None:
            return


def _pieces(text: str) -> Iterator[str]:
    """Pieces of about AT_ONCE characters, cut at the white space before that; a text without any is cut where it must be."""
    start = 0
    while start < len(text):
        end = len(text) if len(text) - start <= AT_ONCE else text.rfind(" ", start + 1, start + AT_ONCE) + 1 or start + AT_ONCE
        if text[start:end].strip():
            yield text[start:end]
        start = end


def characters(item: Item) -> int:
    """How many characters a text, a pair, a list of words or a conversation has."""
    return len(item) if isinstance(item, str | Conversation) else sum(map(len, item))


# ---- The random choice behind every `limit`
# The same limit and seed choose the same items in every analysis.


T = TypeVar("T")


def sample_indices(n_items: int, limit: int | None, seed: int, what: str = "documents") -> Sequence[int]:
    """The indices of `limit` of n_items items, drawn without replacement and put in ascending order; all of them where limit is None.

    >>> sample_indices(6, 3, seed=0), sample_indices(2, 3, seed=0), sample_indices(2, None, seed=0)
    ([0, 3, 5], range(0, 2), range(0, 2))
    """
    check_limit(limit, what)
    if limit is None or limit >= n_items:
        return range(n_items)
    return sorted(random.Random(seed).sample(range(n_items), limit))  # noqa: S311 - a seeded choice, not a secret


def check_limit(limit: int | None, what: str = "documents") -> None:
    """Refuse a limit below 1."""
    if limit is not None and limit < 1:
        raise TextError(f"A limit of {limit} {what}.", Advice("Give limit=1 or more.", "Give --limit 1 or more."))


def sample(items: Sequence[T], limit: int | None, seed: int, what: str = "documents") -> list[T]:
    """The items at the indices that `sample_indices` chooses."""
    return [items[index] for index in sample_indices(len(items), limit, seed, what)]


def sample_stream(items: Iterable[T], limit: int, seed: int) -> list[T]:
    """`limit` of the items of a stream of unknown length, in their order, each with the same chance (algorithm R; Vitter 1985).

    One reading, and no more than `limit` items in memory.

    >>> sample_stream("abcdef", 3, seed=0), sample_stream("ab", 3, seed=0)
    (['b', 'c', 'f'], ['a', 'b'])
    """
    draw = random.Random(seed)  # noqa: S311 - a seeded choice, not a secret
    kept: list[tuple[int, T]] = []
    for index, item in enumerate(items):
        if len(kept) < limit:
            kept.append((index, item))
        elif (slot := draw.randrange(index + 1)) < limit:
            kept[slot] = (index, item)
    return [item for _, item in sorted(kept, key=lambda pair: pair[0])]


# ---- The size of batches


#: How many documents make a group; texts are batched by length within a group.
GROUP = 256

#: A batch on a GPU has at most GPU_TEXTS texts, and TOKENS_A_PART tokens for each PART bytes of its memory.
GPU_TEXTS, TOKENS_A_PART, PART = 1024, 8192, 8 << 30


@dataclass(frozen=True)
class BatchSize:
    """The most texts and tokens, padding included, that go through the model together."""

    texts: int
    tokens: int

    @property
    def groups(self) -> int:
        """How many groups of documents a batch may hold: they are read and computed together."""
        return max(1, self.texts // GROUP)

    @classmethod
    def of(cls, model: Model) -> BatchSize:
        """From the total memory of the model's device, not from what is free, so that the same device always gives the same size."""
        device = model._hf.device
        if device.type != "cuda":
            return cls(tracing.BATCH_TEXTS, tracing.BATCH_TOKENS)
        parts = torch.cuda.get_device_properties(device).total_memory // PART
        return cls(GPU_TEXTS, TOKENS_A_PART * max(1, min(16, parts)))


# ---- The facts of a run


def provenance(kind: type[KindOfFacts], model: Model, corpus: CorpusFacts, options: Options) -> KindOfFacts:
    """The facts that are known before a run starts; counts, notices and the rest are added with `dataclasses.replace`."""
    versions = {
        "eyeline": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "numpy": np.__version__,
    }
    notices = (*model.layout.notices, *context_notices(context(model._hf)))
    return kind(model_facts(model), corpus, options, versions=versions, notices=notices)


def model_facts(model: Model) -> ModelFacts:
    """What identifies a model in the facts of a run."""
    return ModelFacts(
        name=model.name,
        revision=model.revision,
        class_name=type(model._hf).__name__,
        dtype=str(model._hf.dtype).removeprefix("torch."),
        sha256=model.identity(),
        stacks={stack: tuple(sizes) for stack, sizes in model.gives.stacks.items()},
    )


def corpus_facts(corpus: Corpus) -> CorpusFacts:
    """What identifies a corpus in the facts of a run."""
    return CorpusFacts(corpus.name, corpus.sha256, documents=corpus.n_documents, unit=corpus.unit)
