"""A coreference corpus on disk: CoNLL-2012 columns, CoNLL-U with Entity= in MISC, or JSON lines; plain or .gz."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from eyeline.errors import Advice, TextError, nearest
from eyeline.messages import Message
from eyeline.storage.files import as_path
from eyeline.text.corpora.conllu import conllu_blocks, parse_conllu
from eyeline.text.corpora.files import check_is_file, file_hash, file_name, numbered_lines
from eyeline.text.corpora.mentions import (
    NO_TAG,
    TYPES,
    MarkedDocument,
    Mention,
    Problems,
    features,
    main_word_by_dependencies,
    main_word_by_tags,
    main_word_by_words,
    type_by_tag,
    type_by_word,
)
from eyeline.text.corpora.treebank import spaces_of
from eyeline.text.words import written_together

# ---- CoNLL-2012 (v4_gold_conll): a bracketed last column, documents in parts


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
                numbers = {"where": where, "n": str(len(columns))}
                outside, few = Message("refusal.word_outside_document", **numbers), Message("refusal.few_columns", **numbers)
                raise TextError(outside if part is None else few, Message("refusal.conll2012"))
            if columns[3] == "[WORD]":
                raise TextError(Message("refusal.skeleton", where=where), Message("refusal.put_words_in"))
            part.add(where, columns[3], columns[4], columns[-1])
    if part is not None:
        problems.note("unclosed_documents", str(path), Message("notice.marked.no_end", document=part.id))
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
            self.problems.note("malformed_brackets", where, Message("notice.marked.no_bracket", brackets=repr(brackets)))
            return
        for alone, opened, closed in _PART.findall(brackets):
            if alone:
                self.spans.append((position, position, int(alone)))
            elif opened:
                self.open.setdefault(int(opened), []).append((position, where))
            elif self.open.get(int(closed)):
                self.spans.append((self.open[int(closed)].pop()[0], position, int(closed)))
            else:
                self.problems.note("malformed_brackets", where, Message("notice.marked.not_opened", number=closed))

    def end_sentence(self) -> None:
        if self.sentences[-1]:
            self.sentences.append([])

    def close(self) -> MarkedDocument:
        for cluster, opened in self.open.items():
            for _, where in opened:
                self.problems.note("malformed_brackets", where, Message("notice.marked.not_closed", number=str(cluster)))
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


# ---- CoNLL-U: brackets in Entity= of MISC, as GUM and CorefUD write them, with `# global.Entity` naming their fields


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
                self.problems.note("mentions_without_words", where, Message("notice.marked.no_word", brackets=brackets))
        forms = tuple(str(token["form"]) for token in words)
        self.sentences.append(forms)
        self.spaces += [*(spaces_of(forms, sentence) or [None] * len(forms))[:-1], None]
        self.tokens += words
        self.governors += [None if token["head"] is None else position_of.get(token["head"], -1) for token in words]

    def _brackets(self, where: str, position: int, brackets: str, fields: tuple[str, ...]) -> None:
        parsed = _parsed(brackets)
        if parsed is None:
            self.problems.note("malformed_brackets", where, Message("notice.marked.no_number", brackets=brackets))
            return
        for alone, opened, closed in parsed:
            values = dict(zip(fields, (alone or opened or closed).split("-", len(fields) - 1), strict=False))
            number = values.get("GRP") or values.get("eid") or next(iter(values.values()))
            number, parts = _PART_OF.subn("", number)
            if parts:
                if not closed:
                    self.problems.note("discontinuous_mentions", where, Message("notice.marked.in_parts", number=number))
            elif not number:
                self.problems.note("malformed_brackets", where, Message("notice.marked.no_number", brackets=brackets))
            elif alone:
                self.spans.append((position, position, number, None))
            elif opened:
                self.open.setdefault(number, []).append((position, values.get("head"), where))
            elif self.open.get(number):
                start, main_word, _ = self.open[number].pop()
                self.spans.append((start, position, number, main_word))
            else:
                self.problems.note("malformed_brackets", where, Message("notice.marked.not_opened", number=number))

    def close(self) -> MarkedDocument:
        for number, opened in self.open.items():
            for _, _, where in opened:
                self.problems.note("malformed_brackets", where, Message("notice.marked.not_closed", number=number))
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


# ---- JSON lines: one document per line, with tokens, sent_lens and mentions


def read_json(path: Path, problems: Problems) -> Iterator[MarkedDocument]:
    """The documents of a file. A mention must have start, end and cluster; its main word (`head`), type, number, gender
    and person are derived from dep_heads, xpos and upos where they are missing."""
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            document = _document(where, json.loads(line), problems)
        except TextError:
            raise
        except (ValueError, RecursionError) as error:  # bad JSON, numbers of thousands of digits, lists nested too deeply
            raise TextError(
                Message("refusal.not_json", file=str(path), line=str(number), why=str(error)), Message("refusal.json_mentions")
            ) from error
        yield document


def _document(where: str, data: Any, problems: Problems) -> MarkedDocument:
    words = data.get("tokens") if isinstance(data, dict) else None
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words) or "mentions" not in data:
        keys = ", ".join(data) if isinstance(data, dict) else type(data).__name__
        raise TextError(Message("refusal.no_tokens_and_mentions", where=where, keys=keys[:80]), Message("refusal.json_mentions"))
    lengths = data.get("sent_lens", [len(words)])
    if not _numbers(lengths) or sum(lengths) != len(words):
        raise TextError(
            Message("refusal.lengths_of_sentences", where=where, lengths=str(lengths)[:60], n=str(len(words))),
            Message("refusal.json_mentions"),
        )
    sentences, start = [], 0
    for length in lengths:
        sentences.append(tuple(words[start : start + length]))
        start += length
    for name in ("dep_heads", "xpos", "upos"):
        if name in data and (not isinstance(data[name], list) or len(data[name]) != len(words)):
            raise TextError(Message("refusal.one_entry_each", where=where, name=name, n=str(len(words))), Message("refusal.json_mentions"))
        kind = int if name == "dep_heads" else str
        if not all(isinstance(entry, kind) for entry in data.get(name, [])):
            named = {"where": where, "name": name}
            wrong = Message("refusal.not_numbers", **named) if kind is int else Message("refusal.not_strings", **named)
            raise TextError(wrong, Message("refusal.json_mentions"))
    mentions = []
    for index, record in enumerate(data["mentions"] if isinstance(data["mentions"], list) else [None]):
        try:
            mentions.append(_mention(record, words, data))
            problems.inferred_types += not (data.get("xpos") or data.get("upos") or record.get("type"))
        except (TextError, TypeError) as error:
            why = error.message if isinstance(error, TextError) else str(error)
            what = Message("notice.marked.malformed", mention=str(index), why=why)
            problems.note("malformed_mentions", where, what)
    return MarkedDocument(str(data.get("doc", where)), tuple(sentence for sentence in sentences if sentence), tuple(mentions))


def _mention(record: Any, words: Sequence[str], data: Mapping[str, Any]) -> Mention:
    if not isinstance(record, dict) or not {"start", "end", "cluster"} <= set(record):
        raise TextError(Message("refusal.mention.no_fields", mention=json.dumps(record)[:60]))
    start, end, cluster = record["start"], record["end"], record["cluster"]
    if not _numbers([start, end, cluster]) or not start <= end < len(words):
        raise TextError(Message("refusal.mention.words", start=repr(start), end=repr(end), n=str(len(words)), cluster=repr(cluster)))
    tags = data.get("xpos") or data.get("upos")
    main_word = record.get("head")
    if main_word is None and "dep_heads" in data:
        main_word = main_word_by_dependencies(start, end, data["dep_heads"])
    elif main_word is None:
        main_word = start + main_word_by_tags(tags[start : end + 1]) if tags else end
    if not start <= main_word <= end:
        raise TextError(Message("refusal.mention.main_word", start=str(start), end=str(end), word=str(main_word)))
    tag = tags[main_word] if tags else ""
    derived = type_by_tag((data.get("upos") or tags)[main_word], alone=start == end) if tags else type_by_word(words[main_word])
    type_ = record.get("type") or derived
    if type_ not in TYPES:
        raise TextError(Message("refusal.mention.type", type=repr(type_)))
    derived_features = zip(("number", "gender", "person"), features(words[main_word], tag, type_), strict=True)
    return Mention(
        start, end, main_word, cluster, type_, *(_text(record[name]) if name in record else own for name, own in derived_features)
    )


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _numbers(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, int) and not isinstance(value, bool) and value >= 0 for value in values)


# ---- A file of any of these kinds


READERS = {"conll2012": read_conll2012, "conllu": read_entities, "jsonl": read_json}

#: How many lines are read to find out the kind of a file.
FIRST_LINES = 20


@dataclass(frozen=True)
class MarkedCorpus:
    """Documents with their mentions, and what of the file could not be used.

    problems   kind → how many; `first` describes the first of each kind
    inferred_types   how many mentions have a type that was inferred from their words, because the file has no tags
    """

    name: str
    sha256: str
    documents: tuple[MarkedDocument, ...] = field(repr=False)
    problems: Mapping[str, int] = field(default_factory=dict)
    first: Mapping[str, Message] = field(default_factory=dict, repr=False)
    inferred_types: int = 0

    def __len__(self) -> int:
        return len(self.documents)

    def __iter__(self) -> Iterator[MarkedDocument]:
        return iter(self.documents)

    def __getitem__(self, index: int) -> MarkedDocument:
        return self.documents[index]


def read_coreference(path: str | Path, *, kind: str | None = None, strict: bool = False) -> MarkedCorpus:
    """Read a file's documents and mentions.

    kind     conll2012, conllu or jsonl; otherwise the file's first lines say it
    strict   stop at the first bracket or mention that cannot be used, instead of counting it

    A mention that is marked twice (the same words, the same cluster) counts once. A file without a single mention is refused.
    """
    path = as_path(path)
    check_is_file(path, Message("refusal.kinds.coreference"))
    kind = kind or _kind_of(path)
    if kind not in READERS:
        raise TextError(f"A coreference corpus of kind {kind!r}.", nearest(kind, READERS))
    problems = Problems(strict)
    documents = tuple(_once(document, problems) for document in READERS[kind](path, problems))
    if not any(document.mentions for document in documents):
        raise TextError(
            Message("refusal.no_mentions", file=str(path), n=f"{len(documents):,}"),
            *problems.first.values(),
            {
                "conllu": Message("refusal.mentions_in.conllu"),
                "conll2012": Message("refusal.mentions_in.conll2012"),
                "jsonl": Message("refusal.mentions_in.jsonl"),
            }[kind],
        )
    return MarkedCorpus(file_name(path), file_hash(path), documents, Counter(problems.counts), problems.first, problems.inferred_types)


def _kind_of(path: Path) -> str:
    empty = True
    for _, line in itertools.islice(numbered_lines(path), FIRST_LINES):
        empty = empty and not line.strip()
        if line.startswith("#begin document"):
            return "conll2012"
        if line.lstrip().startswith("{"):
            return "jsonl"
        if re.match(r"# *[\w.:]+ *(=|$)|# newdoc|# newpar", line) or line.count("\t") == 9:
            return "conllu"
    if empty:
        raise TextError(Message("refusal.empty_file", file=str(path)), Message("refusal.kinds.coreference"))
    raise TextError(
        Message("refusal.which_coreference", file=str(path)),
        Message("refusal.kinds.coreference"),
        Advice("If it is one, name its kind: kind=….", "If it is one, name its kind: --kind."),
    )


def _once(document: MarkedDocument, problems: Problems) -> MarkedDocument:
    kept = {(mention.start, mention.end, mention.cluster): mention for mention in document.mentions}
    if len(kept) == len(document.mentions):
        return document
    for _ in range(len(document.mentions) - len(kept)):
        problems.note("repeated_mentions", document.id, Message("notice.marked.twice"))
    return replace(document, mentions=tuple(kept.values()))
