"""Coreference in CoNLL-U: brackets in Entity= of MISC, as GUM and CorefUD write them, with `# global.Entity` naming their fields."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eyeline.text.coreference.features import features, main_word_by_dependencies, main_word_by_tags, type_by_tag
from eyeline.text.coreference.mention import MarkedDocument, Mention, Problems
from eyeline.text.coreference.untagged import type_by_word
from eyeline.text.corpora.conllu import conllu_blocks, parse_conllu
from eyeline.text.corpora.lines import numbered_lines
from eyeline.text.segment import written_together
from eyeline.text.treebank.spaces import spaces_of

#: Where a file does not say what the fields are: the entity's number first, as in GUM.
DEFAULT_FIELDS = ("GRP",)
#: A number with this many digits or more is not used.
LONGEST_NUMBER = 10
_BRACKET = re.compile(r"\(([^()]*)\)|\(([^()]*)|([^()]+)\)")
_PART_OF = re.compile(r"\[\d+/\d+\]$")


def read_entities(path: Path, problems: Problems) -> Iterator[MarkedDocument]:
    """The documents of a file, as `# newdoc` divides them; a file without is one document."""
    open_document: _Reading | None = None
    fields = DEFAULT_FIELDS
    for start, block in conllu_blocks(path, numbered_lines(path)):
        sentence = parse_conllu(path, start, block)
        declared = sentence.metadata.get("global.Entity")
        fields = tuple(declared.split("-")) if declared else fields
        new = next((key for key in sentence.metadata if key.startswith("newdoc")), None)
        if open_document is None or new is not None:
            if open_document is not None:
                yield open_document.close()
            name = sentence.metadata.get(new) if new else None
            open_document = _Reading(name or f"{path}, line {start}", problems)
        open_document.add(f"{path}, {sentence.metadata.get('sent_id') or f'line {start}'}", sentence, fields)
    if open_document is not None:
        yield open_document.close()


def _parsed(brackets: str) -> list[tuple[str, ...]] | None:
    """The brackets, each as (whole, opening, closing), two of them empty; None where other text stands between them.

    Each is matched where the last one ended: a search would read a long text without brackets again from every character.
    """
    parsed, end = [], 0
    while end < len(brackets):
        match = _BRACKET.match(brackets, end)
        if match is None:
            return None
        parsed.append(match.groups(""))
        end = match.end()
    return parsed


class _Reading:
    """A document as it is read."""

    def __init__(self, id: str, problems: Problems) -> None:
        self.id, self.problems = id, problems
        self.sentences: list[tuple[str, ...]] = []
        self.spaces: list[bool | None] = []  # after every word; None: as its script is written, also between sentences
        self.tokens: list[Any] = []
        self.governors: list[int | None] = []  # of every word over the document, -1 a root; None: not given
        self.open: dict[str, list[tuple[int, str | None, str]]] = {}  # entity → first word, main_word field, where, of its open mentions
        self.spans: list[tuple[int, int, str, str | None]] = []  # first word, last word, entity, main_word field

    def add(self, where: str, sentence: Any, fields: tuple[str, ...]) -> None:
        base = len(self.tokens)
        words = [token for token in sentence if isinstance(token["id"], int)]
        position_of = {token["id"]: base + i for i, token in enumerate(words)}
        for token in sentence:
            brackets = (token["misc"] or {}).get("Entity")
            if brackets and token["id"] in position_of:
                self._brackets(f"{where}, word {token['id']}", position_of[token["id"]], brackets, fields)
            elif brackets:  # an empty node (a dropped pronoun) or a range: attention has no row for it
                self.problems.note("mentions_without_words", where, f"{brackets} is marked where there is no word")
        forms = tuple(str(token["form"]) for token in words)
        self.sentences.append(forms)
        self.spaces += [*(spaces_of(forms, sentence) or [None] * len(forms))[:-1], None]
        self.tokens += words
        self.governors += [None if token["head"] is None else position_of.get(token["head"], -1) for token in words]

    def _brackets(self, where: str, position: int, brackets: str, fields: tuple[str, ...]) -> None:
        parsed = _parsed(brackets)
        if parsed is None:
            self.problems.note("malformed_brackets", where, f"Entity={brackets} has a bracket without a number")
            return
        for alone, opened, closed in parsed:
            values = dict(zip(fields, (alone or opened or closed).split("-", len(fields) - 1), strict=False))
            number = values.get("GRP") or values.get("eid") or next(iter(values.values()))
            number, parts = _PART_OF.subn("", number)
            if parts:
                if not closed:
                    self.problems.note("discontinuous_mentions", where, f"{number} is marked in several parts")
            elif not number:
                self.problems.note("malformed_brackets", where, f"Entity={brackets} has a bracket without a number")
            elif alone:
                self.spans.append((position, position, number, None))
            elif opened:
                self.open.setdefault(number, []).append((position, values.get("head"), where))
            elif self.open.get(number):
                start, main_word, _ = self.open[number].pop()
                self.spans.append((start, position, number, main_word))
            else:
                self.problems.note("malformed_brackets", where, f"{number}) closes a mention that was not opened")

    def close(self) -> MarkedDocument:
        for number, opened in self.open.items():
            for _, _, where in opened:
                self.problems.note("malformed_brackets", where, f"({number} is never closed")
        clusters = {number: i for i, number in enumerate(dict.fromkeys(span[2] for span in self.spans))}
        mentions = [self._mention(start, end, clusters[number], main_word) for start, end, number, main_word in self.spans]
        return MarkedDocument(self.id, tuple(self.sentences), tuple(mentions), self._spaces())

    def _spaces(self) -> tuple[bool, ...]:
        words = [token["form"] for token in self.tokens]
        by_script = [not written_together(word, following) for word, following in itertools.pairwise(words)] + [True]
        return tuple(script if stated is None else stated for stated, script in zip(self.spaces, by_script, strict=True))

    def _mention(self, start: int, end: int, cluster: int, stated: str | None) -> Mention:
        """CorefUD gives the main word (from 1); elsewhere it comes from the dependencies, and without those from the tags."""
        governors = [governor for governor in self.governors[start : end + 1] if governor is not None]
        if stated is not None and stated.isdecimal() and len(stated) < LONGEST_NUMBER and 1 <= int(stated) <= end - start + 1:
            main_word = start + int(stated) - 1
        elif len(governors) == end - start + 1:
            main_word = start + main_word_by_dependencies(0, end - start, [other - start for other in governors])
        else:
            main_word = start + main_word_by_tags([_tag(token, "xpos", "upos") for token in self.tokens[start : end + 1]])
        token = self.tokens[main_word]
        tag = _tag(token, "upos", "xpos")
        self.problems.inferred_types += not tag
        type_ = type_by_tag(tag, alone=start == end) if tag else type_by_word(token["form"])
        return Mention(start, end, main_word, cluster, type_, *features(token["form"], token["xpos"] or "", type_, token["feats"]))


def _tag(token: Any, *columns: str) -> str:
    """The first of these columns that is not empty, or an empty string."""
    return next((str(token[name]) for name in columns if token[name] not in (None, "_")), "")
