"""A coreference corpus on disk: CoNLL-2012 columns, CoNLL-U with Entity= in MISC, or JSON lines; plain or .gz."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from eyeline.errors import Advice, TextError, nearest
from eyeline.storage.names import as_path
from eyeline.text.coreference.conll2012 import read_conll2012
from eyeline.text.coreference.conllu import read_entities
from eyeline.text.coreference.json_lines import read_json
from eyeline.text.coreference.mention import MarkedDocument, Problems
from eyeline.text.corpora.files import check_is_file, file_hash, file_name
from eyeline.text.corpora.lines import numbered_lines

READERS = {"conll2012": read_conll2012, "conllu": read_entities, "jsonl": read_json}
KINDS = "A coreference corpus is CoNLL-2012 (#begin document), CoNLL-U with Entity= in MISC, or JSON lines; plain or .gz."
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
    first: Mapping[str, str] = field(default_factory=dict, repr=False)
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
    check_is_file(path, KINDS)
    kind = kind or _kind_of(path)
    if kind not in READERS:
        raise TextError(f"A coreference corpus of kind {kind!r}.", nearest(kind, READERS))
    problems = Problems(strict)
    documents = tuple(_once(document, problems) for document in READERS[kind](path, problems))
    if not any(document.mentions for document in documents):
        raise TextError(
            f"{path}: no mentions in {len(documents):,} documents.",
            *problems.first.values(),
            {
                "conllu": "Mentions are marked by Entity= in the tenth column (MISC), as in GUM. A plain treebank has none.",
                "conll2012": "Mentions are marked in the last column: (3) or (3 … 3).",
                "jsonl": "Each document lists its mentions: [{start, end, cluster, …}].",
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
        raise TextError(f"{path}: an empty file.", KINDS)
    raise TextError(
        f"{path}: what kind of coreference corpus is this?",
        KINDS,
        Advice("If it is one, name its kind: kind=….", "If it is one, name its kind: --kind."),
    )


def _once(document: MarkedDocument, problems: Problems) -> MarkedDocument:
    kept = {(mention.start, mention.end, mention.cluster): mention for mention in document.mentions}
    if len(kept) == len(document.mentions):
        return document
    for _ in range(len(document.mentions) - len(kept)):
        problems.note("repeated_mentions", document.id, "a mention is marked twice")
    return replace(document, mentions=tuple(kept.values()))
