"""What a drawing of attention shows: tokens, weights between them, and the edges worth a line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eyeline.words import Words

#: The most edges that are drawn: more take minutes and cannot be told apart. Edges weaker than FAINTEST cannot be seen.
MOST_EDGES, FAINTEST = 5000, 1e-6
BLUE = "#2563eb"


@dataclass(frozen=True)
class DrawnGraph:
    """What is drawn: weights [query, key] between two lists of tokens, red pairs, and for the value layout a point for each token."""

    weights: np.ndarray
    query_tokens: tuple[str, ...]
    key_tokens: tuple[str, ...]
    title: str
    red: tuple[tuple[int, int], ...] = ()
    threshold: float = 0.0
    positions: np.ndarray | None = None  # [token, 2]
    explained: tuple[float, float] | None = None
    placement: str = ""  # how the points were placed, where not by principal components
    colour: str = BLUE
    language: str = "en"

    def edges(self) -> list[tuple[int, int, float]]:
        """(query, key, weight) from weak to strong, so that the strong are drawn last; the red ones, however weak, after all."""
        red = set(self.red)
        order = np.argsort(self.weights, axis=None, kind="stable")[-MOST_EDGES - len(red) :]
        queries, keys = np.unravel_index(order, self.weights.shape)
        every = zip(queries.tolist(), keys.tolist(), self.weights.ravel()[order].tolist(), strict=True)
        edges = [edge for edge in every if edge[2] >= max(self.threshold, FAINTEST) and edge[:2] not in red]
        return edges[-MOST_EDGES:] + [(query, key, float(self.weights[query, key])) for query, key in self.red]

    @property
    def heading(self) -> str:
        """The title, and what was left out of the drawing."""
        words = Words(self.language)
        left_out = words("figure.label.weights_from", threshold=f"{self.threshold:g}") if self.threshold else ""
        if int((self.weights >= max(self.threshold, FAINTEST)).sum()) > MOST_EDGES:
            left_out = words("figure.label.strongest_weights", n=f"{MOST_EDGES:,}")
        return f"{self.title} · {left_out}" if left_out else self.title
