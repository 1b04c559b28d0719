"""How much of a head's attention is position alone: what its mean weight at each distance explains."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import torch

from eyeline.measure.runs.table import Table, head_table
from eyeline.measure.statistics.rows import Rows
from eyeline.measure.statistics.statistic import Batch, Statistic, SumKey

#: Distances that are summed under one key: texts of any length add to the same keys.
BLOCK = 64


class PositionAlone(Statistic):
    """For each head, the share of its attention that the distance between query and key explains, whatever the tokens are:

        Σ_d n_d · m_d² / Σ_ij A[i, j]²      d = j − i,  m_d: the mean of A at the n_d pairs of distance d, over all texts

    1 where the weights depend on the distance alone; near 0 where they depend on what the tokens are. Cross attention has no distances.
    longest: texts with more tokens are left out of it alone, and counted.
    """

    name: ClassVar[str] = "position_alone"

    def __init__(self, longest: int = 1024) -> None:
        super().__init__()
        self.longest = longest

    def options(self) -> dict[str, object]:
        return {"longest": self.longest}

    def reads_weights(self, batch: Batch) -> bool:
        return bool(batch.up_to(self.longest).examples)

    def update(self, rows: Rows, batch: Batch) -> None:
        if rows.stack == "cross" or min(rows.n_queries) > self.longest:  # such rows may come without a map
            return
        short = torch.tensor([n <= self.longest for n in rows.n_queries], device=rows.exponentials.device)
        inside = rows.inside & short[:, None]  # [text, row]
        weights = rows.weights() * inside[:, None, :, None]  # [text, head, row, key]
        squares = weights.square().sum((0, 2, 3))  # [head]
        by_distance = sum_diagonals(weights.sum(0))  # [head, distance]
        first = 1 - weights.shape[2] - rows.first  # the distance of the first column
        lengths = [n for n in rows.n_queries if n <= self.longest]
        own_rows = [(rows.first, min(n, rows.first + rows.n_rows)) for n in lengths]
        distances = np.arange(first, first + by_distance.shape[1])
        pairs = sum(_pairs(distances, n, *span) for n, span in zip(lengths, own_rows, strict=True))
        values = torch.stack([by_distance.double(), torch.as_tensor(pairs, device=weights.device).expand_as(by_distance)], -1)
        self.add(SumKey(rows.stack, rows.layer, "squares"), squares.double(), rows.heads)
        for block in range(int(distances[0]) // BLOCK, int(distances[-1]) // BLOCK + 1):
            begin, end = max(block * BLOCK, first), min((block + 1) * BLOCK, first + len(distances))
            part = values[:, begin - first : end - first]  # [head, distance, (sum, pairs)]
            padded = torch.nn.functional.pad(part, (0, 0, begin - block * BLOCK, (block + 1) * BLOCK - end))
            self.add(SumKey(rows.stack, rows.layer, "at_distance", (str(block),)), padded, rows.heads)

    def finish(self, batch: Batch) -> None:
        self.leave_out(len(batch.examples) - len(batch.up_to(self.longest).examples))

    def result(self) -> dict[str, Table]:
        explained: dict[tuple[str, int], np.ndarray] = {}
        for block in self.by_layer("at_distance"):
            sums, pairs = block.values[..., 0], block.values[..., 1]  # [head, distance]
            share = (sums**2 / np.maximum(pairs, 1)).sum(-1)  # [head]
            explained[block.stack, block.layer] = explained.get((block.stack, block.layer), 0.0) + share
        records = [
            (squares.stack, squares.layer, head, float(explained[squares.stack, squares.layer][head] / total))
            for squares in self.by_layer("squares")
            for head, total in enumerate(squares.values)
        ]
        return {self.name: head_table(records, ("share",))}


def sum_diagonals(maps: torch.Tensor) -> torch.Tensor:
    """The sum over each diagonal of a map: [head, row, key] → [head, row + key − 1], from the lower left to the upper right.

    >>> sum_diagonals(torch.tensor([[[1.0, 2.0], [4.0, 8.0]]])).tolist()
    [[4.0, 9.0, 2.0]]
    """
    n_heads, n_rows, n_keys = maps.shape
    width = n_rows + n_keys - 1
    padded = torch.nn.functional.pad(maps.flip(1), (0, n_rows))  # [head, row, key and padding]
    shifted = padded.reshape(n_heads, -1)[:, : n_rows * width].reshape(n_heads, n_rows, width)  # each row one further to the right
    return shifted.sum(1)


def _pairs(distances: np.ndarray, length: int, first: int, last: int) -> np.ndarray:
    """How many of the rows first … last − 1 of a text have a key at each of these distances."""
    from_row, to_row = np.maximum(first, -distances), np.minimum(last, length - distances)
    return np.asarray(np.maximum(to_row - from_row, 0), np.float64)
