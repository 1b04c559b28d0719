"""A corpus: documents in order, from a file or from memory."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eyeline.errors import TextError
from eyeline.text.conversation import Conversation, is_conversation

Item = str | tuple[str, str] | list[str] | Conversation

ITEMS = (
    "Give a list of strings, of pairs (tuples of two strings), of lists of words or of conversations (lists of messages)."
    " Images and sound are traced one at a time."
)


@dataclass(frozen=True)
class Document:
    """One document: a text, a pair of texts, a list of words or a conversation, and where in the file it began (line, from 1).

    sentences  its sentences, where the file says which they are; empty where it does not
    group      documents of one group follow on each other (the sentences of one article); empty: it stands alone
    tags       the part of speech of each word of a list of words, where the file says it (CoNLL-U); empty where it does not
    """

    item: Item
    line: int
    sentences: tuple[str, ...] = ()
    group: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Corpus:
    """Documents in order, read again at each iteration.

    name, sha256   the file's name and the hash of its bytes (of its documents, for a corpus made in memory; of what its directory or its
                   store says, for Parquet and for files elsewhere)
    n_documents    how many there are; empty lines are not counted, empty rows of a table are; None: a stream, not counted
    unit           what a document is: a text, a paragraph (between blank lines), a line, a sentence
    """

    name: str
    sha256: str
    n_documents: int | None
    _read: Callable[[], Iterator[Document]] = field(repr=False, compare=False)
    unit: str = "text"

    def __iter__(self) -> Iterator[Document]:
        return self._read()

    def __len__(self) -> int:
        if self.n_documents is None:
            raise TypeError(f"{self.name} is a stream: the number of its documents is not known.")
        return self.n_documents

    @property
    def about(self) -> dict[str, str | int | None]:
        """What a run says of the corpus that it was made from."""
        return {"name": self.name, "sha256": self.sha256, "documents": self.n_documents, "unit": self.unit}

    @classmethod
    def of(cls, given: Corpus | Sequence[Item]) -> Corpus:
        """The corpus given, or one of the texts given. One text alone would be taken for a list of letters: it is refused."""
        if isinstance(given, Corpus):
            return given
        if isinstance(given, str | Path):
            raise TextError(
                f"One text in place of a corpus: {str(given)[:60]!r}.", "Give a list of texts, or open a file: el.corpora.read_corpus."
            )
        if not isinstance(given, Iterable):
            raise TextError(f"A {type(given).__name__} in place of a corpus.", ITEMS)
        return cls.from_texts(list(given))

    @classmethod
    def from_texts(cls, texts: list[Any], name: str = "texts") -> Corpus:
        """A corpus of texts in memory: strings, pairs (tuples), lists of words or conversations."""
        if not texts:
            raise TextError("An empty corpus: no texts.", "Give at least one.")
        texts = [Conversation.of(item) if is_conversation(item) else item for item in texts]
        for number, item in enumerate(texts):
            if isinstance(item, Conversation):
                continue
            parts = item if isinstance(item, list | tuple) else [item]
            if not all(isinstance(part, str) for part in parts):
                kinds = ", ".join(dict.fromkeys(type(part).__name__ for part in parts if not isinstance(part, str)))
                raise TextError(f"Text {number} of the corpus is not text: it holds {kinds}.", ITEMS)
        digest = hashlib.sha256(json.dumps(texts, default=Conversation.to_json).encode()).hexdigest()
        return cls(name, digest, len(texts), lambda: (Document(item, i + 1) for i, item in enumerate(texts)))
