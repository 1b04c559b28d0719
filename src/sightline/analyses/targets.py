"""Which keys count as `cls`, `sep`, punctuation and so on, and which rows look at them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import torch

from sightline.analyses.batch import Batch
from sightline.errors import TextError
from sightline.text.tokenized import TokenizedText

#: The paper counts tokens that are exactly "." or ","; their full-width forms do the same work in Chinese and Japanese.
PUNCTUATION = frozenset(".,。、，．")
#: What tokenisers put before the first piece of a word.
WORD_MARKS = " ▁Ġ"
OFFSETS = {"next": 1, "previous": -1, "self": 0}
#: Targets that every tokeniser has, or that sightline itself makes.
RESERVED = ("cls", "sep", "bos", "eos", "punctuation", "first", "special", "other", *OFFSETS, "sep_from_sep", "sep_from_other")


@dataclass(frozen=True)
class Columns:
    """The sets of keys of a batch, as one matrix: [text, key, set] of zeros and ones."""

    names: tuple[str, ...]
    matrix: torch.Tensor


def check_targets(targets: Mapping[str, str]) -> dict[str, re.Pattern[str]]:
    """Custom targets, name → regular expression that a whole token matches, refused where a name is taken or a pattern is broken."""
    compiled = {}
    for name, pattern in targets.items():
        if name in RESERVED:
            raise TextError(f"A target named {name!r}: sightline has one of that name.", "Choose another name.")
        if not re.fullmatch(r"\w[\w-]*", name):
            raise TextError(f"A target named {name!r}.", "Use letters, digits, _ and -.")
        try:
            compiled[name] = re.compile(pattern)
        except re.error as error:
            raise TextError(f"The target {name}={pattern!r} is not a regular expression: {error}.") from error
    return compiled


def columns_of(batch: Batch, stack: str, custom: Mapping[str, re.Pattern[str]]) -> Columns:
    """The sets of keys of every text of the batch; padding belongs to none."""
    key = ("columns", stack, tuple((name, pattern.pattern) for name, pattern in custom.items()))

    def make() -> Columns:
        texts = [keys for _, keys in batch.texts(stack)]
        names = column_names(batch.roles, custom)
        matrix = torch.zeros(len(texts), max(map(len, texts)), len(names), dtype=torch.float32)
        for place, text in enumerate(texts):
            found = _membership(text, batch.roles, custom)
            matrix[place, : len(text)] = torch.tensor([[float(name in kinds) for name in names] for kinds in found])
        return Columns(names, matrix.to(batch.device))

    return batch.once(key, make)


def column_names(roles: Mapping[str, int], custom: Mapping[str, re.Pattern[str]]) -> tuple[str, ...]:
    """The sets of keys that this tokeniser's texts have: no `cls` where it adds none, no `special` where it adds nothing."""
    return (*roles, "punctuation", "first", *(("special",) if roles else ()), "other", *custom)


def _membership(text: TokenizedText, roles: Mapping[str, int], custom: Mapping[str, re.Pattern[str]]) -> list[set[str]]:
    """The sets that each token belongs to."""
    by_id = {number: role for role, number in roles.items()}
    found: list[set[str]] = []
    ids = text.ids or (None,) * len(text)
    for place, (token, special, number) in enumerate(zip(text.tokens, text.special, ids, strict=True)):
        bare = token.strip(WORD_MARKS)
        kinds = {"first"} if place == 0 else set()
        if special:
            kinds |= {"special"} | ({by_id[number]} if number in by_id else set())
        elif bare in PUNCTUATION:
            kinds.add("punctuation")
        else:
            kinds.add("other")
        kinds |= {name for name, pattern in custom.items() if pattern.fullmatch(bare)}
        found.append(kinds)
    return found


def sep_rows(batch: Batch, stack: str) -> torch.Tensor:
    """Which rows are separators: [text, query]; all zero for tokenisers without one."""

    def make() -> torch.Tensor:
        texts = [queries for queries, _ in batch.texts(stack)]
        found = torch.zeros(len(texts), max(map(len, texts)))
        sep = batch.roles.get("sep")
        for place, text in enumerate(texts):
            rows = [float(special and number == sep) for special, number in zip(text.special, text.ids, strict=False)]
            found[place, : len(rows)] = torch.tensor(rows)
        return found.to(batch.device)

    return batch.once(("sep rows", stack), make)
