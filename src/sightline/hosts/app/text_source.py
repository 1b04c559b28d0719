"""The sample, a pasted text or an uploaded file: where a page's corpus comes from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from sightline.hosts.app.corpus import SOURCES, sample
from sightline.hosts.app.messages import Say
from sightline.hosts.app.settings import current
from sightline.hosts.app.uploads import as_file, received
from sightline.text.corpora import Corpus, read_corpus

ENDINGS = ("txt", "jsonl", "conllu", "txt.gz", "jsonl.gz", "conllu.gz")


@dataclass(frozen=True)
class Source:
    """What the visitor gave."""

    kind: str
    text: str = ""
    upload: Any = None

    def corpus(self, say: Say) -> Corpus | None:
        """The corpus, in memory; None where nothing was given yet. Parts of speech stay, where the file has them."""
        if self.kind == "upload":
            if self.upload is None:
                return None
            name, data = received(say, self.upload, ENDINGS, say("corpus.called_upload"))
        else:
            name, data = f"{say(f'corpus.called_{self.kind}')}.txt", self._written().encode("utf-8", "replace")
        if not data.strip():
            return None
        with as_file(name, data) as path:
            found = read_corpus(path)
            held = list(found)
        shown = name if self.kind == "upload" else name.removesuffix(".txt")
        return replace(found, name=shown, _read=lambda: iter(held))

    def _written(self) -> str:
        return sample() if self.kind == "sample" else self.text


def text_source(say: Say, key: str) -> Source:
    """The widgets: which kind, and what that kind needs."""
    limits = current().limits
    kind = st.segmented_control(
        say("corpus.source"), SOURCES, format_func=lambda name: say(f"corpus.source_{name}"), default="sample", key=f"{key}-source",
        required=True,
    )  # fmt: skip
    if kind == "paste":
        text = st.text_area(say("corpus.paste"), height=180, max_chars=limits.pasted, help=say("corpus.paste_help"), key=f"{key}-text")
        return Source("paste", text=text)
    if kind == "upload":
        size = max(1, limits.upload // (1024 * 1024))
        upload = st.file_uploader(
            say("corpus.upload", size=size), type=["txt", "jsonl", "conllu", "gz"], max_upload_size=size,
            help=say("corpus.upload_help"), key=f"{key}-file",
        )  # fmt: skip
        return Source("upload", upload=upload)
    st.text_area(say("corpus.sample"), sample(), height=180, disabled=True, key=f"{key}-sample")
    return Source("sample")
