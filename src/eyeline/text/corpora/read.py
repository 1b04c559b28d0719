"""A corpus on disk, a document at a time: plain text, JSON lines or CoNLL-U, gzipped or not. Bad bytes are named by line."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from eyeline.errors import TextError, nearest

Item = str | tuple[str, str] | list[str]


@dataclass(frozen=True)
class Document:
    """One document: a text, a pair of texts or a list of words, and where in the file it began (line, from 1).

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
    """Documents in order, read anew each time they are asked for.

    name, sha256   the file's name and the hash of its bytes (of its documents, for a corpus made in memory)
    n_documents    how many there are; empty ones are not counted
    unit           what a document is: a text, a paragraph (between blank lines), a line, a sentence
    """

    name: str
    sha256: str
    n_documents: int
    _read: Callable[[], Iterator[Document]] = field(repr=False, compare=False)
    unit: str = "text"

    def __iter__(self) -> Iterator[Document]:
        return self._read()

    def __len__(self) -> int:
        return self.n_documents

    @property
    def about(self) -> dict[str, str | int]:
        """What a run says of the corpus that it was made from."""
        return {"name": self.name, "sha256": self.sha256, "documents": self.n_documents, "unit": self.unit}

    @classmethod
    def of(cls, given: Corpus | Sequence[Item]) -> Corpus:
        """The corpus given, or one of the texts given. One text alone would be taken for a list of letters: it is refused."""
        if isinstance(given, Corpus):
            return given
        if isinstance(given, str | Path):
            raise TextError(f"One text in place of a corpus: {str(given)[:60]!r}.", "Give a list of texts, or open a file: el.read_corpus.")
        return cls.from_texts(list(given))

    @classmethod
    def from_texts(cls, texts: list[Item], name: str = "texts") -> Corpus:
        """A corpus of texts in memory: strings, pairs (tuples) or lists of words."""
        if not texts:
            raise TextError("An empty corpus: no texts.", "Give at least one.")
        digest = hashlib.sha256(json.dumps(texts).encode()).hexdigest()
        return cls(name, digest, len(texts), lambda: (Document(item, i + 1) for i, item in enumerate(texts)))


def read_corpus(path: str | Path, *, paragraphs: str = "auto", kind: str | None = None) -> Corpus:
    """Open a corpus: .txt, .jsonl or .conllu, each also as .gz. It is read through once here, so that bad bytes show before a run begins.

    kind        text, jsonl or conllu; otherwise the file's ending says it
    paragraphs  of a plain text: "blank" (a blank line ends one), "line" (each line is one), or "auto": by blank lines where the first 1,000
                lines look hard-wrapped (none over 200 characters, several in a row, blank ones between), else by line

    JSON lines: each a string, or an object with `text` (and `pair`), `tokens` or `words`. CoNLL-U: a sentence is a document of words.
    """
    path = Path(path)
    if not path.is_file():
        raise TextError(f"{path}: no such file.", "A corpus is a .txt, .jsonl or .conllu file, plain or .gz.")
    kinds = {"text": _paragraphs, "jsonl": _json_lines, "conllu": _sentences}
    kind = kind or _kind_of(path)
    if kind not in kinds:
        raise TextError(f"A corpus of kind {kind!r}.", nearest(kind, kinds))
    if paragraphs not in ("auto", "blank", "line"):
        raise TextError(f"paragraphs={paragraphs!r}.", "Choices: auto, blank, line.")
    if kind == "text" and paragraphs == "auto":
        paragraphs = _guess_paragraphs(path)

    def read() -> Iterator[Document]:
        return kinds[kind](path, paragraphs)

    count = sum(1 for _ in read())
    if count == 0:
        raise TextError(f"{path}: an empty corpus.", "It holds no document with anything but white space in it.")
    unit = {"jsonl": "text", "conllu": "sentence"}.get(kind) or ("line" if paragraphs == "line" else "paragraph")
    return Corpus(path.name, file_hash(path), count, read, unit)


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


