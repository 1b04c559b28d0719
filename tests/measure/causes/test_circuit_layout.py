"""Where the nodes of a circuit are drawn: none over another, no edge through a node that it does not belong to."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

from eyeline import HeadRef
from eyeline.measure.causes.figures import circuit_layout
from eyeline.measure.causes.result import ANSWER, EMBEDDINGS, Connection


def connections(n_layers: int, n_heads: int, n: int, seed: int) -> list[Connection]:
    """Random edges between heads of increasing layers, and every head on a way from the embeddings to the answer."""
    rng = np.random.default_rng(seed)
    heads = [(layer, head) for layer in range(n_layers) for head in range(n_heads)]
    drawn = [heads[index] for index in rng.choice(len(heads), size=min(n, len(heads)), replace=False)]
    names = {head: str(HeadRef("", *head)) for head in drawn}
    edges = [Connection(names[a], names[b], "keys", 0.1) for a, b in combinations(sorted(drawn), 2) if a[0] < b[0] and rng.random() < 0.1]
    edges += [Connection(EMBEDDINGS, name, "values", 0.2) for name in names.values()]
    return edges + [Connection(name, ANSWER, "logits", 0.3) for name in names.values()]


@pytest.mark.parametrize(("n_layers", "n_heads"), [(12, 12), (30, 9)])
@pytest.mark.parametrize("n", [1, 15, 40, 300])
def test_no_two_nodes_overlap(n_layers, n_heads, n):
    layout = circuit_layout(connections(n_layers, n_heads, n, seed=n) if n < 300 else all_heads(n_layers, n_heads))
    assert len(layout.nodes) == min(n, n_layers * n_heads) + 2
    boxes = {node: layout.box(node) for node in layout.nodes}
    for (left, bottom, right, top), (other_left, other_bottom, other_right, other_top) in combinations(boxes.values(), 2):
        assert right < other_left or other_right < left or top < other_bottom or other_top < bottom


def all_heads(n_layers: int, n_heads: int) -> list[Connection]:
    names = [str(HeadRef("", layer, head)) for layer in range(n_layers) for head in range(n_heads)]
    return [edge for name in names for edge in (Connection(EMBEDDINGS, name, "keys", 1.0), Connection(name, ANSWER, "logits", 1.0))]


def test_edges_go_upward_and_pass_beside_the_nodes_of_the_rows_between():
    edges = connections(12, 12, 20, seed=3)
    layout = circuit_layout(edges)
    for edge, path in zip(edges, layout.paths, strict=True):
        assert all(low[1] < high[1] for low, high in pairwise(path))
        for node in layout.nodes.keys() - {edge.sender, edge.receiver}:
            left, bottom, right, top = layout.box(node)
            assert not any(left <= x <= right and bottom <= y <= top for x, y in path)


def test_rows_are_the_layers_that_have_heads_from_the_lowest_up():
    layout = circuit_layout(connections(12, 12, 20, seed=3))
    heights = sorted(layout.layers)
    assert [layout.layers[y] for y in heights] == sorted({HeadRef.parse(n).layer for n in layout.nodes if n not in (EMBEDDINGS, ANSWER)})
    assert layout.nodes[EMBEDDINGS][1] < heights[0]
    assert layout.nodes[ANSWER][1] > heights[-1]


def test_a_feed_forward_block_lies_above_the_heads_of_its_layer_and_below_those_of_the_next():
    path = [EMBEDDINGS, "L0·H1", "L0·MLP", "L1·H0", "L2·MLP", ANSWER]
    layout = circuit_layout([Connection(*ends, "input", 0.2) for ends in pairwise(path)])
    assert sorted(layout.nodes, key=lambda node: layout.nodes[node][1]) == path
    assert {layer: y for y, layer in layout.layers.items()} == {
        layer: layout.nodes[node][1] for layer, node in ((0, "L0·H1"), (1, "L1·H0"), (2, "L2·MLP"))
    }
