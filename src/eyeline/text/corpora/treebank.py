"""Treebanks in CoNLL-U, plain or gzipped: sentences in order, with one governor for each word."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from eyeline.errors import Advice, TextError
from eyeline.messages import Message
from eyeline.storage.files import as_path
from eyeline.text.corpora.conllu import conllu_blocks, parse_conllu
from eyeline.text.corpora.files import check_is_file, file_hash, file_name, numbered_lines

ROOT = -1


@dataclass(frozen=True)
class Sentence:
    """A sentence of a treebank; words count from 0.

    id        its sent_id, or the line it begins on
    words     the syntactic words: of a multi-word token its parts, no empty nodes
    governors the index of each word's governor (the word it depends on), ROOT (-1) for the root
    deprels   the relation of each word to its governor, subtypes included (nmod:poss)
    spaces    whether a space follows each word in the text; None where the file does not say
    misc      the MISC column of each word
    document  documents follow each other; sentences of one have the same name here (`# newdoc id`), empty where the file names none
    """

    id: str
    words: tuple[str, ...]
    governors: tuple[int, ...]
    deprels: tuple[str, ...]
    upos: tuple[str, ...] = ()
    spaces: tuple[bool, ...] | None = None
    misc: tuple[Mapping[str, str], ...] = field(default=(), repr=False)
    document: str = ""

    def __post_init__(self) -> None:
        n = len(self.words)
        if len(self.governors) != n or len(self.deprels) != n:
            raise TextError(
                f"{self.id}: {n} words, {len(self.governors)} governors, {len(self.deprels)} relations.", "Give one for each word."
            )
        fault = tree_fault(self.governors)
        if fault is not None:
            raise TextError(Message("refusal.sentence", sentence=self.id, fault=fault), Message("refusal.one_governor"))

    def __len__(self) -> int:
        return len(self.words)


@dataclass(frozen=True)
class Treebank:
    """Sentences in order, and what was left out of them.

    skipped     sentence id → why it is not a tree
    synthetic   whether a program made the sentences up: the file says so in a comment, `# synthetic = …`
    """

    name: str
    sha256: str
    sentences: tuple[Sentence, ...] = field(repr=False)
    skipped: Mapping[str, Message] = field(default_factory=dict)
    synthetic: bool = False

    def __iter__(self) -> Iterator[Sentence]:
        return iter(self.sentences)

    def __len__(self) -> int:
        return len(self.sentences)

    def __getitem__(self, index: int) -> Sentence:
        return self.sentences[index]

    @classmethod
    def of(cls, sentences: Sequence[Sentence], name: str = "sentences") -> Treebank:
        """A treebank of sentences in memory."""
        if not sentences:
            raise TextError("An empty treebank: no sentences.", "Give at least one.")
        content = json.dumps([(sentence.words, sentence.governors, sentence.deprels) for sentence in sentences])
        return cls(name, hashlib.sha256(content.encode()).hexdigest(), tuple(sentences))

    def halves(self, seed: int = 0) -> tuple[Treebank, Treebank]:
        """Two treebanks: half of the sentences, drawn at random, and the others, each in order; the second lists what was skipped."""
        if len(self) < 2:
            raise TextError(Message("refusal.one_sentence", corpus=self.name), Message("refusal.two_halves"))
        chosen = set(random.Random(seed).sample(range(len(self)), len(self) // 2))  # noqa: S311 - a seeded choice, not a secret
        kept = (
            tuple(sentence for index, sentence in enumerate(self) if index in chosen),
            tuple(sentence for index, sentence in enumerate(self) if index not in chosen),
        )
        half, other = self.of(kept[0], f"one half of {self.name}"), self.of(kept[1], f"the other half of {self.name}")
        return replace(half, synthetic=self.synthetic), replace(other, synthetic=self.synthetic, skipped=self.skipped)


def tree_fault(governors: Sequence[int]) -> Message | None:
    """Why these governors are not a tree, or None where they are one.

    >>> tree_fault([1, -1, 1]), tree_fault([1, 0, -1]), tree_fault([-1, -1]), tree_fault([7, -1])
    (None, 'a cycle through word 1.', 'two roots, words 1 and 2.', 'word 1 has governor 8, and there are 2 words.')
    """
    roots = [word for word, governor in enumerate(governors) if governor == ROOT]
    outside = next((word for word, governor in enumerate(governors) if not ROOT <= governor < len(governors)), None)
    if outside is not None:
        numbers = {"word": str(outside + 1), "governor": str(governors[outside] + 1), "words": str(len(governors))}
        return Message("notice.dropped.outside", **numbers)
    if len(roots) > 1:
        return Message("notice.dropped.two_roots", first=str(roots[0] + 1), second=str(roots[1] + 1))
    if not roots:
        return Message("notice.dropped.no_root")
    ends: set[int] = set(roots)  # words that are known to lead to the root
    for start in range(len(governors)):
        path: set[int] = set()
        word = start
        while word not in ends:
            if word in path:
                return Message("notice.dropped.cycle", word=str(word + 1))
            path.add(word)
            word = governors[word]
        ends.update(path)
    return None


# ---- Reading


def as_treebank(given: Treebank | Sequence[Sentence] | str | Path) -> Treebank:
    """A treebank from what an analysis was given: a treebank, the path of a file, or a list of sentences."""
    if isinstance(given, Treebank):
        return given
    if isinstance(given, str | Path):
        return read_treebank(given)
    sentences = list(given)
    wrong = next((sentence for sentence in sentences if not isinstance(sentence, Sentence)), None)
    if wrong is not None:
        raise TextError(
            f"A sentence given as {type(wrong).__name__}.",
            "Give el.treebanks.read_treebank(FILE), the file, or a list of el.treebanks.Sentence.",
        )
    return Treebank.of(sentences)


def read_treebank(path: str | Path, *, strict: bool = False) -> Treebank:
    """Read a treebank: .conllu, plain or .gz, in the basic dependencies of Universal Dependencies; or CoNLL-X, which has the same columns.

    Multi-word tokens give their parts, empty nodes and enhanced dependencies are skipped. A sentence with two roots, none, a cycle, or
    a governor that does not exist is skipped and named in `skipped`; with `strict` it is an error.
    """
    path = as_path(path)
    check_is_file(path, Message("refusal.kinds.treebank"))
    if ".mrg" in path.suffixes:
        raise TextError(Message("refusal.phrase_trees", file=str(path)), Message("refusal.phrase_trees_advice", file=str(path)))
    return _collect(path, file_name(path), file_hash(path), numbered_lines(path), strict=strict)


def parse_treebank(text: str, name: str = "treebank", *, strict: bool = False) -> Treebank:
    """A treebank from CoNLL-U in memory."""
    lines = (line.rstrip("\r") for line in text.split("\n"))  # not splitlines: U+2028 and its like may stand within a word
    return _collect(name, name, hashlib.sha256(text.encode()).hexdigest(), enumerate(lines, 1), strict=strict)


def _collect(path: Path | str, name: str, digest: str, lines: Iterable[tuple[int, str]], *, strict: bool) -> Treebank:
    sentences: list[Sentence] = []
    skipped: dict[str, Message] = {}
    document, synthetic = "", False
    for line, block in conllu_blocks(path, lines):
        parsed = parse_conllu(path, line, block)
        named = next((row for row in block if row.startswith("# newdoc")), None)
        document = document if named is None else named.partition("=")[2].strip() or f"line {line}"
        synthetic = synthetic or "synthetic" in parsed.metadata
        number = parsed.metadata.get("sent_id") or f"line {line}"
        sentence = _sentence(number, parsed, document)
        if isinstance(sentence, Message):
            if strict:
                raise TextError(
                    Message("refusal.no_tree", file=str(path), sentence=number, line=str(line)),
                    sentence,
                    Message("refusal.one_governor"),
                    Advice("With strict=False it is skipped.", "Without --strict it is skipped."),
                )
            named_before = number in skipped  # two sentences may have the same name
            skipped[f"{number}, line {line}" if named_before else number] = sentence
            continue
        sentences.append(sentence)
    if not sentences:
        why = (
            Message("refusal.all_skipped", n=f"{len(skipped):,}", why=next(iter(skipped.values())))
            if skipped
            else Message("refusal.no_sentence")
        )
        raise TextError(Message("refusal.empty_treebank", file=str(path)), why)
    return Treebank(name, digest, tuple(sentences), skipped, synthetic)


def _sentence(name: str, parsed: Any, document: str) -> Sentence | Message:
    """The sentence, or why it is no tree."""
    words = [token for token in parsed if isinstance(token["id"], int)]
    governors = []
    for index, word in enumerate(words):
        if word["id"] != index + 1:
            return Message("notice.dropped.number", word=str(index + 1), number=str(word["id"]))
        if not isinstance(word["head"], int) or word["deprel"] in (None, "", "_"):
            return Message("notice.dropped.no_governor", word=str(index + 1), form=repr(word["form"]))
        governors.append(word["head"] - 1)
    fault = tree_fault(governors)
    if fault is not None:
        return fault
    forms = tuple(str(word["form"]) for word in words)
    return Sentence(
        id=name,
        words=forms,
        governors=tuple(governors),
        deprels=tuple(str(word["deprel"]) for word in words),
        upos=tuple(str(word["upos"] or "_") for word in words),
        spaces=spaces_of(forms, parsed),
        misc=tuple({str(key): str(value) for key, value in (word["misc"] or {}).items()} for word in words),
        document=document,
    )


def spaces_of(forms: Sequence[str], parsed: Any) -> tuple[bool, ...] | None:
    """Where the sentence has spaces: from its text where its words lie in it, else from SpaceAfter=No; None where the file says neither."""
    text = parsed.metadata.get("text") or ""
    position = 0
    spaces: list[bool] = []
    for form in forms:
        start = text.find(form, position)
        if start < 0 or text[position:start].strip():
            break
        if spaces:
            spaces[-1] = start > position
        spaces.append(True)
        position = start + len(form)
    else:
        return tuple(spaces)
    together = {token["id"] for token in parsed if (token["misc"] or {}).get("SpaceAfter") == "No"}
    marks = [number not in together for number in range(1, len(forms) + 1)]
    for token in parsed:  # the parts of don't are written together, those of im (in dem) are not; its own mark is that of its last part
        if isinstance(token["id"], tuple) and token["id"][1] == "-":
            first, _, last = token["id"]
            if not 1 <= first <= last <= len(forms):  # a range of words that are not there
                continue
            joined = "".join(forms[first - 1 : last]) == token["form"]
            marks[first - 1 : last - 1] = [not joined] * (last - first)
            marks[last - 1] = token["id"] not in together
    return tuple(marks) if not all(marks) else None
