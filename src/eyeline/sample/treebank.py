"""The built-in treebank: English sentences with exact dependencies and coreference, made up from a grammar and a seed."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

from eyeline.errors import TextError
from eyeline.sample.clauses import Clauses
from eyeline.sample.discourse import Discourse
from eyeline.sample.tree import leaf, to_conllu
from eyeline.storage.files import write_whole
from eyeline.text.treebank.read import parse_treebank
from eyeline.text.treebank.treebank import Treebank

NAME = "sample-treebank"
#: The fewest and the most sentences of a document.
SHORTEST, LONGEST = 3, 7


def sample_treebank(n: int = 500, seed: int = 0) -> Treebank:
    """`n` made-up sentences with Universal Dependencies, coreference in their MISC column; the same for the same n and seed.

    >>> bank = sample_treebank(20, seed=1)
    >>> len(bank), bank.skipped
    (20, {})
    """
    return parse_treebank(sample_conllu(n, seed), NAME)


def sample_conllu(n: int = 500, seed: int = 0) -> str:
    """The same as CoNLL-U, mentions as GUM writes them (Entity= in MISC)."""
    if n < 1:
        raise TextError(f"A treebank of {n} sentences.", "Give -n 1 or more.")
    draw = random.Random(seed)  # noqa: S311 - a seeded choice, not a secret
    sentences: list[str] = []
    document = 0
    while len(sentences) < n:
        document += 1
        discourse = Discourse(draw)
        for number in range(min(draw.randint(SHORTEST, LONGEST), n - len(sentences))):
            discourse.sentence = number
            clause = Clauses(discourse).main()
            clause.words[-1].space_after = False
            stop = leaf(".", ".", "PUNCT", clause.main_word, "punct")
            sentences.append(to_conllu((*clause.words, stop), _comments(document, number, first=not sentences, n=n, seed=seed)))
    return "".join(sentences)


def write_sample(path: str | Path, n: int = 500, seed: int = 0) -> None:
    """Write the treebank to a file, whole or not at all; gzipped where its name ends in .gz."""
    written = sample_conllu(n, seed).encode()
    write_whole(path, [gzip.compress(written, mtime=0) if Path(path).suffix == ".gz" else written])


def _comments(document: int, number: int, *, first: bool, n: int, seed: int) -> list[str]:
    lines = [] if number else [f"# newdoc id = synthetic-{document}"]
    if first:
        lines += [
            "# global.Entity = GRP-etype-infstat-centering-minspan-link-identity",
            f"# synthetic = made by eyeline sample-treebank -n {n} --seed {seed}; nobody wrote these sentences",
        ]
    return [*lines, f"# sent_id = synthetic-{document}-{number + 1}"]
