"""Streamed attention is checked, layer by layer, against what the layer's own function computes from the same queries and keys.

The check belongs to the pass whose numbers are used: nothing can drift apart between two passes, in any precision. It looks at a few rows
of a few texts, and computes them in single precision. A layer that differs takes a slower form, alone.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch

from eyeline.errors import ModelError
from eyeline.measure.statistics.rows import FusedRows, KernelRows, Rows, keys_seen, precise, rows_of_scores
from eyeline.messages import Message
from eyeline.models.attention import AttentionCall, LayerAttention
from eyeline.models.kernels import OFFSETS, entropy_from_exponentials
from eyeline.models.layout import listed

#: How far a layer's output may lie from the exact one, relative to what rounding can move; and how far the shares of attention.
OUTPUT_WITHIN = {torch.bfloat16: 5e-3, torch.float16: 1e-3}
SHARES_WITHIN = {torch.bfloat16: 4e-3, torch.float16: 1e-3}
SINGLE_WITHIN = 1e-3

#: How far the scale of a head's scores may be off, beyond what rounding explains (so many standard errors).
SCALE_WITHIN, STANDARD_ERRORS = 2e-3, 4

#: How far entropies may lie apart, in nats, on average over neighbouring rows. They are sums in single precision, but for those of a long
#: text through its device's kernel in half precision.
ENTROPY_WITHIN, ENTROPY_OF_KERNEL_WITHIN = 2e-4, 4e-3

#: The most texts that a check reads, and the most rows of each at its beginning, in its middle and at its end.
CHECK_TEXTS, CHECK_ROWS = 4, 16

#: The most weights of one text that a check computes: rows of very long texts are fewer.
CHECK_WEIGHTS = 1 << 26

#: A streamed run checks about one batch in RECHECK_EVERY again.
RECHECK_EVERY = 50


@dataclass
class Forms:
    """Which form of attention each layer takes, as the checks of a run have found.

    slower    stack.layer → "streamed" (not in one pass) or "dense" (the model's own maps), where a faster form differs;
              "all.0" → "unchecked" where the model changes its masks, so that its own maps are used
    checked   which kinds of rows were checked: each is when it is first used
    """

    slower: dict[str, str] = field(default_factory=dict)
    checked: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, slower: Mapping[str, str], checked: Sequence[str]) -> Forms:
        return cls(dict(slower), set(checked))

    def copy(self) -> Forms:
        return Forms(dict(self.slower), set(self.checked))

    def add(self, other: Forms) -> None:
        """What another process has found too."""
        self.slower |= {layer: form for layer, form in other.slower.items() if self.slower.get(layer) != "dense"}
        self.checked |= other.checked

    def notices(self) -> list[Message]:
        """Which layers take a slower form, and why."""
        by_form: dict[tuple[str, str], list[int]] = {}
        for layer, form in self.slower.items():
            stack, number = layer.rsplit(".", 1)
            by_form.setdefault((form, stack), []).append(int(number))
        return [
            Message(f"notice.{form}_layers", stack=stack, layers=listed(tuple(sorted(layers))))
            for (form, stack), layers in sorted(by_form.items())
        ]


@dataclass
class PassCheck:
    """The checks of one pass.

    forms     of the run so far: what this pass finds is added
    again     whether also kinds of rows are checked that were checked before
    """

    model: str
    forms: Forms
    again: bool = False

    def __post_init__(self) -> None:
        self._before = frozenset(self.forms.checked)

    def form_that_agrees(self, attention: LayerAttention, *, measured: bool, fused: bool) -> LayerAttention | None:
        """The layer in the fastest form that agrees with its own function; None: that is no other form than its own maps.

        measured: whether its rows are used; of other layers the output alone is checked"""
        layer = f"{attention.stack}.{attention.layer}"
        if self.forms.slower.get(layer) == "dense":
            return None
        while True:
            kind = _kind(attention)
            if kind in self._before and not self.again:
                return attention
            if difference(attention, measured=measured, fused=fused) <= 1:
                self.forms.checked.add(kind)
                return attention
            if kind in self._before:
                raise differs_now(self.model, f" ({attention.stack}, layer {attention.layer})")
            if attention.call.numbers is None:
                self.forms.slower[layer] = "dense"
                return None
            self.forms.slower[layer] = "streamed"
            attention = replace(attention, recorded=replace(attention.call, numbers=None, output=attention.call.fused()))


def differs_now(model: str, layer: str = "") -> ModelError:
    """Stop a run whose streamed form no longer agrees with the model's own maps."""
    return ModelError(
        f"The attention of {model} through a fused kernel is not that of its own maps{layer}.",
        "It was when the run began. The sums since then cannot be trusted, so the run stops here.",
        "Please report this model to eyeline.",
    )


def is_rechecked(seed: int, group: int, batch: int) -> bool:
    """Whether this batch is one of those that are checked again: a seeded choice by its number, the same in a resumed run."""
    return random.Random(f"{seed} {group} {batch}").random() < 1 / RECHECK_EVERY  # noqa: S311 - a seeded choice, not a secret


def _kind(attention: LayerAttention) -> str:
    """How rows are computed: in one pass or not, of a long text or of several, with a mask or without."""
    call = attention.call
    one_pass = "one pass" if call.numbers is not None else "streamed"
    alone = "alone" if len(call.queries) == 1 else "together"
    return f"{one_pass}, {alone}, {'masked' if call.mask is not None else 'causal' if call.causal else 'open'}"


# ---- How far a layer lies from its own function


def difference(attention: LayerAttention, *, measured: bool = True, fused: bool = True) -> float:
    """The largest difference of a layer's output and of the numbers of its rows, in units of what is allowed: at most 1 where they agree.

    measured: whether its rows are used; else the output alone is compared
    """
    call, dtype = attention.call, attention.call.queries.dtype
    if call.output is None:
        raise RuntimeError("A layer without its output cannot be checked.")
    exact: dict[int, _ExactRows] = {}
    differences, slopes = [], []
    for text in texts_of_check(attention.n_queries):
        rows = rows_of_check(attention.n_queries[text], call.queries.shape[1] * call.keys.shape[2])
        index = torch.tensor(rows, device=call.queries.device)
        output, weights, mask = call.own_of_rows(slice(text, text + 1), index, attention.stack, single=True)
        exact[text] = _ExactRows(rows, index, weights, mask)
        values = call.values[text].to(weights.dtype)  # [key head, key, dim]
        off = (precise(call.output[text, index]) - output[0]).transpose(0, 1)  # [head, row, dim]
        differences.append(_output_difference(off, output[0].transpose(0, 1), weights[0], values) / OUTPUT_WITHIN.get(dtype, SINGLE_WITHIN))
        slopes.append(_along_the_scale(off, weights[0], values))
    differences.append(_scale_difference(torch.cat(slopes, 1)) / SCALE_WITHIN)
    if measured:
        differences += _row_differences(attention, exact, fused)
    return float(torch.stack(differences).nan_to_num(torch.inf).max())


def texts_of_check(lengths: Sequence[int]) -> list[int]:
    """A few texts of a batch, with the longest and the shortest."""
    order = sorted(range(len(lengths)), key=lambda text: -lengths[text])
    return sorted({order[0], order[-1], *order[1 : CHECK_TEXTS - 1]})


def rows_of_check(n_queries: int, numbers_of_a_row: int) -> list[int]:
    """Some rows at the beginning, in the middle and at the end of a text.

    >>> rows_of_check(100, 1)[:17], len(rows_of_check(100, 1))
    ([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 42], 48)
    """
    size = max(2, min(CHECK_ROWS, CHECK_WEIGHTS // (3 * numbers_of_a_row)))
    starts = (0, n_queries // 2 - size // 2, n_queries - size)
    return sorted({row for start in starts for row in range(max(0, start), min(n_queries, max(0, start) + size))})


def _output_difference(off: torch.Tensor, exact: torch.Tensor, weights: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """The largest difference of the output over heads and neighbouring rows, each as a root mean square.

    off, exact   [head, row, dim]; weights: [head, row, key], values: [key head, key, dim]

    Rounded weights move the output by about their rounding times √(Σ a²·v²), whatever the sum of a·v comes to; so that is what a
    difference is compared with, together with the output itself.
    """
    squares = _for_heads(weights.square(), values.square().mean(-1, keepdim=True))[..., 0]  # [head, row]
    scale = exact.square().mean(-1) + squares
    relative = _by_neighbours(off.square().mean(-1)) / _by_neighbours(scale).clamp_min(torch.finfo(scale.dtype).tiny)
    return relative.sqrt().max()


def _along_the_scale(off: torch.Tensor, weights: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """How much of a difference goes where the output goes when the scores of a head are scaled.

        ∂o/∂ log scale = Σ_j a_j · (s_j − s̄) · v_j        s_j − s̄ = log a_j − Σ a · log a

    → for each row the product of both, and the square of this derivative: [head, row, 2]
    """
    logs = weights.clamp_min(torch.finfo(weights.dtype).tiny).log()
    slope = _for_heads(weights * (logs - (weights * logs).sum(-1, keepdim=True)), values)  # [head, row, dim]
    return torch.stack([(off * slope).sum(-1), slope.square().sum(-1)], -1)


def _scale_difference(slopes: torch.Tensor) -> torch.Tensor:
    """By which part of itself the scale of a head is off, by least squares over rows, less what rounding explains; of the worst head.

    slopes: [head, row, 2]
    """
    along, squares = slopes.unbind(-1)  # [head, row]
    total = squares.sum(-1).clamp_min(torch.finfo(squares.dtype).tiny)  # [head]
    factor = along.sum(-1) / total
    error = (along - factor[:, None] * squares).square().sum(-1).sqrt() / total
    return (factor.abs() - STANDARD_ERRORS * error).clamp_min(0).max()


def _for_heads(weights: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """weights [head, row, key] @ values [key head, key, dim] → [head, row, dim]: heads may share values."""
    n_heads, n_rows, n_keys = weights.shape
    grouped = weights.reshape(len(values), -1, n_keys)  # [key head, head · row, key]
    return (grouped @ values).reshape(n_heads, n_rows, -1)


def _by_neighbours(values: torch.Tensor) -> torch.Tensor:
    """Means over a few rows at a time: [head, row] → [head, part]"""
    return torch.stack([part.mean(-1) for part in torch.split(values, NEIGHBOURS, -1)], -1)


#: Rows whose differences are averaged: rounding goes both ways, a fault goes one way.
NEIGHBOURS = 8


@dataclass(frozen=True)
class _ExactRows:
    """rows, index: of one text, as numbers and as a tensor; weights: [1, head, row, key]; mask: numbers added to the attention."""

    rows: Sequence[int]
    index: torch.Tensor
    weights: torch.Tensor
    mask: torch.Tensor | None


def _row_differences(attention: LayerAttention, exact: Mapping[int, _ExactRows], fused: bool) -> list[torch.Tensor]:
    """How far the numbers of these rows lie from the exact ones."""
    call, sets = attention.call, _sets_of_check(attention.call)
    n_heads, n_sets = call.queries.shape[1], sets.shape[-1]
    numbers = {
        text: torch.full((n_heads, len(of.rows), n_sets + len(OFFSETS) + 2), torch.nan, device=of.weights.device, dtype=of.weights.dtype)
        for text, of in exact.items()
    }  # [head, row, set, offset, entropy and visible keys]
    within_entropy = ENTROPY_WITHIN
    for rows in rows_of_scores(attention, fused=fused, only={text: of.rows for text, of in exact.items()}):
        if isinstance(rows, FusedRows) and call.queries.dtype in SHARES_WITHIN:
            within_entropy = ENTROPY_OF_KERNEL_WITHIN
        for text in set(rows.texts) & exact.keys():
            inside = [i for i, row in enumerate(exact[text].rows) if rows.first <= row < rows.first + rows.n_rows]
            if inside:
                _fill(numbers[text], rows, text, inside, exact[text].rows, sets)
    within = SHARES_WITHIN.get(call.queries.dtype, SINGLE_WITHIN)
    differences = []
    for text, of in exact.items():
        off = numbers[text] - _exact_numbers(of, sets[text], attention, text)  # [head, row, number]
        differences += [off[..., :-2].abs().max() / within, off[..., -1].abs().max() * 2]
        differences.append(_by_neighbours(off[..., -2]).abs().max() / within_entropy)
    return differences


def _sets_of_check(call: AttentionCall) -> torch.Tensor:
    """Sets of keys whose shares are compared: those of the numbers, else the even keys and the first. [text, key, set]"""
    if call.numbers is not None:
        return torch.cat(call.numbers.sets.given, -1)
    positions = torch.arange(call.keys.shape[2], device=call.keys.device)
    sets = torch.stack([positions % 2 == 0, positions == 0], -1).to(precise(call.keys[:0]).dtype)  # [key, set]
    return sets.expand(len(call.queries), -1, -1)


def _fill(numbers: torch.Tensor, rows: Rows, text: int, inside: list[int], checked: Sequence[int], sets: torch.Tensor) -> None:
    """Write the numbers of the rows of one block into their places."""
    of_block = torch.tensor([checked[i] - rows.first for i in inside], device=numbers.device)
    at = torch.tensor(inside, device=numbers.device)
    heads = slice(rows.heads.start, rows.heads.stop)
    local = text - rows.texts.start
    of_texts = sets[rows.texts.start : rows.texts.stop]
    every = rows.numbers.shares if isinstance(rows, KernelRows) else rows.shares(of_texts, OFFSETS)
    shares = every[local][:, of_block]  # [head, row, set and offset]
    numbers[heads, at, : shares.shape[-1]] = shares.to(numbers.dtype)
    numbers[heads, at, -2] = rows.entropy()[local][:, of_block].to(numbers.dtype)
    numbers[heads, at, -1] = rows.visible[local, of_block].to(numbers.dtype)


def _exact_numbers(of: _ExactRows, sets: torch.Tensor, attention: LayerAttention, text: int) -> torch.Tensor:
    """[head, row, number], from the map."""
    weights = of.weights[0]  # [head, row, key]
    shares = [weights @ sets.to(weights.dtype)]  # [head, row, set]
    for offset in OFFSETS:
        keys = of.index + offset
        there = (keys >= 0) & (keys < weights.shape[-1])
        at = keys.clamp(0, weights.shape[-1] - 1)[None, :, None].expand(weights.shape[0], -1, 1)
        shares.append(weights.gather(-1, at) * there[:, None])
    entropy = entropy_from_exponentials(weights, weights.sum(-1, keepdim=True))  # [head, row]
    seen = keys_seen(of.weights, of.mask, "encoder", [attention.n_keys[text]])[0].sum(-1)  # [row]
    visible = seen.to(weights.dtype).expand(weights.shape[0], -1)
    return torch.cat([*shares, entropy[..., None], visible[..., None]], -1)
