"""Which heads are alike: distances between their attention, and a plane in which they are laid out (figure 6 of Clark et al. 2019)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar

import numpy as np
import torch

from eyeline.heads import HeadRef
from eyeline.mathematics import metric_mds
from eyeline.measure.runs.table import Table
from eyeline.measure.statistics.prepare import BatchSize
from eyeline.measure.statistics.rows import Rows, numbers_on
from eyeline.measure.statistics.statistic import Batch, Statistic, SumKey
from eyeline.models.model import Model

#: Pairs of heads cross layers, so the maps of every layer of a batch are held at once: batches are smaller, and longer texts left out.
HELD_TOKENS, HELD_SHARE, LONGEST = 1024, 8, 1024

#: What the cells of padding hold: the same for every head, so that they add nothing to any distance.
NOTHING = 1e-20


class HeadDistances(Statistic):
    """A square of distances between heads of one stack: Jensen–Shannon divergence in nats, the mean over all rows of all texts.

    smoothing   A' = (1 − smoothing) · A + smoothing / n, as in the paper (0.001)
    longest     texts with more tokens are left out of the distances alone, and counted
    """

    name: ClassVar[str] = "distances"

    def __init__(self, smoothing: float = 0.001, longest: int = LONGEST) -> None:
        super().__init__()
        self.smoothing, self.longest = smoothing, longest
        self._held: dict[tuple[str, int], dict[int, torch.Tensor]] = {}  # (stack, text) → layer → [head, row, key]
        self._together: dict[str, dict[int, list[torch.Tensor]]] = {}  # on a GPU: stack → layer → [head, text · row · key] each

    def options(self) -> dict[str, object]:
        return {"smoothing": self.smoothing, "longest": self.longest}

    def batch_tokens(self, model: Model) -> int | None:
        return max(HELD_TOKENS, BatchSize.of(model).tokens // HELD_SHARE)

    def reads_weights(self, batch: Batch) -> bool:
        return bool(batch.up_to(self.longest).examples)

    def update(self, rows: Rows, batch: Batch) -> None:
        if rows.exponentials.is_cuda and rows.n_rows == max(rows.n_queries) and len(rows.heads) == rows.heads.stop:
            by_layer = self._together.setdefault(rows.stack, {})
            by_layer.setdefault(rows.layer, []).append(self._smooth(rows))
            return
        for index, text in enumerate(rows.texts):
            n_rows, n_keys = rows.n_queries[index], rows.n_keys[index]
            if max(n_rows, n_keys) > self.longest:
                continue
            last = min(n_rows, rows.first + rows.exponentials.shape[2])
            width = min(n_keys, rows.exponentials.shape[3])
            whole = rows.first == 0 and last == n_rows and width == n_keys
            part = rows.exponentials[index, :, : last - rows.first, :width] * rows.inverse[index, :, : last - rows.first]
            held = self._held.setdefault((rows.stack, text), {})
            if whole and rows.layer not in held and rows.heads.start == 0:
                held[rows.layer] = part
                continue
            earlier = held.get(rows.layer)
            if earlier is None or len(earlier) < rows.heads.stop:
                grown = part.new_zeros(rows.heads.stop, n_rows, n_keys)
                if earlier is not None:
                    grown[: len(earlier)] = earlier
                held[rows.layer] = grown
            held[rows.layer][rows.heads.start : rows.heads.stop, rows.first : last, :width] = part

    def _smooth(self, rows: Rows) -> torch.Tensor:
        """All texts of a block side by side, each smoothed over its own keys: [head, text · row · key]."""
        lengths = list(zip(rows.n_queries, rows.n_keys, strict=True))
        n_queries, n_keys = (tuple(pair[side] if max(pair) <= self.longest else 0 for pair in lengths) for side in (0, 1))
        device, (_, n_heads, height, width) = rows.exponentials.device, rows.exponentials.shape
        in_rows = torch.arange(height, device=device) < numbers_on(device, n_queries)[:, None]  # [text, row]
        in_keys = torch.arange(width, device=device) < numbers_on(device, n_keys)[:, None]  # [text, key]
        inside = (in_rows[:, :, None] & in_keys[:, None])[:, None]  # [text, 1, row, key]
        even = (self.smoothing / numbers_on(device, n_keys).clamp_min(1)).to(rows.exponentials.dtype)[:, None, None, None]
        smooth = torch.where(inside, rows.weights() * (1 - self.smoothing) + even, NOTHING)  # [text, head, row, key]
        return smooth.transpose(0, 1).reshape(n_heads, -1)

    def _finish_together(self, batch: Batch) -> None:
        for stack, by_layer in self._together.items():
            layers = sorted(by_layer)
            cells = [torch.cat(by_layer[layer], 1) for layer in layers]  # [head, text · row · key] each
            details = layer_sizes({layer: len(of_layer) for layer, of_layer in zip(layers, cells, strict=True)})
            distances = js_of_smoothed(torch.cat(cells))  # [head, head]
            self.add(SumKey(stack, 0, "distance", details), distances, range(len(distances)))
            rows = [len(queries) for queries, keys in batch.texts(stack) if max(len(queries), len(keys)) <= self.longest]
            self.add(SumKey(stack, 0, "rows", details), np.array([float(sum(rows)), float(len(rows))]), range(2))
        self._together = {}

    def finish(self, batch: Batch) -> None:
        self._finish_together(batch)
        for stack, details, texts in self._side_by_side():
            distances = js_of_smoothed(torch.cat([cells for cells, _ in texts], 1)).cpu().numpy()  # [head, head]
            self.add(SumKey(stack, 0, "distance", details), distances, range(len(distances)))
            self.add(SumKey(stack, 0, "rows", details), np.array([float(sum(n for _, n in texts)), float(len(texts))]), range(2))
        self._held = {}
        self.leave_out(len(batch.examples) - len(batch.up_to(self.longest).examples))

    def _side_by_side(self) -> Iterator[tuple[str, tuple[str, ...], list[tuple[torch.Tensor, int]]]]:
        """The texts of a batch, as many at once as a block holds: the stack, its heads, and of each text the smoothed cells
        [head of any layer, row · key] and how many rows."""
        waiting: dict[tuple[str, tuple[str, ...]], list[tuple[torch.Tensor, int]]] = {}
        for (stack, _), by_layer in self._held.items():
            layers = sorted(by_layer)
            maps = torch.cat([by_layer[layer] for layer in layers])  # [head of any layer, row, key]
            smooth = maps.mul_(1 - self.smoothing).add_(self.smoothing / maps.shape[2])
            key = stack, layer_sizes({layer: len(by_layer[layer]) for layer in layers})
            texts = waiting.setdefault(key, [])
            if texts and sum(cells.numel() for cells, _ in texts) + smooth.numel() > BLOCK:
                yield *key, texts
                texts = waiting[key] = []
            texts.append((smooth.flatten(1), maps.shape[1]))
        for key, texts in waiting.items():
            yield *key, texts

    def result(self) -> dict[str, Table]:
        """`distances`, a square whose header and first column name the heads; one for each stack where there are several."""
        squares = self.by_layer("distance")
        tables = {}
        for square in squares:
            heads = [str(head) for head in heads_of(square.details)]
            n_rows = self.sums[replace(square.key, quantity="rows")][0]
            name = self.name if len(squares) == 1 else f"{self.name}_{square.stack}"
            tables[name] = Table({"head": heads, **{head: (square.values[:, i] / n_rows).tolist() for i, head in enumerate(heads)}})
        return tables or {self.name: Table({"head": []})}


def layer_sizes(n_heads: Mapping[int, int]) -> tuple[str, ...]:
    """Which heads the rows of a square stand for, as details of its key: layer → number of heads.

    >>> layer_sizes({0: 1, 3: 2})
    ('0x1', '3x2')
    """
    return tuple(f"{layer}x{n}" for layer, n in n_heads.items())


def heads_of(details: Sequence[str]) -> list[HeadRef]:
    """The head of each row of the square, from what `layer_sizes` wrote.

    >>> [str(head) for head in heads_of(("0x1", "3x2"))]
    ['L0·H0', 'L3·H0', 'L3·H1']
    """
    sizes = [tuple(map(int, detail.split("x"))) for detail in details]
    return [HeadRef("", layer, head) for layer, n_heads in sizes for head in range(n_heads)]


# ---- Jensen–Shannon divergences of every two heads
# In blocks that stay in cache. On a processor NumPy computes them, one block a thread: its logarithm of single-precision numbers takes
# a third of the time of torch's. On a GPU torch does.


#: Numbers of one block, [head, chunk of cells], on a processor: few enough for a core's cache, many enough for few calls.
BLOCK = 1 << 20

#: The share of cells that must be left for a copy of the others to cost more than it saves.
WORTH_A_COPY = 0.95

#: Heads of one tile on a GPU: the fastest of 12 to 48 on an H200.
TILE = 36

#: Cells of one chunk on a GPU: enough to fill it, few enough to sum in single precision.
GPU_CELLS = 1 << 18


def js_between_heads(weights: torch.Tensor, smoothing: float = 0.001) -> torch.Tensor:
    """The sum over rows of the Jensen–Shannon divergence between the attention of every two heads, in nats.

        p' = (1 − smoothing) · p + smoothing / n
        JS(p, g) = H((p + g) / 2) − ½ H(p) − ½ H(g) = log 2 + ½ [Σ p·log p + Σ g·log g − Σ (p + g)·log(p + g)]

    weights: [head, row, key], rows summing to 1, n keys → [head, head], float64, symmetric, zero on the diagonal. With a smoothing above 0
    no logarithm meets a zero. Only one triangle is computed. Source: Clark et al. 2019, section 6 (smoothing 0.001).

    >>> same = torch.full((2, 1, 4), 0.25)
    >>> bool(js_between_heads(same).abs().max() < 1e-6)
    True
    """
    n_heads, _, n_keys = weights.shape
    return _js(weights.reshape(n_heads, -1), 1 - smoothing, smoothing / n_keys)


def js_of_smoothed(smooth: torch.Tensor) -> torch.Tensor:
    """`js_between_heads` of rows that are smoothed already, [head, cell]: rows of any number of texts side by side.

    A cell in which all heads have the same number adds nothing."""
    return _js(smooth, 1, 0)


def _js(cells: torch.Tensor, scale: float, shift: float) -> torch.Tensor:
    """Of p = scale · cells + shift, [head, cell] → [head, head]."""
    terms = _terms_on_gpu(cells, scale, shift) if cells.is_cuda else _terms(cells, scale, shift)
    # the row sums need not be 1 to the last digit: they are taken as they are
    total = 0.5 * (terms.own[:, None] + terms.own[None] - terms.both) + 0.5 * math.log(2) * (terms.sums[:, None] + terms.sums[None])
    upper = total.triu(1).clamp_min(0)
    return upper + upper.T


@dataclass(frozen=True)
class _Terms:
    """What the divergences are made of, in double precision. own: Σ p · log p, [head]; sums: Σ p, [head]; both: Σ (p + g) · log(p + g),
    [head, head], upper triangle."""

    own: torch.Tensor
    sums: torch.Tensor
    both: torch.Tensor

    @classmethod
    def zero(cls, n_heads: int, device: torch.device) -> _Terms:
        by_head, by_pair = (torch.zeros(shape, dtype=torch.float64, device=device) for shape in (n_heads, (n_heads, n_heads)))
        return cls(by_head, by_head.clone(), by_pair)


def _terms(cells: torch.Tensor, scale: float, shift: float) -> _Terms:
    """Of p = scale · cells + shift, [head, cell], on a processor."""
    array = cells.detach().to("cpu", torch.promote_types(cells.dtype, torch.float32)).numpy()  # NumPy knows no bfloat16
    # Where all heads have one number, as where none may look in a decoder, a cell adds nothing: half of a decoder's cells.
    differs = (array != array[:1]).any(0)  # [cell]
    array = array if differs.mean() > WORTH_A_COPY else array[:, differs]
    n_heads, n_cells = array.shape
    # As many blocks for any number of threads, so that the sums are rounded alike; an even number, so that two threads end together.
    blocks = min(2 * math.ceil(n_heads * n_cells / (2 * BLOCK)), math.ceil(n_cells / 256))
    parts = np.array_split(array, max(1, blocks), axis=1)
    terms = _Terms.zero(n_heads, torch.device("cpu"))
    with ThreadPoolExecutor(torch.get_num_threads()) as threads:
        for block in threads.map(lambda part: _terms_of_block(part, scale, shift), parts):
            for sums, of_block in zip((terms.own, terms.sums, terms.both), block, strict=True):
                sums += torch.from_numpy(of_block)
    return terms


def _terms_of_block(part: np.ndarray, scale: float, shift: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The three terms of one block [head, cell], in its own precision."""
    block = np.multiply(part, scale, order="C")
    np.maximum(np.add(block, shift, out=block), np.finfo(block.dtype).tiny, out=block)  # without smoothing there are zeros: 0 · log 0 = 0
    logs, mixed = np.log(block), np.empty_like(block)
    own, both = np.vecdot(block, logs), np.zeros((len(block), len(block)), block.dtype)
    for head in range(len(block) - 1):
        pairs = np.add(block[head + 1 :], block[head], out=mixed[head + 1 :])  # [later head, cell]
        np.vecdot(pairs, np.log(pairs, out=logs[head + 1 :]), out=both[head, head + 1 :])
    return own, block.sum(-1), both


