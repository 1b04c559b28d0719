"""Where a page's corpus comes from: the sample, a pasted text or an uploaded file of limited size, read by the library."""

from __future__ import annotations

import gzip
import io
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from eyeline.errors import EyelineError, TextError
from eyeline.show.app.kit.models import model_named
from eyeline.show.app.kit.page import TYPED_TEXT, CorpusFile, escaped, refuse
from eyeline.show.app.kit.settings import current
from eyeline.show.app.kit.sharing import TURNS
from eyeline.storage.files import is_plain_name
from eyeline.text.corpora.corpus import Corpus, Document
from eyeline.text.corpora.read import read_corpus
from eyeline.text.corpora.sample import sample_text
from eyeline.words import Words

if TYPE_CHECKING:
    from eyeline.models.model import Model

SOURCES = ("sample", "paste", "upload")

ENDINGS = ("txt", "jsonl", "conllu", "txt.gz", "jsonl.gz", "conllu.gz")

#: Endings for the browser's file dialog, which looks only at the last one (gz of txt.gz).
OFFERED = ("txt", "jsonl", "conllu", "gz")

#: A field takes this many times the limit, so that a text over the limit is refused with a message and not cut in silence.
TYPED = 5


@dataclass(frozen=True)
class Documents:
    """The documents of a corpus in memory, which may be sent to another process."""

    items: tuple[Document, ...]

    def __call__(self) -> Iterator[Document]:
        return iter(self.items)


@dataclass(frozen=True)
class TextSource:
    """What the visitor gave. kind: one of SOURCES."""

    kind: str
    text: str = ""
    upload: Any = None

    @property
    def file(self) -> CorpusFile:
        """What the recipe reads."""
        return CorpusFile(TYPED_TEXT if self.upload is None else str(self.upload.name), self.kind == "sample")

    def content(self) -> bytes:
        """What was given, as bytes: two sources with the same content are the same corpus."""
        given = f"{self.upload.name}\n".encode() + bytes(self.upload.getvalue()) if self.upload is not None else self.text.encode()
        return f"{self.kind}\n".encode() + (sample_text().encode() if self.kind == "sample" else given)

    def read(self, say: Words) -> Corpus | None:
        """The corpus; None, with a message on the page, where nothing was given or the text is too long."""
        most = current().limits.pasted
        if len(self.text) > most:
            refuse(say, "corpus.too_long", n=f"{len(self.text):,}", most=f"{most:,}")
            return None
        corpus = self.corpus(say)
        if corpus is None:
            refuse(say, "corpus.nothing")
        return corpus

    def corpus(self, say: Words) -> Corpus | None:
        """The corpus, in memory; None where nothing was given yet. Parts of speech stay, where the file has them."""
        if self.kind == "upload":
            if self.upload is None:
                return None
            name, data = received(say, self.upload, ENDINGS, say("corpus.called_upload"))
        else:
            text = sample_text() if self.kind == "sample" else self.text
            name, data = f"{say(f'corpus.called_{self.kind}')}.txt", text.encode("utf-8", "replace")
        if not data.strip():
            return None
        with as_file(name, data) as path:
            corpus = read_corpus(path)
            documents = list(corpus)
        shown_name = name if self.kind == "upload" else name.removesuffix(".txt")
        return replace(corpus, name=shown_name, _read=Documents(tuple(documents)))


def text_source(say: Words, key: str) -> TextSource:
    """The widgets: which kind, and what that kind needs."""
    limits = current().limits
    kind = st.segmented_control(
        say("corpus.source"), SOURCES, format_func=lambda name: say(f"corpus.source_{name}"), default="sample", key=f"{key}-source",
        required=True,
    )  # fmt: skip
    if kind == "paste":
        most = TYPED * limits.pasted
        text = st.text_area(say("corpus.paste"), height=180, max_chars=most, help=say("corpus.paste_help"), key=f"{key}-text")
        return TextSource("paste", text[:most])
    if kind == "upload":
        size = max(1, limits.upload // (1024 * 1024))
        upload = st.file_uploader(
            say("corpus.upload", size=size), type=list(OFFERED), max_upload_size=size, help=say("corpus.upload_help"), key=f"{key}-file"
        )
        return TextSource("upload", upload=upload)
    st.text_area(say("corpus.sample"), sample_text(), height=180, disabled=True, key=f"{key}-sample")
    return TextSource("sample")


# ---- The text and the models of a page, opened before its analysis is submitted


@dataclass(frozen=True)
class Opened:
    """A corpus and the models that will read it, in the order of their names."""

    corpus: Corpus
    models: tuple[Model, ...]


def open_text_and_models(say: Words, source: TextSource, *names: str) -> Opened | None:
    """Open them now, so that a bad file is reported at once. None, with a message on the page, where something cannot be opened."""
    try:
        corpus = source.read(say)
        if corpus is None:
            return None
        models = []
        for name in names:
            with st.spinner(say("look.loading", model=escaped(name))):
                models.append(model_named(name))
        return Opened(corpus, tuple(models))
    except EyelineError as error:
        refuse(say, "corpus.bad_text", error)
        return None


# ---- Uploaded files: error messages are shown without paths of the server


#: An unpacked file may be this many times as large as an upload.
MOST_GROWTH = 4

PIECE = 1 << 20


def received(say: Words, upload: Any, endings: Sequence[str], called: str) -> tuple[str, bytes]:
    """The name and bytes of an uploaded file; refused if too large or of another kind. called: used where its name is not valid."""
    name, data, most = str(upload.name), bytes(upload.getvalue()), current().limits.upload
    if len(data) > most:
        raise TextError(say("corpus.too_large", n=f"{len(data):,}", most=f"{most:,}"))
    ending = next((ending for ending in sorted(endings, key=len, reverse=True) if name.lower().endswith(f".{ending}")), None)
    if ending is None:
        shown = name.rsplit(".", 1)[-1][:20]
        raise TextError(say("grammar.bad_ending", ending=shown, known=say.listed(f".{known}" for known in endings)))
    if ending.endswith("gz") and unpacked_size(data, MOST_GROWTH * most) > MOST_GROWTH * most:
        raise TextError(say("grammar.too_large_unpacked", most=f"{MOST_GROWTH * most:,}"))
    return (name if is_plain_name(name) else f"{called}.{ending}"), data


def unpacked_size(data: bytes, most: int) -> int:
    """How many bytes a gzipped file would grow to, counted up to a little over `most`. A damaged file is left to its reader.

    >>> unpacked_size(gzip.compress(bytes(5000)) + bytes(100) + gzip.compress(bytes(500)), 10_000)  # zeros between members are passed over
    5500
    """
    size = 0
    with suppress(OSError, EOFError, zlib.error), gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        while size <= most and (piece := file.read(PIECE)):
            size += len(piece)
    return size


@contextmanager
def as_file(name: str, data: bytes) -> Iterator[Path]:
    """The bytes as a temporary file; errors about it show the visitor's name for the file. Pages of others are drawn while it is read."""
    with TURNS.while_others_draw(), tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        try:
            yield path
        except TextError as error:
            raise TextError(error.for_app.replacing(str(path), name)) from error