def _open(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


def file_hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines from 1; a line that is not UTF-8 is named."""
    try:
        with _open(path) as file:
            for number, line in enumerate(file, 1):
                try:
                    yield number, line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                except UnicodeDecodeError as error:
                    raise TextError(
                        f"{path}, line {number}: not UTF-8 (byte 0x{line[error.start]:02x}, the {error.start + 1}th of the line).",
                        "Save the file as UTF-8: iconv -f latin1 -t utf-8 FILE",
                    ) from error
    except (OSError, EOFError, zlib.error) as error:
        if isinstance(error, TextError):
            raise
        raise TextError(f"{path}: cannot be read ({error}).", "The file is damaged or not what its ending says.") from error


def _guess_paragraphs(path: Path) -> str:
    """Hard-wrapped text has short lines, several in a row, and blank lines between its paragraphs; elsewhere a line is a paragraph."""
    lines = [line.strip() for _, line in itertools.islice(numbered_lines(path), 1000)]
    in_a_row = any(one and other for one, other in itertools.pairwise(lines))
    return "blank" if in_a_row and "" in lines and max(map(len, lines)) <= 200 else "line"


def _paragraphs(path: Path, by: str) -> Iterator[Document]:
    open_lines: list[str] = []
    start = 0
    for number, line in numbered_lines(path):
        if line.strip():
            start = start if open_lines else number
            open_lines.append(line.strip())
        if open_lines and (by == "line" or not line.strip()):
            yield Document(" ".join(open_lines), start)
            open_lines = []
    if open_lines:
        yield Document(" ".join(open_lines), start)


def _json_lines(path: Path, _: str) -> Iterator[Document]:
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            raise TextError(f"{path}, line {number}: not JSON ({error}).", "Each line is a JSON string or object.") from error
        item = _item(data)
        if item is None:
            shown = line if len(line) < 80 else line[:80] + "…"
            raise TextError(f"{path}, line {number}: no text in {shown}", "Give a string, or an object with text, tokens or words.")
        if (item if isinstance(item, str) else "".join(item)).strip():
            yield Document(item, number)


def _item(data: Any) -> Item | None:
    if isinstance(data, str):
        return data
    if not isinstance(data, dict):
        return None
    text, pair = data.get("text"), data.get("pair")
    if isinstance(text, str):
        return (text, pair) if isinstance(pair, str) else text
    words = data.get("tokens", data.get("words"))
    return words if isinstance(words, list) and words and all(isinstance(word, str) for word in words) else None


def _sentences(path: Path, _: str) -> Iterator[Document]:
    article = ""
    for start, block in conllu_blocks(path, numbered_lines(path)):
        sentence = parse_conllu(path, start, block)
        article = f"line {start}" if any(row.startswith("# newdoc") for row in block) else article
        found = [token for token in sentence if isinstance(token["id"], int)]
        words = [token["form"] for token in found]
        tags = tuple(str(token["upos"] or "_") for token in found)
        yield Document(words, start, (sentence.metadata.get("text") or " ".join(words),), article, tags)


def conllu_blocks(path: Path | str, lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
    """The sentences of numbered CoNLL-U lines, and the line that each begins on; comments without a word are passed over."""
    block: list[str] = []
    start = 0
    for number, line in lines:
        if line.strip():
            start = start if block else number
            if not line.startswith("#") and line.count("\t") != 9:
                raise TextError(
                    f"{path}, line {number}: not CoNLL-U ({line.count(chr(9)) + 1} columns).",
                    "Each word has ten columns with tabs between them.",
                )
            block.append(line)
        elif block:
            if any(not row.startswith("#") for row in block):
                yield start, block
            block = []
    if any(not row.startswith("#") for row in block):
        yield start, block


def parse_conllu(path: Path | str, line: int, block: list[str]) -> Any:
    """One sentence as the conllu library gives it: a list of tokens with `metadata`."""
    import conllu

    lines = (row if row.startswith("#") else re.sub(" {2,}", " ", row) for row in block)  # the library takes two spaces for a tab
    try:
        return conllu.parse("\n".join(lines) + "\n\n")[0]
    except (conllu.exceptions.ParseException, IndexError) as error:
        raise TextError(f"{path}, line {line}: not CoNLL-U ({error}).", "Each word has ten columns with tabs between them.") from error
