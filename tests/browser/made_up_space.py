"""Made-up spaces: points that attend to what lies near them, so that pictures and numbers can be told apart from noise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import eyeline as el
from eyeline.look.views.view import View
from eyeline.measure.space.stack import LEVELS, TOP, SpaceStack, SpaceTokens
from tests.browser import made_up
from tests.reference.softmax import softmax

TAGS = ("DET", "ADJ", "NOUN", "VERB", "ADP")


def tokens(sizes: list[int], tagged: bool = True, strange: bool = False) -> SpaceTokens:
    texts = tuple(made_up.text(size, strange=strange) for size in sizes)
    tags = tuple(tuple("" if special else TAGS[i % 5] for i, special in enumerate(text.special)) for text in texts)
    return SpaceTokens(texts, tags if tagged else ())


def attention(queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """[..., query, key]: softmax of minus the squared distance."""
    return softmax(-np.square(queries[..., :, None, :] - keys[..., None, :, :]).sum(-1))


def space(
    sizes: list[int],
    layers: int = 2,
    heads: int = 3,
    dims: int = 2,
    of: str = "queries-keys",
    maps: bool = True,
    seed: int = 0,
    model: str = "made up",
    **more: Any,
) -> el.Space:
    """Keys anywhere, queries near the key before theirs (even heads) or near the first one (odd heads)."""
    random = np.random.default_rng(seed)
    side = tokens(sizes, **more)
    n = len(side)
    keys = random.normal(size=(layers, heads, n, dims)).astype(np.float32) * 4
    before = np.where(side.position > 0, np.arange(n) - 1, np.arange(n))
    first = side.starts[side.text]
    target = np.stack([before if head % 2 == 0 else first for head in range(heads)])  # [head, query]
    queries = np.take_along_axis(keys, np.broadcast_to(target[None, :, :, None], keys.shape), 2)
    queries = (queries + random.normal(size=queries.shape) * 0.3).astype(np.float32)
    top_keys = np.full((layers, heads, n, TOP), -1, dtype=np.int32)
    top_weights = np.zeros((layers, heads, n, TOP), dtype=np.float32)
    steps = []
    for start, end in zip(side.starts[:-1], side.starts[1:], strict=True):
        weights = attention(queries[:, :, start:end], keys[:, :, start:end])  # [layer, head, query, key]
        order = np.argsort(-weights, axis=-1, kind="stable")[..., :TOP]
        top_keys[:, :, start:end, : order.shape[-1]] = order + start
        top_weights[:, :, start:end, : order.shape[-1]] = np.take_along_axis(weights, order, -1)
        steps.append(np.rint(np.sqrt(weights) * LEVELS).astype(np.uint8).reshape(layers, heads, -1))
    facts = {"top1_held_out": 0.64, "top5_held_out": 0.891, "rank_held_out": -0.52, "entropy": 1.82, "kl": 0.31}
    values = of == "values"
    stack = SpaceStack(
        name="encoder",
        layers=tuple(range(layers)),
        heads=tuple(range(heads)),
        query_tokens=side,
        key_tokens=side,
        queries=None if values else queries,
        keys=keys,
        query_norms=None if values else np.linalg.norm(queries, axis=-1),
        key_norms=np.linalg.norm(keys, axis=-1),
        top_keys=top_keys,
        top_weights=top_weights,
        maps=np.concatenate(steps, axis=-1) if maps else None,
        facts={name: np.full((layers, heads), value) for name, value in facts.items()},
    )
    return el.Space(model, of, "fitted", "none", dims, {"encoder": stack}, held_out="picture")


def view(sizes: list[int] | None = None, state: dict[str, Any] | None = None, **options: Any) -> View:
    return el.space_view(space(sizes or [12, 9, 14], **options)).starting(**state or {})


def many(points: int, layers: int = 12, heads: int = 12, seed: int = 0) -> el.Space:
    """A large space whose attention is made up rather than computed: `points` points a head, half of them queries."""
    n = points // 2
    side = tokens([50] * (n // 50), tagged=False)
    random = np.random.default_rng(seed)
    small = space([2], layers=layers, heads=heads).only
    middle = random.normal(size=(layers, heads, 6, 2)) * 3
    group = random.integers(0, 6, size=n)
    keys = (middle[:, :, group] + random.normal(size=(layers, heads, n, 2))).astype(np.float32)
    queries = (keys + random.normal(size=keys.shape)).astype(np.float32)
    top_weights = -np.sort(-random.dirichlet(np.ones(TOP), size=(layers, heads, n)).astype(np.float32), axis=-1)
    top_keys = (side.starts[side.text][:, None] + random.integers(0, 50, size=(layers, heads, n, TOP))).astype(np.int32)
    stack = replace(
        small,
        query_tokens=side,
        key_tokens=side,
        queries=queries,
        keys=keys,
        query_norms=np.linalg.norm(queries, axis=-1),
        key_norms=np.linalg.norm(keys, axis=-1),
        top_keys=top_keys,
        top_weights=top_weights,
        maps=None,
    )
    return el.Space("made up", "queries-keys", "fitted", "none", 2, {"encoder": stack}, held_out="picture")