def _terms_on_gpu(cells: torch.Tensor, scale: float, shift: float) -> _Terms:
    """The same on a GPU: tiles of pairs in one fused kernel each, so that neither sums nor logarithms are written to memory."""
    terms, pair_sums = _Terms.zero(len(cells), cells.device), _pair_sums()
    for start in range(0, cells.shape[1], GPU_CELLS):
        part = cells[:, start : start + GPU_CELLS].mul(scale).add_(shift).clamp_min_(torch.finfo(cells.dtype).tiny)  # [head, chunk]
        terms.own.add_((part.log() * part).sum(-1))
        terms.sums.add_(part.sum(-1))
        for first in range(0, len(part), TILE):
            for second in range(first, len(part), TILE):
                sums = pair_sums(part[first : first + TILE], part[second : second + TILE])  # [head, head]
                terms.both[first : first + TILE, second : second + TILE] += sums
    return terms


@cache
def _pair_sums() -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    def pair_sums(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        mixed = first[:, None] + second[None]  # [head, head, chunk]
        return (mixed * mixed.log2()).sum(-1) * math.log(2)

    compiled: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] = torch.compile(pair_sums, dynamic=True)
    return compiled


# ---- Heads in a plane, near each other where they attend alike, with the behaviour of each


#: A later rule overwrites an earlier one: (behaviour, table, column or target, above).
RULES = (
    ("next", "average_attention", "next", 0.5),
    ("previous", "average_attention", "previous", 0.5),
    ("broad", "entropy", "all", 3.8),
    ("first", "average_attention", "first", 0.6),  # for models without [CLS]; otherwise the next rule overwrites it
    ("cls", "average_attention", "cls", 0.6),
    ("sep", "average_attention", "sep", 0.6),
    ("punctuation", "average_attention", "punctuation", 0.6),
)

