"""From documents to the tokens that the model reads: long documents are skipped and counted, or cut into windows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from transformers import PreTrainedTokenizerBase

from eyeline.analyses.sampling import check_limit, sample_indices, sample_stream
from eyeline.capture.collect import Sides
from eyeline.errors import Advice, ModelError, TextError
from eyeline.models.model import Model
from eyeline.text.corpora.corpus import Corpus, Document, Item
from eyeline.text.corpora.pairs import PairTally, build_pairs
from eyeline.text.encode import encode
from eyeline.text.encode_many import encode_many
from eyeline.text.tokenized import TokenizedText
from eyeline.text.unknown import NOTICE_FROM_SHARE, unknown_in, unknown_number
from eyeline.words import Words

#: A text with more characters than this for each token that fits is too long, and is not tokenised.
CHARACTERS_A_TOKEN = 64
#: With windows, a longer text is cut at white space into pieces of about this many characters before it is tokenised.
AT_ONCE = 50_000
NEEDED_FOR_A_CORPUS = "A corpus of texts needs a model that reads text."


def tokenizer_of(model: Model, advice: str) -> PreTrainedTokenizerBase:
    """The tokeniser of a model; a model without one is an error. advice: what needs it, or what to give instead."""
    if model.tokenizer is None:
        raise ModelError(f"{model.name} has no tokeniser.", advice)
    return model.tokenizer


@dataclass
class Preparation:
    """Tokenises documents for one model and counts what happened to them.

    counts   documents, texts, tokens, too_long, windows, unreadable (documents), unreadable_pieces (of documents read in part),
             dropped (tokens that a window had no room for), unknown (tokens that the tokeniser does not know)
    """

    model: Model
    max_tokens: int | None = None
    window: bool = False
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        tokenizer = tokenizer_of(self.model, NEEDED_FOR_A_CORPUS)
        self._unknown, self._two_texts = unknown_number(tokenizer), bool(self.model.hf.config.is_encoder_decoder)
        limits = [limit for limit in (self.max_tokens, self.model.max_tokens) if limit is not None]
        self.longest = min(limits) if limits else None
        if self.longest is not None and self.longest < 4:
            raise TextError(
                f"At most {self.longest} tokens leave no room for a text.",
                Advice("Give max_tokens=4 or more.", "Give --max-tokens 4 or more."),
            )

    def read(self, document: Document, encoded: TokenizedText | TextError | None = None) -> list[Sides]:
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
        texts = [side for piece in pieces for side in piece or ()]
        if None in pieces:  # of a long document, it may be only some of the pieces
            self.counts["unreadable_pieces" if texts else "unreadable"] += pieces.count(None) if texts else 1
        return texts

    def read_many(self, documents: Sequence[Document]) -> list[Sides]:
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
            encoded = dict(zip(plain, encode_many(self.model.tokenizer, texts), strict=True))
        return [side for index, document in enumerate(documents) for side in self.read(document, encoded.get(index))]

    def _texts(self, item: Item, encoded: TokenizedText | TextError | None = None) -> list[Sides] | None:
        """The texts that an item makes, none where it is too long; None: it cannot be read. encoded: its tokens, where they are known."""
        try:
            if self._two_texts and isinstance(item, tuple):
                return self._read_and_written(item)
            if isinstance(encoded, TextError):
                return None
            sides = Sides(self._encode(item) if encoded is None else encoded)
            if self.longest is None or len(sides.source) <= self.longest:
                texts = [sides]
            elif self.window and not isinstance(item, tuple):
                texts = [Sides(text) for text in self._windows(sides.source, item)]
                self.counts["windows"] += len(texts)
            else:
                self.counts["too_long"] += 1
                return []
            if self._two_texts:
                texts = [self.model.read(self._again(side.source, item)) for side in texts]
        except TextError:
            return None
        return self._counted(texts)

    def _read_and_written(self, item: tuple[str, str]) -> list[Sides]:
        """What an encoder reads and what its decoder has written: each may be as long as the model takes."""
        if self.longest is not None and max(len(encode(self.model.tokenizer, text)) for text in item) > self.longest:
            self.counts["too_long"] += 1
            return []
        return self._counted([self.model.read(item)])

    def _counted(self, texts: list[Sides]) -> list[Sides]:
        self.counts["texts"] += len(texts)
        for side in texts:
            self.counts["tokens"] += len(side.source) + (len(side.target) if side.target else 0)
            unknown = unknown_in(side.source, self._unknown)
            if unknown:
                self.counts["unknown"] += unknown
        return texts

    def _encode(self, item: Item) -> TokenizedText:
        if isinstance(item, list):
            return encode(self.model.tokenizer, words=item)
        text, pair = item if isinstance(item, tuple) else (item, None)
        return encode(self.model.tokenizer, text, pair)

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


def unknown_tokens(counts: Mapping[str, int]) -> tuple[str, ...]:
    """A notice where most of the tokens that were counted are unknown: one sentence, or none."""
    unknown, tokens = counts.get("unknown", 0), counts.get("tokens", 0)
    if not unknown or unknown < NOTICE_FROM_SHARE * tokens:
        return ()
    return (Words()("notice.unknown_tokens", unknown=f"{unknown:,}", tokens=f"{tokens:,}"),)


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
    """How many characters a text, a pair or a list of words has."""
    return len(item) if isinstance(item, str) else sum(map(len, item))
