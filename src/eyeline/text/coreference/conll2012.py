"""Coreference in the columns of CoNLL-2012 (v4_gold_conll): a bracketed last column, documents in parts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from eyeline.errors import TextError
from eyeline.text.coreference.features import features, main_word_by_tags, type_by_tag
from eyeline.text.coreference.mention import MarkedDocument, Mention, Problems
from eyeline.text.coreference.untagged import NO_TAG, main_word_by_words, type_by_word
from eyeline.text.corpora.lines import numbered_lines

#: Columns: document, part, number of the word, word, tag, parse, … and the coreference last; between them any white space.
LEAST_COLUMNS = 6
#: Penn's signs → what stood in the text, which is what a model has learned to read.
WRITTEN = {
    "-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}", "``": '"', "''": '"', "/.": ".", "/?": "?",
}  # fmt: skip
_BEGIN = re.compile(r"#begin document \(?(.*?)\)?(?:; part (\d{1,9}))?\s*$")
_PART = re.compile(r"\((\d{1,18})\)|\((\d{1,18})(?!\d)|(?<!\d)(\d{1,18})\)")


def read_conll2012(path: Path, problems: Problems) -> Iterator[MarkedDocument]:
    """The documents of a file, each part a document of its own (clusters are numbered within a part)."""
    part: _Part | None = None
    for number, line in numbered_lines(path):
        where = f"{path}, line {number}"
        if line.startswith("#begin document"):
            if part is not None:
                yield part.close()
            begin = _BEGIN.match(line)
            name, piece = begin.groups() if begin else (line, None)
            part = _Part(f"{name}, part {int(piece)}" if piece is not None else name, problems)
        elif line.startswith("#end document"):
            if part is not None:
                yield part.close()
            part = None
        elif not line.strip():
            if part is not None:
                part.end_sentence()
        elif not line.startswith("#"):
            columns = line.split()
            if part is None or len(columns) < LEAST_COLUMNS:
                raise TextError(
                    f"{where}: not CoNLL-2012 ({len(columns)} columns{', before #begin document' if part is None else ''}).",
                    "Documents begin with #begin document (NAME); part 000, and each word has at least six columns.",
                )
            if columns[3] == "[WORD]":
                raise TextError(f"{where}: a skeleton without its words ([WORD]).", "Put the words in with OntoNotes' skeleton2conll.")
            part.add(where, columns[3], columns[4], columns[-1])
    if part is not None:
        problems.note("unclosed_documents", str(path), f"{part.id} has no #end document")
        yield part.close()


class _Part:
    """A document as it is read."""

    def __init__(self, id: str, problems: Problems) -> None:
        self.id, self.problems = id, problems
        self.sentences: list[list[str]] = [[]]
        self.tags: list[str] = []
        self.open: dict[int, list[tuple[int, str]]] = {}  # cluster → first words of its open mentions, and where they stand
        self.spans: list[tuple[int, int, int]] = []  # first word, last word, cluster

    def add(self, where: str, word: str, tag: str, brackets: str) -> None:
        position = len(self.tags)
        self.sentences[-1].append(WRITTEN.get(word, word))
        self.tags.append(tag)
        if brackets in "-_*":
            return
        if _PART.sub("", brackets).strip("|"):
            self.problems.note("malformed_brackets", where, f"{brackets!r} is not a bracket such as (3), (3 or 3)")
            return
        for alone, opened, closed in _PART.findall(brackets):
            if alone:
                self.spans.append((position, position, int(alone)))
            elif opened:
                self.open.setdefault(int(opened), []).append((position, where))
            elif self.open.get(int(closed)):
                self.spans.append((self.open[int(closed)].pop()[0], position, int(closed)))
            else:
                self.problems.note("malformed_brackets", where, f"{closed}) closes a mention that was not opened")

    def end_sentence(self) -> None:
        if self.sentences[-1]:
            self.sentences.append([])

    def close(self) -> MarkedDocument:
        for cluster, opened in self.open.items():
            for _, where in opened:
                self.problems.note("malformed_brackets", where, f"({cluster} is never closed")
        words = [word for sentence in self.sentences for word in sentence]
        mentions = self._untagged(words) if NO_TAG.issuperset(self.tags) else self._tagged(words)
        return MarkedDocument(self.id, tuple(tuple(sentence) for sentence in self.sentences if sentence), tuple(mentions))

    def _tagged(self, words: list[str]) -> list[Mention]:
        mentions = []
        for start, end, cluster in self.spans:
            main_word = start + main_word_by_tags(self.tags[start : end + 1])
            type_ = type_by_tag(self.tags[main_word], alone=start == end)
            mentions.append(Mention(start, end, main_word, cluster, type_, *features(words[main_word], self.tags[main_word], type_)))
        return mentions

    def _untagged(self, words: list[str]) -> list[Mention]:
        """Main words and types from the words alone; how many is counted, and the run reports it."""
        first_words = {sum(map(len, self.sentences[:index])) for index in range(len(self.sentences))}
        lower_case = {word for word in words if word[:1].islower()}
        mentions = []
        for start, end, cluster in self.spans:
            main_word = start + main_word_by_words(words[start : end + 1])
            type_ = type_by_word(words[main_word], starts_sentence=main_word in first_words, lower_case=lower_case)
            mentions.append(Mention(start, end, main_word, cluster, type_, *features(words[main_word], "", type_)))
        self.problems.inferred_types += len(mentions)
        return mentions