NO_BEHAVIOUR, NOT_MEASURED = "none of these", "not measured"


def head_map(distances: Table, tables: dict[str, Table], seed: int, stack: str = "") -> tuple[Table, float]:
    """Metric MDS of the square of distances: (layer, head, x, y, behaviour) and its stress.

    stress is Kruskal's stress-1, 0 for a perfect layout: √(Σ (d − δ)² / Σ d²), with d the distances in the plane and δ those between heads.
    """
    heads = [HeadRef.parse(name)[1:] for name in map(str, distances.columns["head"])]
    square = np.array([distances[name] for name in map(str, distances.columns["head"])], dtype=np.float64)  # [head, head]
    points = lay_out(square, seed)  # [head, 2]
    behaviours = behaviour_of(heads, tables, stack)
    table = Table(
        {
            "layer": [layer for layer, _ in heads],
            "head": [head for _, head in heads],
            "x": points[:, 0].tolist(),
            "y": points[:, 1].tolist(),
            "behaviour": behaviours,
        }
    )
    return table, stress(square, points)


def lay_out(square: np.ndarray, seed: int) -> np.ndarray:
    """[head, head] → [head, 2] by metric MDS, the best of 5 starts."""
    if len(square) < 3:
        return np.stack([np.arange(len(square)) * (square[0, -1] if len(square) else 0.0), np.zeros(len(square))], -1)
    return metric_mds((square + square.T) / 2, seed)


def stress(square: np.ndarray, points: np.ndarray) -> float:
    """How far the distances between points are from those between the heads, from 0 (equal): √( Σ (d − δ)² / Σ d² )."""
    in_plane = np.linalg.norm(points[:, None] - points[None], axis=-1)  # [head, head]
    return float(np.sqrt(((in_plane - square) ** 2).sum() / max((in_plane**2).sum(), 1e-30)))


def behaviour_of(heads: list[tuple[int, int]], tables: dict[str, Table], stack: str = "") -> list[str]:
    """The last rule that each head meets; a rule whose table or target is not there is met by none. Without any table, not measured."""
    measured = any(name in tables for _, name, _, _ in RULES)
    behaviours = dict.fromkeys(heads, NO_BEHAVIOUR if measured else NOT_MEASURED)
    for behaviour, name, column, above in RULES:
        table = tables.get(name)
        if table is None:
            continue
        for row in table.rows():
            value = row.get(column) if name == "entropy" else row["mean"] if row["target"] == column else None
            key = (int(row["layer"]), int(row["head"]))
            if isinstance(value, float) and value > above and key in behaviours and row.get("stack", stack) in (stack, ""):
                behaviours[key] = behaviour
    return [behaviours[head] for head in heads]
