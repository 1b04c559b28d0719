"""Where heads look: the mean share of attention that goes to each kind of key (figure 2 of Clark et al. 2019)."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

import numpy as np
import torch

from eyeline.errors import TextError
from eyeline.measure.runs.table import Table, head_table
from eyeline.measure.statistics.rows import Rows
from eyeline.measure.statistics.statistic import Batch, Statistic, SumKey
from eyeline.models.inputs import send
from eyeline.text.tokenized import TokenizedText

#: Targets at a fixed distance from the query.
OFFSETS = {"next": 1, "previous": -1, "self": 0}


class AverageAttention(Statistic):
    """For each head, the mean over texts of  Σ_ij A[i, j] · S[i, j] / D,  where S selects the target's keys and D is the number of rows.

    Targets: the special tokens that the tokeniser adds (cls, sep, bos, eos), punctuation (. and ,), first, special, other (neither special
    nor punctuation), next, previous, self; sink, where the model has learned one (gpt-oss): what rows lack to 1.
    `sep_from_sep` and `sep_from_other` take only the rows that are, or are not, separators.
    Decoders have no next; where they add no beginning token, the first position is neither other nor punctuation, only first.
    targets: further ones, name → a regular expression that a whole token matches. parts: parts of conversations, such as system, user,
    assistant, template; `user` is all of `user 1`, `user 2` …; the mean is over the texts that have the part.
    """

    name: ClassVar[str] = "average_attention"

    def __init__(self, targets: Mapping[str, str] | None = None, parts: Sequence[str] = ()) -> None:
        super().__init__()
        self.targets = dict(targets or {})
        self.parts = check_parts(parts, self.targets)
        self._custom = check_targets(self.targets)
        self._waiting: list[_LayerShares] = []

    def options(self) -> dict[str, object]:
        return {"targets": self.targets, **({"parts": list(self.parts)} if self.parts else {})}

    def key_sets(self, batch: Batch, stack: str) -> torch.Tensor | None:
        return columns_of(batch, stack, self._custom, self.parts).matrix

    def update(self, rows: Rows, batch: Batch) -> None:
        t = slice(rows.texts.start, rows.texts.stop)
        columns = columns_of(batch, rows.stack, self._custom, self.parts)
        offsets = _offsets(rows.stack)
        shares = rows.shares(columns.matrix[t], tuple(offsets.values()))  # [text, head, row, target]
        names = (*columns.names, *offsets)
        if rows.attention.sink:
            shares, names = torch.cat([shares, rows.sink()[..., None]], -1), (*names, "sink")
        counted = batch.once(
            ("rows that count", rows.stack, names, rows.texts, rows.first, rows.n_rows),
            lambda: _Counted.of(rows, batch, names, shares.dtype, columns.matrix[t], self.parts),
        )
        sums = counted.rows[:, None] @ shares  # [text, head, rows that count, target]
        if sums.is_cuda:
            self._waiting.append(_LayerShares(rows.stack, rows.layer, rows.heads, counted, sums))
        else:
            self._add(counted, [_LayerShares(rows.stack, rows.layer, rows.heads, counted, sums)])

    def finish(self, batch: Batch) -> None:
        """On a GPU all layers of a batch are summed together: many small steps would take longer than the model's pass."""
        waiting, self._waiting = self._waiting, []
        alike: dict[tuple[int, tuple[int, ...]], list[_LayerShares]] = {}
        for layer in waiting:
            alike.setdefault((id(layer.counted), tuple(layer.sums.shape)), []).append(layer)
        for layers in alike.values():
            self._add(layers[0].counted, layers)

    def _add(self, counted: _Counted, layers: Sequence[_LayerShares]) -> None:
        sums = torch.stack([layer.sums for layer in layers]).double()  # [layer, text, head, rows that count, target]
        totals = sums[:, :, :, 0]  # [layer, text, head, target]
        if "sep" in counted.names:
            totals = torch.cat([totals, sums[:, :, :, 1:, counted.names.index("sep")]], -1)
        means = (totals / counted.divisors[:, None]).sum(1)  # [layer, head, target]; without rows it is 0 / 1
        values = torch.stack([means, counted.n_texts.expand_as(means)], -1)  # [layer, head, target, (sum, texts)]
        for layer, of_layer in zip(layers, values, strict=True):
            self.add(SumKey(layer.stack, layer.layer, "mean", counted.all_names), of_layer, layer.heads)

    def result(self) -> dict[str, Table]:
        records = []
        for layer_sum in self.by_layer("mean"):
            for target, name in sorted(enumerate(layer_sum.details), key=lambda pair: _order(pair[1])):
                total, n_texts = layer_sum.values[:, target].T  # [head], [head]
                if n_texts.any():  # texts without separator rows have no sep_from_sep
                    records += [(layer_sum.stack, layer_sum.layer, head, name, float(mean)) for head, mean in enumerate(total / n_texts)]
        return {self.name: head_table(records, ("target", "mean"))}


