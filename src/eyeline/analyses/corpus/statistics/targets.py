"""Which keys count as `cls`, `sep`, punctuation and so on, and which rows are separators."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch

from eyeline.analyses.corpus.batch import Batch
from eyeline.capture.inputs import send
from eyeline.errors import TextError
from eyeline.text.tokenized import TokenizedText

#: The paper counts tokens that are exactly "." or ","; their full-width forms have the same use in Chinese and Japanese.
PUNCTUATION = frozenset(".,。、，．")
#: What tokenisers put before the first piece of a word.
WORD_MARKS = " ▁Ġ"
OFFSETS = {"next": 1, "previous": -1, "self": 0}
#: The names of built-in targets.
RESERVED = ("cls", "sep", "bos", "eos", "punctuation", "first", "special", "other", *OFFSETS, "sep_from_sep", "sep_from_other")


@dataclass(frozen=True)
class Columns:
    """The sets of keys of a batch, as one matrix: [text, key, set] of zeros and ones."""

    names: tuple[str, ...]
    matrix: torch.Tensor


def check_targets(targets: Mapping[str, str]) -> dict[str, re.Pattern[str]]:
    """Custom targets, name → regular expression that a whole token matches, refused where a name is taken or a pattern is not valid."""
    compiled = {}
    for name, pattern in targets.items():
        if name in RESERVED:
            raise TextError(f"A target named {name!r}: this is the name of a built-in target.", "Choose another name.")
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
        lengths = np.array([len(text) for text in texts])
        inside = np.arange(lengths.max()) < lengths[:, None]  # [text, key]
        of_tokens = np.full(inside.shape, -1)
        kinds = _Kinds(names, batch.roles, custom)
        tokens = chain.from_iterable(text.tokens for text in texts)
        of_tokens[inside] = np.fromiter(map(kinds.__getitem__, tokens), np.int64, int(lengths.sum()))
        for index, positions in enumerate(_special_of(batch, stack, keys=True)):
            text = texts[index]
            for position in positions:
                of_tokens[index, position] = kinds[text.tokens[position], text.ids[position] if text.ids else None]
        rows = np.array([*kinds.rows, [False] * len(names)], np.float32)  # the last row is of padding
        matrix = send(rows, batch.device)[send(of_tokens, batch.device)]  # [text, key, set]
        matrix[:, 0, names.index("first")] = 1
        if stack == "decoder":  # the first token is often a decoder's attention sink: it is neither of these
            added = send(np.array([text.special[0] for text in texts], np.float32), batch.device)
            for name in ("punctuation", "other"):
                matrix[:, 0, names.index(name)] *= added
        return Columns(names, matrix)

    return batch.once(key, make)


class _Kinds(dict[str | tuple[str, int | None], int]):
    """A token, or a special one with its number → its row in `rows`, which says to which sets it belongs; computed when first needed."""

    def __init__(self, names: Sequence[str], roles: Mapping[str, int], custom: Mapping[str, re.Pattern[str]]) -> None:
        super().__init__()
        self.rows: list[list[bool]] = []
        self._names, self._roles, self._custom = names, roles, custom

    def __missing__(self, kind: str | tuple[str, int | None]) -> int:
        token, special, number = (kind, False, None) if isinstance(kind, str) else (kind[0], True, kind[1])
        sets = _sets_of(token, special, number, self._roles, self._custom)
        self[kind] = len(self.rows)
        self.rows.append([name in sets for name in self._names])
        return self[kind]


def special_positions(text: TokenizedText) -> list[int]:
    """The positions of the tokens that the tokeniser added."""
    special, positions = text.special, []
    position = -1
    for _ in range(special.count(True)):
        position = special.index(True, position + 1)
        positions.append(position)
    return positions


def _special_of(batch: Batch, stack: str, *, keys: bool) -> list[list[int]]:
    """The special positions of every text of the batch, as queries or as keys."""
    if stack != "cross":
        keys = False  # the same text
    return batch.once(("special", stack, keys), lambda: [special_positions(text[keys]) for text in batch.texts(stack)])


def column_names(roles: Mapping[str, int], custom: Mapping[str, re.Pattern[str]]) -> tuple[str, ...]:
    """The sets of keys that this tokeniser's texts have: no `cls` where it adds none, no `special` where it adds nothing."""
    return (*roles, "punctuation", "first", *(("special",) if roles else ()), "other", *custom)


def _sets_of(token: str, special: bool, number: int | None, roles: Mapping[str, int], custom: Mapping[str, re.Pattern[str]]) -> set[str]:
    """The sets that a token belongs to at any position: all but `first`."""
    bare = token.strip(WORD_MARKS)
    if special:
        kinds = {"special", *(role for role, of in roles.items() if of == number)}
    else:
        kinds = {"punctuation" if bare in PUNCTUATION else "other"}
    return kinds | {name for name, pattern in custom.items() if pattern.fullmatch(bare)}


def sep_rows(batch: Batch, stack: str) -> torch.Tensor:
    """Which rows are separators: [text, query]; all zero for tokenisers without one."""

    def make() -> torch.Tensor:
        texts = [queries for queries, _ in batch.texts(stack)]
        matrix = np.zeros((len(texts), max(map(len, texts))), np.float32)
        sep = batch.roles.get("sep")
        for index, positions in enumerate(_special_of(batch, stack, keys=False)) if sep is not None else ():
            ids = texts[index].ids
            matrix[index, [position for position in positions if ids and ids[position] == sep]] = 1
        return send(matrix, batch.device)

    return batch.once(("sep rows", stack), make)
