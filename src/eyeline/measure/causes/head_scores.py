"""Scores of known kinds of decoder heads: previous-token, duplicate-token and induction heads, and heads that copy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from eyeline.errors import ModelError, TextError
from eyeline.measure.runs.table import Cell, Table, head_table
from eyeline.models.inputs import vocabulary_size
from eyeline.models.model import Model
from eyeline.models.projections import projections

STACK = "decoder"


def head_scores(model: Model, ids: Sequence[int] | None = None, *, length: int = 50, seed: int = 0) -> Table:
    """A row for each head of a decoder: layer, head, previous, duplicate, induction, copying.

    previous, duplicate, induction   the share of the head's attention on the token before, on earlier copies of the token, and on the
                                     tokens after such copies
    copying                          Σ λ / Σ |λ| of its OV circuit: 1 where it raises what it reads, −1 where it lowers it; nan where the
                                     projections are not known as matrices

    ids      the tokens to read; unless given, `length` random tokens, twice
    Sources: Olsson et al. 2022; Elhage et al. 2021.
    """
    if model.layout.stacks != (STACK,):
        raise ModelError(f"{model.name} is not a decoder.", "Head scores are for models in which no token looks ahead.")
    read = random_twice(model, length, seed) if ids is None else np.asarray(list(ids))
    if read.ndim != 1 or len(read) < 2:
        raise TextError(f"{read.size} token ids.", "Give a list of at least two.")
    trace = model.trace_inputs({"input_ids": torch.from_numpy(read)[None]}, keep={"weights"})
    patterns = (previous_pattern(len(read)), duplicate_pattern(read), induction_pattern(read))
    by_pattern = [pattern_score(trace.weights.astype(np.float64), pattern) for pattern in patterns]  # three of [layer, head]
    copying = _copying(model)
    records: list[tuple[Cell, ...]] = [
        (STACK, layer, head, *(float(scores[i, head]) for scores in by_pattern), copying.get((layer, head), float("nan")))
        for i, layer in enumerate(trace.layers)
        for head in range(trace.weights.shape[1])
    ]
    return head_table(records, ("previous", "duplicate", "induction", "copying"))


def random_twice(model: Model, length: int, seed: int) -> np.ndarray:
    """The ids of `length` random tokens that are not special, and of the same again."""
    size = vocabulary_size(model._hf)
    if size is None or length < 2 or (model.max_tokens is not None and 2 * length > model.max_tokens):
        raise TextError(f"length={length}.", f"Twice the length must fit into the model: 2 to {(model.max_tokens or 0) // 2}.")
    special = set(getattr(model._tokenizer, "all_special_ids", ()))
    plain = [i for i in range(size) if i not in special]
    chosen = np.random.default_rng(seed).choice(plain, size=length, replace=length > len(plain)).tolist()
    return np.array([*chosen, *chosen])


def _copying(model: Model) -> dict[tuple[int, int], float]:
    """(layer, head) → score, for the heads whose projections are known, of models with an unembedding."""
    unembedding = model._hf.get_output_embeddings()
    embedding = model._hf.get_input_embeddings()
    if unembedding is None and not getattr(model._hf.config, "tie_word_embeddings", False):
        return {}
    into = embedding.weight.detach().double().cpu().numpy()  # [vocabulary, hidden]
    out = into if unembedding is None else unembedding.weight.detach().double().cpu().numpy()
    both = into.T @ out  # [hidden, hidden]
    scores = {}
    for (stack, layer), known in projections(model).items():
        if stack != STACK or known.value is None or known.output is None or known.value.weight.shape[-1] != len(both):
            continue
        heads = len(known.output.weight)
        shared = heads // len(known.value.weight)
        for head in range(heads):
            value = known.value.weight[head // shared].astype(np.float64)  # [dim, hidden]
            output = known.output.weight[head].astype(np.float64)  # [hidden, dim]
            scores[layer, head] = copying_score(value, output, both)
    return scores


# ---- The scores


def pattern_score(weights: np.ndarray, pattern: np.ndarray) -> np.ndarray:
    """The share of a head's attention that lies on a pattern: Σ A ⊙ D / Σ A.

    weights: [..., query, key]; pattern: D, [query, key] of 0 and 1 → [...]. Source: TransformerLens, detect_head (error measure "mul").

    >>> float(pattern_score(np.array([[1.0, 0.0], [0.75, 0.25]]), previous_pattern(2)))
    0.375
    """
    return np.asarray((weights * pattern).sum(axis=(-2, -1)) / weights.sum(axis=(-2, -1)))


def previous_pattern(n: int) -> np.ndarray:
    """1 where the key is the token before the query: [query, key].

    >>> previous_pattern(2).tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    """
    return np.eye(n, k=-1)


def duplicate_pattern(ids: np.ndarray) -> np.ndarray:
    """1 where the key is an earlier copy of the query's token: [query, key].

    >>> duplicate_pattern(np.array([7, 8, 7])).tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    """
    same = np.tril(ids[:, None] == ids[None], k=-1)
    return np.asarray(same, dtype=np.float64)


def induction_pattern(ids: np.ndarray) -> np.ndarray:
    """1 where the key follows an earlier copy of the query's token: [query, key]. Source: Olsson et al. 2022.

    >>> induction_pattern(np.array([7, 8, 7])).tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    pattern = np.zeros((len(ids), len(ids)))
    pattern[:, 1:] = duplicate_pattern(ids)[:, :-1]
    return np.tril(pattern)


def copying_score(value: np.ndarray, output: np.ndarray, vocabulary: np.ndarray) -> float:
    """How far a head's OV circuit raises the token that it reads: Σ λ / Σ |λ| of the eigenvalues of W_E · W_V · W_O · W_U.

    1: every direction is copied, −1: every direction is taken away. The matrix of the size of the vocabulary is never formed: its non-zero
    eigenvalues are those of W_O · (W_U · W_E) · W_V, a matrix of the head's own size.

    value: W_V, [dim, hidden]; output: W_O, [hidden, dim]; vocabulary: the sum over tokens of embedding ⊗ unembedding, [hidden, hidden].
    Source: Elhage et al. 2021.

    >>> copying_score(np.eye(2), np.eye(2), np.eye(2))
    1.0
    """
    small = value @ vocabulary @ output  # [dim, dim]
    eigenvalues = np.linalg.eigvals(small)
    size = np.abs(eigenvalues).sum()
    return float(eigenvalues.sum().real / size) if size > 0 else 0.0
