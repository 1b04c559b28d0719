"""Treebanks in CoNLL-U, plain or gzipped → sentences with one governor for each word."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from eyeline.errors import Advice, TextError
from eyeline.storage.names import as_path
from eyeline.text.corpora.conllu import conllu_blocks, parse_conllu
from eyeline.text.corpora.files import check_is_file, file_hash, file_name
from eyeline.text.corpora.lines import numbered_lines
from eyeline.text.treebank.sentence import Sentence
from eyeline.text.treebank.spaces import spaces_of
from eyeline.text.treebank.treebank import Treebank


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
    """Read a treebank: .conllu, plain or .gz, in the basic dependencies of Universal Dependencies.

    Multi-word tokens give their parts, empty nodes and enhanced dependencies are skipped. A sentence with two roots, none, a cycle, or
    a governor that does not exist is skipped and named in `skipped`; with `strict` it is an error.
    """
    path = as_path(path)
    check_is_file(path, "A treebank is a .conllu file, plain or .gz.")
    return _collect(path, file_name(path), file_hash(path), numbered_lines(path), strict=strict)


def parse_treebank(text: str, name: str = "treebank", *, strict: bool = False) -> Treebank:
    """A treebank from CoNLL-U in memory."""
    lines = (line.rstrip("\r") for line in text.split("\n"))  # not splitlines: U+2028 and its like may stand within a word
    return _collect(name, name, hashlib.sha256(text.encode()).hexdigest(), enumerate(lines, 1), strict=strict)


def _collect(path: Path | str, name: str, digest: str, lines: Iterable[tuple[int, str]], *, strict: bool) -> Treebank:
    sentences: list[Sentence] = []
    skipped: dict[str, str] = {}
    document, synthetic = "", False
    for line, block in conllu_blocks(path, lines):
        parsed = parse_conllu(path, line, block)
        named = next((row for row in block if row.startswith("# newdoc")), None)
        document = document if named is None else named.partition("=")[2].strip() or f"line {line}"
        synthetic = synthetic or "synthetic" in parsed.metadata
        number = parsed.metadata.get("sent_id") or f"line {line}"
        try:
            sentence = _sentence(number, parsed, document)
        except TextError as error:
            if strict:
                raise TextError(
                    f"{path}: sentence {number}, line {line}, is no tree.",
                    str(error),
                    Advice("With strict=False it is skipped.", "Without --strict it is skipped."),
                ) from error
            named_before = number in skipped  # two sentences may have the same name
            skipped[f"{number}, line {line}" if named_before else number] = str(error).splitlines()[0].removeprefix(f"{number}: ")
            continue
        sentences.append(sentence)
    if not sentences:
        why = (
            f"All {len(skipped):,} sentences were skipped; the first: {next(iter(skipped.values()))}"
            if skipped
            else "It holds no sentence."
        )
        raise TextError(f"{path}: an empty treebank.", why)
    return Treebank(name, digest, tuple(sentences), skipped, synthetic)


def _sentence(name: str, parsed: Any, document: str) -> Sentence:
    words = [token for token in parsed if isinstance(token["id"], int)]
    governors = []
    for index, word in enumerate(words):
        if word["id"] != index + 1:
            raise TextError(f"{name}: word {index + 1} has the number {word['id']}.")
        if not isinstance(word["head"], int) or word["deprel"] in (None, "", "_"):
            raise TextError(f"{name}: word {index + 1}, {word['form']!r}, has no governor or no relation.")
        governors.append(word["head"] - 1)
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
