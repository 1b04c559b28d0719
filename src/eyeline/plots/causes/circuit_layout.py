"""Where the nodes and edges of a circuit are drawn: one row for each layer, no two nodes over each other, no edge through a node.

As in layered graph drawing (Sugiyama et al. 1981): an edge that passes a row gets a narrow slot of its own there, rows are ordered by the
mean position of their neighbours, and then pushed apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from eyeline.heads import HeadRef
from eyeline.results.circuit import ANSWER, EMBEDDINGS, Connection

#: Pixels: a node, the slot of a passing edge, what is left free between neighbours in a row, and the height of a row.
NODE_WIDTH, NODE_HEIGHT, SLOT, GAP, ROW = 60.0, 26.0, 8.0, 12.0, 74.0
SWEEPS = 24
#: Where an edge enters its receiver, as a part of the node's width: queries, keys and values have a point each.
PORTS = {"queries": -0.3, "keys": 0.0, "values": 0.3}


@dataclass(frozen=True)
class CircuitLayout:
    """Centres of nodes [x, y], the points that each edge runs through, and the layer of each row that holds heads, by its y. Pixels."""

    nodes: dict[str, tuple[float, float]]
    paths: list[list[tuple[float, float]]]
    layers: dict[float, int]

    def box(self, node: str) -> tuple[float, float, float, float]:
        """Left, bottom, right and top of a node."""
        x, y = self.nodes[node]
        return x - NODE_WIDTH / 2, y - NODE_HEIGHT / 2, x + NODE_WIDTH / 2, y + NODE_HEIGHT / 2


@dataclass
class _Spot:
    """A node, or the slot of an edge that passes: its row, and the spots it is connected with."""

    row: int
    width: float
    x: float = 0.0
    neighbours: list[_Spot] = field(default_factory=list, repr=False)


def circuit_layout(edges: Sequence[Connection]) -> CircuitLayout:
    """The layout of these edges; embeddings below, the answer above, the layers that have heads between them."""
    names = sorted({node for edge in edges for node in (edge.sender, edge.receiver)}, key=_order)
    heads = {name: HeadRef.parse(name) for name in names if name not in (EMBEDDINGS, ANSWER)}
    layers = sorted({head.layer for head in heads.values()})
    row_of = {layer: row for row, layer in enumerate(layers, 1)}
    ends = {EMBEDDINGS: 0, ANSWER: len(layers) + 1}
    spots = {name: _Spot(ends[name] if name in ends else row_of[heads[name].layer], NODE_WIDTH) for name in names}
    chains = [_chain(spots[edge.sender], spots[edge.receiver]) for edge in edges]
    rows: list[list[_Spot]] = [[] for _ in range(len(layers) + 2)]
    for spot in [*spots.values(), *(spot for chain in chains for spot in chain[1:-1])]:
        rows[spot.row].append(spot)
    _settle(rows)
    nodes = {name: (spot.x, spot.row * ROW) for name, spot in spots.items()}
    paths = [_path(edge, chain) for edge, chain in zip(edges, chains, strict=True)]
    return CircuitLayout(nodes, paths, {row * ROW: layer for layer, row in row_of.items()})


def _order(name: str) -> tuple[int, int, int]:
    if name in (EMBEDDINGS, ANSWER):
        return (-1 if name == EMBEDDINGS else 1_000_000, 0, 0)
    head = HeadRef.parse(name)
    return (0, head.layer, head.head)


def _chain(sender: _Spot, receiver: _Spot) -> list[_Spot]:
    """The sender, a slot in each row between, and the receiver; each is connected with the next."""
    between = [_Spot(row, SLOT) for row in range(sender.row + 1, receiver.row)]
    chain = [sender, *between, receiver]
    for below, above in pairwise(chain):
        below.neighbours.append(above)
        above.neighbours.append(below)
    return chain


def _settle(rows: list[list[_Spot]]) -> None:
    for row in rows:
        _push_apart(row, [0.0] * len(row))
    for sweep in range(SWEEPS):
        upward = sweep % 2 == 0
        for row in rows if upward else reversed(rows):
            wanted = {id(spot): _wanted(spot, upward, every=sweep >= SWEEPS // 2) for spot in row}
            row.sort(key=lambda spot: wanted[id(spot)])
            _push_apart(row, [wanted[id(spot)] for spot in row])


def _wanted(spot: _Spot, upward: bool, *, every: bool) -> float:
    """The mean position of the neighbours on the side that was laid out last; of all of them, in the later sweeps."""
    seen = [other.x for other in spot.neighbours if every or (other.row < spot.row) == upward]
    return sum(seen) / len(seen) if seen else spot.x


def _push_apart(row: list[_Spot], wanted: Sequence[float]) -> None:
    """Positions in this order, as near to the wanted ones as a gap between neighbours allows."""
    end = float("-inf")
    for spot, x in zip(row, wanted, strict=True):
        spot.x = max(x, end + GAP + spot.width / 2)
        end = spot.x + spot.width / 2
    shift = sum(x - spot.x for spot, x in zip(row, wanted, strict=True)) / max(1, len(row))
    for spot in row:
        spot.x += shift


def _path(edge: Connection, chain: Sequence[_Spot]) -> list[tuple[float, float]]:
    """From the top of the sender through the edge's slots to the bottom of the receiver."""
    first, *between, last = chain
    half = NODE_HEIGHT / 2
    slots = [point for spot in between for point in ((spot.x, spot.row * ROW - half), (spot.x, spot.row * ROW + half))]
    end = (last.x + PORTS.get(edge.reads, 0.0) * NODE_WIDTH, last.row * ROW - half)
    return [(first.x, first.row * ROW + half), *slots, end]
