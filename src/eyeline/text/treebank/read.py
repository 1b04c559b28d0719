"""Treebanks in CoNLL-U, plain or gzipped → sentences with one head for each word."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from eyeline.errors import TextError
from eyeline.text.corpora.read import conllu_blocks, file_hash, numbered_lines, parse_conllu

ROOT = -1


@dataclass(frozen=True)
class Sentence:
    """A sentence of a treebank; words count from 0.

    id        its sent_id, or the line it begins on
    words     the syntactic words: of a multi-word token its parts, no empty nodes
    heads     the head of each word, ROOT (-1) for the root
    deprels   the relation of each word to its head, subtypes included (nmod:poss)
    spaces    whether a space follows each word in the text; None where the file does not say
    misc      the MISC column of each word
    document  documents follow each other; sentences of one have the same name here (`# newdoc id`), empty where the file names none
    """

    id: str
    words: tuple[str, ...]
    heads: tuple[int, ...]
    deprels: tuple[str, ...]
    upos: tuple[str, ...] = ()
    spaces: tuple[bool, ...] | None = None
    misc: tuple[Mapping[str, str], ...] = field(default=(), repr=False)
    document: str = ""

    def __post_init__(self) -> None:
        n = len(self.words)
        if len(self.heads) != n or len(self.deprels) != n:
            raise TextError(f"{self.id}: {n} words, {len(self.heads)} heads, {len(self.deprels)} relations.", "Give one for each word.")
        fault = tree_fault(self.heads)
        if fault is not None:
            raise TextError(f"{self.id}: {fault}.", "Every word has one head, and following heads leads to one root.")

    def __len__(self) -> int:
        return len(self.words)


@dataclass(frozen=True)
class Treebank:
    """Sentences in order, and what was left out of them.

    skipped   sentence id → why it is no tree
    """

    name: str
    sha256: str
    sentences: tuple[Sentence, ...] = field(repr=False)
    skipped: Mapping[str, str] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Sentence]:
        return iter(self.sentences)

    def __len__(self) -> int:
        return len(self.sentences)

    def __getitem__(self, place: int) -> Sentence:
        return self.sentences[place]

    @classmethod
    def of(cls, sentences: Sequence[Sentence], name: str = "sentences") -> Treebank:
        """A treebank of sentences in memory."""
        if not sentences:
            raise TextError("An empty treebank: no sentences.", "Give at least one.")
        content = json.dumps([(one.words, one.heads, one.deprels) for one in sentences])
        return cls(name, hashlib.sha256(content.encode()).hexdigest(), tuple(sentences))

    def halves(self, seed: int = 0) -> tuple[Treebank, Treebank]:
        """Two treebanks: half of the sentences, drawn at random, and the others, each in order; what was skipped is told by the second."""
        if len(self) < 2:
            raise TextError(f"{self.name} has one sentence.", "Two halves need at least two.")
        first = set(random.Random(seed).sample(range(len(self)), len(self) // 2))  # noqa: S311 - a seeded choice, not a secret
        kept = (
            tuple(one for place, one in enumerate(self) if place in first),
            tuple(one for place, one in enumerate(self) if place not in first),
        )
        other = replace(self.of(kept[1], f"the other half of {self.name}"), skipped=self.skipped)
        return self.of(kept[0], f"one half of {self.name}"), other


def as_treebank(given: Treebank | Sequence[Sentence] | str | Path) -> Treebank:
    """What an analysis was given: a treebank as it is, a file read, sentences taken together."""
    if isinstance(given, Treebank):
        return given
    if isinstance(given, str | Path):
        return read_treebank(given)
    sentences = list(given)
    wrong = next((one for one in sentences if not isinstance(one, Sentence)), None)
    if wrong is not None:
        raise TextError(f"A sentence given as {type(wrong).__name__}.", "Give el.read_treebank(FILE), the file, or a list of el.Sentence.")
    return Treebank.of(sentences)


def read_treebank(path: str | Path, *, strict: bool = False) -> Treebank:
    """Read a treebank: .conllu, plain or .gz, in the basic dependencies of Universal Dependencies.

    Multi-word tokens give their parts, empty nodes and enhanced heads are passed over. A sentence with two roots, none, a cycle, or a head
    that is not there is skipped and named in `skipped`; with `strict` it is an error.
    """
    path = Path(path)
    if not path.is_file():
        raise TextError(f"{path}: {'a folder' if path.is_dir() else 'no such file'}.", "A treebank is a .conllu file, plain or .gz.")
    return _collect(path, path.name, file_hash(path), numbered_lines(path), strict=strict)


def parse_treebank(text: str, name: str = "treebank", *, strict: bool = False) -> Treebank:
    """A treebank from CoNLL-U in memory."""
    lines = (line.rstrip("\r") for line in text.split("\n"))  # not splitlines: U+2028 and its like may stand within a word
    return _collect(name, name, hashlib.sha256(text.encode()).hexdigest(), enumerate(lines, 1), strict=strict)


def _collect(path: Path | str, name: str, digest: str, lines: Iterable[tuple[int, str]], *, strict: bool) -> Treebank:
    sentences: list[Sentence] = []
    skipped: dict[str, str] = {}
    document = ""
    for line, block in conllu_blocks(path, lines):
        parsed = parse_conllu(path, line, block)
        named = next((row for row in block if row.startswith("# newdoc")), None)
        document = document if named is None else named.partition("=")[2].strip() or f"line {line}"
        number = parsed.metadata.get("sent_id") or f"line {line}"
        try:
            found = _sentence(number, parsed, document)
        except TextError as error:
            if strict:
                raise TextError(
                    f"{path}: sentence {number}, line {line}, is no tree.", str(error), "Without --strict it is skipped."
                ) from error
            named_before = number in skipped  # two sentences of one name are two
            skipped[f"{number}, line {line}" if named_before else number] = str(error).splitlines()[0].removeprefix(f"{number}: ")
            continue
        sentences.append(found)
    if not sentences:
        why = (
            f"All {len(skipped):,} sentences were skipped; the first: {next(iter(skipped.values()))}"
            if skipped
            else "It holds no sentence."
        )
        raise TextError(f"{path}: an empty treebank.", why)
    return Treebank(name, digest, tuple(sentences), skipped)


def tree_fault(heads: Sequence[int]) -> str | None:
    """What keeps these heads from being a tree; None where they are one.

    >>> tree_fault([1, -1, 1]), tree_fault([1, 0, -1]), tree_fault([-1, -1]), tree_fault([7, -1])
    (None, 'a cycle through word 1', 'two roots, words 1 and 2', 'word 1 has head 8, and there are 2 words')
    """
    roots = [place for place, head in enumerate(heads) if head == ROOT]
    outside = next((place for place, head in enumerate(heads) if not ROOT <= head < len(heads)), None)
    if outside is not None:
        return f"word {outside + 1} has head {heads[outside] + 1}, and there are {len(heads)} words"
    if len(roots) > 1:
        return f"two roots, words {roots[0] + 1} and {roots[1] + 1}"
    if not roots:
        return "no root"
    ends: set[int] = set(roots)  # words that are known to lead to the root
    for start in range(len(heads)):
        path: list[int] = []
        place = start
        while place not in ends:
            if place in path:
                return f"a cycle through word {place + 1}"
            path.append(place)
            place = heads[place]
        ends.update(path)
    return None


def _sentence(name: str, parsed: Any, document: str) -> Sentence:
    words = [token for token in parsed if isinstance(token["id"], int)]
    heads = []
    for place, word in enumerate(words):
        if word["id"] != place + 1:
            raise TextError(f"{name}: word {place + 1} has the number {word['id']}.")
        if not isinstance(word["head"], int) or word["deprel"] in (None, "", "_"):
            raise TextError(f"{name}: word {place + 1}, {word['form']!r}, has no head or no relation.")
        heads.append(word["head"] - 1)
    forms = tuple(str(word["form"]) for word in words)
    return Sentence(
        id=name,
        words=forms,
        heads=tuple(heads),
        deprels=tuple(str(word["deprel"]) for word in words),
        upos=tuple(str(word["upos"] or "_") for word in words),
        spaces=spaces_of(forms, parsed),
        misc=tuple({str(key): str(value) for key, value in (word["misc"] or {}).items()} for word in words),
        document=document,
    )


def spaces_of(forms: Sequence[str], parsed: Any) -> tuple[bool, ...] | None:
    """From the sentence's text where its words lie in it, else from SpaceAfter=No; None where the file says neither."""
    text = parsed.metadata.get("text") or ""
    position = 0
    found: list[bool] = []
    for form in forms:
        start = text.find(form, position)
        if start < 0 or text[position:start].strip():
            break
        if found:
            found[-1] = start > position
        found.append(True)
        position = start + len(form)
    else:
        return tuple(found)
    together = {token["id"] for token in parsed if (token["misc"] or {}).get("SpaceAfter") == "No"}
    marks = [number not in together for number in range(1, len(forms) + 1)]
    for token in parsed:  # the parts of don't are written together, those of im (in dem) are not; its own mark is that of its last part
        if isinstance(token["id"], tuple) and token["id"][1] == "-":
            first, _, last = token["id"]
            joined = "".join(forms[first - 1 : last]) == token["form"]
            marks[first - 1 : last - 1] = [not joined] * (last - first)
            marks[last - 1] = token["id"] not in together
    return tuple(marks) if not all(marks) else None