@dataclass(frozen=True)
class _Counted:
    """Which rows of some texts count for which target: the same for every layer.

    names      of the targets; all_names: with sep_from_sep and sep_from_other
    rows       1 for each row that counts: [text, (all, separators, others), row]
    divisors   how many rows each mean is over, at least 1: [text, target of all_names]
    n_texts    how many texts each mean is over: [target of all_names]
    """

    names: tuple[str, ...]
    all_names: tuple[str, ...]
    rows: torch.Tensor
    divisors: torch.Tensor
    n_texts: torch.Tensor

    @classmethod
    def of(
        cls, rows: Rows, batch: Batch, names: tuple[str, ...], dtype: torch.dtype, sets: torch.Tensor, parts: tuple[str, ...]
    ) -> _Counted:
        """sets: the keys of each set, [text, key, set]; of a part, texts that have none of its keys do not count."""
        t = slice(rows.texts.start, rows.texts.stop)
        seps = sep_rows(batch, rows.stack)[t, rows.first : rows.first + rows.n_rows]  # [text, row]
        inside = rows.inside.to(dtype)
        n_rows = batch.lengths(rows.stack)[t]  # [text]
        divisors, all_names = n_rows[:, None].repeat(1, len(names)), names  # [text, target]
        for index in [names.index(part) for part in parts]:
            divisors[:, index] *= sets[:, :, index].any(1)
        if "sep" in names:
            n_seps = sep_rows(batch, rows.stack)[t].sum(-1).double()  # [text]
            divisors = torch.cat([divisors, torch.stack([n_seps, n_rows - n_seps], -1)], -1)
            all_names = (*names, "sep_from_sep", "sep_from_other")
        n_texts = (divisors > 0).sum(0).double() * float(rows.first == 0)  # [target]
        counting = torch.stack([inside, inside * seps, inside * (1 - seps)], 1)  # [text, rows that count, row]
        return cls(names, all_names, counting, divisors.clamp_min(1), n_texts)


@dataclass(frozen=True)
class _LayerShares:
    """The sums of one layer: [text, head, rows that count, target]."""

    stack: str
    layer: int
    heads: range
    counted: _Counted
    sums: torch.Tensor


def _offsets(stack: str) -> dict[str, int]:
    """Neighbours exist where queries and keys are one text; a decoder sees no next token."""
    if stack == "cross":
        return {}
    return {name: offset for name, offset in OFFSETS.items() if not (stack == "decoder" and name == "next")}


def _order(name: str) -> tuple[int, str]:
    known = ["cls", "sep", "bos", "eos", "sep_from_sep", "sep_from_other", "punctuation", *OFFSETS, "first", "sink", "special", "other"]
    return (known.index(name), "") if name in known else (len(known), name)


# ---- Which keys belong to which target, and which rows are separators


#: The paper counts tokens that are exactly "." or ","; their full-width forms have the same use in Chinese and Japanese.
PUNCTUATION = frozenset(".,。、，．")

#: What tokenisers put before the first piece of a word.
WORD_MARKS = " ▁Ġ"

#: The names of built-in targets.
RESERVED = ("cls", "sep", "bos", "eos", "punctuation", "first", "special", "other", "sink", *OFFSETS, "sep_from_sep", "sep_from_other")


#: Of `user 2`: what counts the parts of a kind.
_NUMBER = re.compile(r" \d+$")


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


def check_parts(parts: Sequence[str], targets: Collection[str]) -> tuple[str, ...]:
    """Names of parts as targets, refused where a name is taken."""
    if isinstance(parts, str):
        raise TextError(f"parts={parts!r}.", f"Give a list: parts=[{parts!r}].")
    if taken := [name for name in parts if name in RESERVED or name in targets]:
        raise TextError(f"A part named {taken[0]!r}: this is the name of another target.", "Leave it out.")
    return tuple(dict.fromkeys(parts))


def columns_of(batch: Batch, stack: str, custom: Mapping[str, re.Pattern[str]], parts: tuple[str, ...] = ()) -> Columns:
    """The sets of keys of every text of the batch, those of the parts last; padding belongs to none."""
    key = ("columns", stack, tuple((name, pattern.pattern) for name, pattern in custom.items()), parts)

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
        if parts:
            matrix = torch.cat([matrix, send(_part_columns(texts, parts, int(lengths.max())), batch.device)], -1)
        return Columns((*names, *parts), matrix)

    return batch.once(key, make)


def _part_columns(texts: Sequence[TokenizedText], parts: tuple[str, ...], longest: int) -> np.ndarray:
    """[text, key, part]: 1 where the key belongs to a part of this name, whatever its number."""
    matrix = np.zeros((len(texts), longest, len(parts)), np.float32)
    for index, text in enumerate(texts):
        kinds = [parts.index(kind) if (kind := _NUMBER.sub("", name)) in parts else -1 for name in text.parts]
        for position, part in enumerate(text.part_of):
            if kinds[part] >= 0:
                matrix[index, position, kinds[part]] = 1
    return matrix


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
