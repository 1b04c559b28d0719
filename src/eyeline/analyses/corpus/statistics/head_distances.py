"""Which heads are alike: the mean Jensen–Shannon divergence between the rows of every two heads (figure 6 of Clark et al. 2019)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
import torch

from eyeline.analyses.corpus.batch import Batch, BatchSize
from eyeline.analyses.corpus.rows import Rows, numbers_on
from eyeline.analyses.corpus.statistic import Statistic
from eyeline.analyses.corpus.sums import SumKey
from eyeline.heads import HeadRef
from eyeline.measures.similarity import js_between_heads, js_of_smoothed
from eyeline.models.model import Model
from eyeline.results.table import Table

#: Pairs of heads cross layers, so the maps of every layer of a batch are held at once: batches are smaller, and longer texts left out.
HELD_TOKENS, HELD_SHARE, LONGEST = 1024, 8, 1024
#: What the cells of padding hold: the same for every head, so that they add nothing to any distance.
NOTHING = 1e-20


class HeadDistances(Statistic):
    """A square of distances between heads of one stack: JS divergence in nats, the mean over all rows of all texts.

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
        return bool(batch.up_to(self.longest).sides)

    def update(self, rows: Rows, batch: Batch) -> None:
        if rows.e.is_cuda and rows.n_rows == max(rows.n_queries) and len(rows.heads) == rows.heads.stop:
            by_layer = self._together.setdefault(rows.stack, {})
            by_layer.setdefault(rows.layer, []).append(self._smooth(rows))
            return
        for index, text in enumerate(rows.texts):
            n_rows, n_keys = rows.n_queries[index], rows.n_keys[index]
            if max(n_rows, n_keys) > self.longest:
                continue
            last = min(n_rows, rows.first + rows.e.shape[2])
            width = min(n_keys, rows.e.shape[3])
            whole = rows.first == 0 and last == n_rows and width == n_keys
            part = rows.e[index, :, : last - rows.first, :width] * rows.inverse[index, :, : last - rows.first]
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
        device, (_, n_heads, height, width) = rows.e.device, rows.e.shape
        in_rows = torch.arange(height, device=device) < numbers_on(device, n_queries)[:, None]  # [text, row]
        in_keys = torch.arange(width, device=device) < numbers_on(device, n_keys)[:, None]  # [text, key]
        inside = (in_rows[:, :, None] & in_keys[:, None])[:, None]  # [text, 1, row, key]
        even = (self.smoothing / numbers_on(device, n_keys).clamp_min(1)).to(rows.e.dtype)[:, None, None, None]
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
        for (stack, _), by_layer in self._held.items():
            layers = sorted(by_layer)
            maps = torch.cat([by_layer[layer] for layer in layers])  # [head of any layer, row, key]
            distances = js_between_heads(maps, self.smoothing).cpu().numpy()
            details = layer_sizes({layer: len(by_layer[layer]) for layer in layers})
            self.add(SumKey(stack, 0, "distance", details), distances, range(len(distances)))  # [head, head]
            self.add(SumKey(stack, 0, "rows", details), np.array([float(maps.shape[1]), 1.0]), range(2))  # rows, texts
        self._held = {}
        self.leave_out(len(batch.sides) - len(batch.up_to(self.longest).sides))

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
