"""Coreference in CoNLL-U: brackets in Entity= of MISC, as GUM and CorefUD write them, with `# global.Entity` naming their fields."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from sightline.errors import TextError
from sightline.text.mention import MarkedDocument, Mention, Problems
from sightline.text.mention_features import features, head_by_dependencies, head_by_tags, type_by_tag

#: Where a file does not say what the fields are: the entity's number first, as in GUM.
DEFAULT_FIELDS = ("GRP",)
_BRACKET = re.compile(r"\(([^()]*)\)|\(([^()]*)|([^()]+)\)")
_PART_OF = re.compile(r"\[\d+/\d+\]$")


def read_entities(path: str, lines: Iterable[tuple[int, str]], problems: Problems) -> Iterator[MarkedDocument]:
    """The documents of a file, as `# newdoc` divides them; a file without is one document."""
    open_document: _Reading | None = None
    fields = DEFAULT_FIELDS
    for start, block in _blocks(path, lines):
        sentence = _parse(path, start, block)
        said = sentence.metadata.get("global.Entity")
        fields = tuple(said.split("-")) if said else fields
        new = next((key for key in sentence.metadata if key.startswith("newdoc")), None)
        if open_document is None or new is not None:
            if open_document is not None:
                yield open_document.close()
            name = sentence.metadata.get(new) if new else None
            open_document = _Reading(name or f"{path}, line {start}", problems)
        open_document.add(f"{path}, {sentence.metadata.get('sent_id') or f'line {start}'}", sentence, fields)
    if open_document is not None:
        yield open_document.close()


def _blocks(path: str, lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
    """Sentences as lines, each with the number of its first line. Comments before the first sentence belong to it."""
    block: list[str] = []
    start = 0
    for number, line in lines:
        if line.strip():
            if not line.startswith("#") and line.count("\t") != 9:
                raise TextError(
                    f"{path}, line {number}: not CoNLL-U ({line.count(chr(9)) + 1} columns).",
                    "Each word has ten columns with tabs between them.",
                )
            start = start if block else number
            block.append(line)
        elif any(not row.startswith("#") for row in block):
            yield start, block
            block = []
    if any(not row.startswith("#") for row in block):
        yield start, block


def _parse(path: str, start: int, block: list[str]) -> Any:
    import conllu

    try:
        return conllu.parse("\n".join(block) + "\n\n")[0]
    except (conllu.exceptions.ParseException, IndexError) as error:
        raise TextError(f"{path}, line {start}: not CoNLL-U ({error}).", "Each word has ten columns with tabs between them.") from error


class _Reading:
    """A document as it is read."""

    def __init__(self, id: str, problems: Problems) -> None:
        self.id, self.problems = id, problems
        self.sentences: list[tuple[str, ...]] = []
        self.tokens: list[Any] = []
        self.heads: list[int | None] = []  # of every word over the document, -1 a root; None: not given
        self.open: dict[str, list[tuple[int, str | None, str]]] = {}  # entity → first word, head field, where, of its open mentions
        self.spans: list[tuple[int, int, str, str | None]] = []  # first word, last word, entity, head field

    def add(self, where: str, sentence: Any, fields: tuple[str, ...]) -> None:
        base = len(self.tokens)
        words = [token for token in sentence if isinstance(token["id"], int)]
        place = {token["id"]: base + i for i, token in enumerate(words)}
        for token in sentence:
            brackets = (token["misc"] or {}).get("Entity")
            if brackets and token["id"] in place:
                self._brackets(f"{where}, word {token['id']}", place[token["id"]], brackets, fields)
            elif brackets:  # an empty node (a dropped pronoun) or a range: attention has no row for it
                self.problems.note("mentions_without_words", where, f"{brackets} is marked where there is no word")
        self.sentences.append(tuple(token["form"] for token in words))
        self.tokens += words
        self.heads += [None if token["head"] is None else place.get(token["head"], -1) for token in words]

    def _brackets(self, where: str, place: int, brackets: str, fields: tuple[str, ...]) -> None:
        if _BRACKET.sub("", brackets):
            self.problems.note("malformed_brackets", where, f"Entity={brackets} has a bracket without a number")
            return
        for alone, opened, closed in _BRACKET.findall(brackets):
            values = dict(zip(fields, (alone or opened or closed).split("-", len(fields) - 1), strict=False))
            number = values.get("GRP") or values.get("eid") or next(iter(values.values()))
            number, parts = _PART_OF.subn("", number)
            if parts:
                if not closed:
                    self.problems.note("discontinuous_mentions", where, f"{number} is marked in several parts")
            elif not number:
                self.problems.note("malformed_brackets", where, f"Entity={brackets} has a bracket without a number")
            elif alone:
                self.spans.append((place, place, number, None))
            elif opened:
                self.open.setdefault(number, []).append((place, values.get("head"), where))
            elif self.open.get(number):
                start, head, _ = self.open[number].pop()
                self.spans.append((start, place, number, head))
            else:
                self.problems.note("malformed_brackets", where, f"{number}) closes a mention that was not opened")

    def close(self) -> MarkedDocument:
        for number, opened in self.open.items():
            for _, _, where in opened:
                self.problems.note("malformed_brackets", where, f"({number} is never closed")
        clusters = {number: i for i, number in enumerate(dict.fromkeys(span[2] for span in self.spans))}
        mentions = [self._mention(start, end, clusters[number], head) for start, end, number, head in self.spans]
        return MarkedDocument(self.id, tuple(self.sentences), tuple(mentions))

    def _mention(self, start: int, end: int, cluster: int, said: str | None) -> Mention:
        """CorefUD says which word is the head (from 1); elsewhere the dependencies tell, and where there are none, the tags."""
        heads = [head for head in self.heads[start : end + 1] if head is not None]
        if said is not None and said.isdecimal() and 1 <= int(said) <= end - start + 1:
            head = start + int(said) - 1
        elif len(heads) == end - start + 1:
            head = start + head_by_dependencies(0, end - start, [other - start for other in heads])
        else:
            head = start + head_by_tags([token["xpos"] or "" for token in self.tokens[start : end + 1]])
        token = self.tokens[head]
        type_ = type_by_tag(token["upos"] or token["xpos"] or "", alone=start == end)
        return Mention(start, end, head, cluster, type_, *features(token["form"], token["xpos"] or "", type_, token["feats"]))
