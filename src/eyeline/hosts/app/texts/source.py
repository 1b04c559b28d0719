"""The sample, a pasted text or an uploaded file: where a page's corpus comes from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from eyeline.hosts.app.messages import Say
from eyeline.hosts.app.plain import refuse
from eyeline.hosts.app.recipe import TYPED_TEXT, CorpusFile
from eyeline.hosts.app.settings import current
from eyeline.hosts.app.texts.uploads import as_file, received
from eyeline.sample.text import sample_text
from eyeline.text.corpora.corpus import Corpus, Document
from eyeline.text.corpora.read import read_corpus

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

    def read(self, say: Say) -> Corpus | None:
        """The corpus; None, with a message on the page, where nothing was given or the text is too long."""
        most = current().limits.pasted
        if len(self.text) > most:
            refuse(say, "corpus.too_long", n=f"{len(self.text):,}", most=f"{most:,}")
            return None
        corpus = self.corpus(say)
        if corpus is None:
            refuse(say, "corpus.nothing")
        return corpus

    def corpus(self, say: Say) -> Corpus | None:
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


def text_source(say: Say, key: str) -> TextSource:
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
