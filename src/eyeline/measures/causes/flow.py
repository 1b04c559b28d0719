"""Attention flow: how much can flow from an input token to a token of a higher layer, when weights are capacities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

#: Capacities are whole numbers in scipy: a weight of 1 is this many units.
UNITS = 1_000_000


def attention_flow(maps: np.ndarray, queries: Sequence[int] | None = None) -> np.ndarray:
    """The maximum flow from each query of the top layer down to each input token.

    A node for each token before the first layer and after each layer; the edge from a query after layer l to a key before it has the
    capacity Ā[l, query, key].

    maps: [layer, query, key], with the residual in them → [query, input token]; queries: the rows to compute (all), others are 0.
    Source: Abnar & Zuidema 2020, section 3. The cost is a maximum-flow problem for each pair of tokens.

    >>> attention_flow(np.array([[[0.5, 0.5], [0.0, 1.0]]])).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    n_layers, n, _ = maps.shape
    capacities = np.rint(maps * UNITS).astype(np.int32)
    layer, query, key = np.nonzero(capacities)
    rows, columns = (((layer + 1) * n + query).astype(np.int32), (layer * n + key).astype(np.int32))  # scipy 1.13 takes no others
    graph = csr_array((capacities[layer, query, key], (rows, columns)), shape=((n_layers + 1) * n,) * 2)
    flows = np.zeros((n, n), dtype=np.float64)
    for source in range(n) if queries is None else queries:
        for token in range(n):
            flows[source, token] = maximum_flow(graph, n_layers * n + source, token).flow_value / UNITS
    return flows
