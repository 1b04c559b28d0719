"""Open a corpus file: plain text, JSON lines or CoNLL-U, gzipped or not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from eyeline.errors import TextError, nearest
from eyeline.storage.names import as_path
from eyeline.text.corpora.conllu import read_sentences
from eyeline.text.corpora.corpus import Corpus, Document
from eyeline.text.corpora.json_lines import read_json_lines
from eyeline.text.corpora.lines import check_is_file, file_hash, file_name
from eyeline.text.corpora.plain_text import guess_paragraphs, read_paragraphs

KINDS = ("text", "jsonl", "conllu")


def read_corpus(path: str | Path, *, paragraphs: str = "auto", kind: str | None = None) -> Corpus:
    """Open a corpus: .txt, .jsonl or .conllu, each also as .gz. It is read through once here, so that bad bytes show before a run begins.

    kind        text, jsonl or conllu; otherwise the file's ending says it
    paragraphs  of a plain text: "blank" (a blank line ends one), "line" (each line is one), or "auto": by blank lines where the first 1,000
                lines look hard-wrapped (none over 200 characters, several in a row, blank ones between), else by line

    JSON lines: each a string, or an object with `text` (and `pair`), `tokens` or `words`. CoNLL-U: a sentence is a document of words.
    """
    path = as_path(path)
    check_is_file(path, "A corpus is a .txt, .jsonl or .conllu file, plain or .gz.")
    kind = kind or _kind_of(path)
    if kind not in KINDS:
        raise TextError(f"A corpus of kind {kind!r}.", nearest(kind, KINDS))
    if paragraphs not in ("auto", "blank", "line"):
        raise TextError(f"paragraphs={paragraphs!r}.", "Choices: auto, blank, line.")
    if kind == "text" and paragraphs == "auto":
        paragraphs = guess_paragraphs(path)

    def read() -> Iterator[Document]:
        if kind == "text":
            return read_paragraphs(path, paragraphs)
        return read_json_lines(path) if kind == "jsonl" else read_sentences(path)

    count = sum(1 for _ in read())
    if count == 0:
        raise TextError(f"{path}: an empty corpus.", "It holds no document with anything but white space in it.")
    unit = {"jsonl": "text", "conllu": "sentence"}.get(kind) or ("line" if paragraphs == "line" else "paragraph")
    return Corpus(file_name(path), file_hash(path), count, read, unit)


def _kind_of(path: Path) -> str:
    endings = {
        ".txt": "text",
        ".text": "text",
        ".md": "text",
        ".jsonl": "jsonl",
        ".ndjson": "jsonl",
        ".conllu": "conllu",
        ".conll": "conllu",
    }
    ending = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
    if ending.lower() not in endings:
        raise TextError(f"{path}: what kind of corpus is this?", "Give its kind: --kind text, jsonl or conllu.")
    return endings[ending.lower()]
