"""Scores of known kinds of decoder heads: previous-token, duplicate-token and induction heads, and heads that copy."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np
import torch

from eyeline.errors import ModelError, TextError
from eyeline.measure.runs.table import Cell, Table, head_table
from eyeline.measure.statistics.rows import Rows
from eyeline.measure.statistics.statistic import Batch, Statistic, SumKey
from eyeline.models.attention import LayerAttention
from eyeline.models.inputs import Example, vocabulary_size
from eyeline.models.model import Model
from eyeline.models.projections import projections
from eyeline.text.tokenized import TokenizedText

STACK = "decoder"

#: Scores that are shares of attention on a pattern, in the order of the table.
PATTERNS = ("previous", "duplicate", "induction")


class HeadScores(Statistic):
    """For each head of a decoder, the share of its attention on the token before (previous), on earlier copies of the token (duplicate) and
    on the tokens after such copies (induction), on random tokens that come twice:  Σ A ⊙ D / Σ A.

    For each text it draws as many tokens as the text has, by seed and text: what a head knows of the words is not in it, and a part of a
    corpus has the same tokens as the whole. Half of the tokens have no earlier copy: duplicate and induction reach 0.5.
    longest: tokens that are drawn at most. Source: Olsson et al. 2022.
    """

    name: ClassVar[str] = "head_scores"
    from_rows: ClassVar[bool] = False

    def __init__(self, longest: int = 50) -> None:
        super().__init__()
        self.longest = longest
        self._model: Model | None = None
        self._plain: list[int] = []
        self._seed = 0

    def options(self) -> dict[str, object]:
        return {"longest": self.longest}

    def fresh(self) -> Self:
        fresh = super().fresh()
        fresh._model, fresh._plain, fresh._seed = self._model, self._plain, self._seed
        return fresh

    def prepare(self, model: Model, seed: int) -> None:
        check_decoder(model)
        self._model, self._plain, self._seed = model, plain_ids(model), seed

    def update(self, rows: Rows, batch: Batch) -> None:
        """Rows are not used: `finish` runs the model on tokens of its own."""

    def finish(self, batch: Batch) -> None:
        if self._model is None:
            raise RuntimeError("HeadScores runs within el.analyse, which gives it the model.")
        by_length: dict[int, list[list[int]]] = defaultdict(list)
        for example in batch.examples:
            length = min(len(example.source), self.longest, (self._model.max_tokens or 2 * self.longest) // 2)
            draw = random.Random(f"{self._seed} {example.source.ids}")  # noqa: S311 - seeded, not a secret
            by_length[length].append(2 * draw.choices(self._plain, k=length))
        for length, drawn in by_length.items():
            if length < 2:
                self.leave_out(len(drawn))
            else:
                self._measure(self._model, drawn, batch)

    def _measure(self, model: Model, drawn: list[list[int]], batch: Batch) -> None:
        """Run the model on tokens [text, token] and add the attention on each pattern, and all of it."""
        everywhere = np.ones((len(drawn[0]), len(drawn[0])))
        patterns = torch.from_numpy(np.array([[*patterns_of(np.array(ids)), everywhere] for ids in drawn]))  # [text, pattern, query, key]

        def receive(attention: LayerAttention) -> None:
            if batch.layers is None or attention.layer in batch.layers[attention.stack]:
                weights = attention.weights.double()  # [text, head, query, key]
                sums = torch.einsum("thqk,tpqk->hp", weights, patterns.to(weights.device))
                self.add(SumKey(attention.stack, attention.layer, "on_pattern"), sums, range(len(sums)))

        examples = [Example(TokenizedText.from_tokens([str(number) for number in ids])) for ids in drawn]
        model._passes.layers(examples, receive, inputs={"input_ids": torch.tensor(drawn, device=model._hf.device)})

    def result(self) -> dict[str, Table]:
        records: list[tuple[Cell, ...]] = [
            (layer_sum.stack, layer_sum.layer, head, *(float(value / values[-1]) for value in values[:-1]))
            for layer_sum in self.by_layer("on_pattern")
            for head, values in enumerate(layer_sum.values)
        ]
        return {self.name: head_table(records, PATTERNS)}


def check_decoder(model: Model) -> None:
    """Refuse a model in which tokens look ahead."""
    if model.layout.stacks != (STACK,):
        raise ModelError(f"{model.name} is not a decoder.", "Head scores are for models in which no token looks ahead.")


def head_scores(model: Model, ids: Sequence[int] | None = None, *, length: int = 50, seed: int = 0) -> Table:
    """A row for each head of a decoder: layer, head, previous, duplicate, induction, copying.

    previous, duplicate, induction   the share of the head's attention on the token before, on earlier copies of the token, and on the
                                     tokens after such copies
    copying                          Σ λ / Σ |λ| of its OV circuit: 1 where it raises what it reads, −1 where it lowers it; nan where the
                                     projections are not known as matrices

    ids      the tokens to read; unless given, `length` random tokens, twice
    Sources: Olsson et al. 2022; Elhage et al. 2021.
    """
    check_decoder(model)
    read = random_twice(model, length, seed) if ids is None else np.asarray(list(ids))
    if read.ndim != 1 or len(read) < 2:
        raise TextError(f"{read.size} token ids.", "Give a list of at least two.")
    trace = model.trace_inputs({"input_ids": torch.from_numpy(read)[None]}, keep={"weights"})
    by_pattern = [pattern_score(trace.weights.astype(np.float64), pattern) for pattern in patterns_of(read)]  # three of [layer, head]
    copying = _copying(model)
    records: list[tuple[Cell, ...]] = [
        (STACK, layer, head, *(float(scores[i, head]) for scores in by_pattern), copying.get((layer, head), float("nan")))
        for i, layer in enumerate(trace.layers)
        for head in range(trace.weights.shape[1])
    ]
    return head_table(records, (*PATTERNS, "copying"))


def random_twice(model: Model, length: int, seed: int) -> np.ndarray:
    """The ids of `length` random tokens that are not special, and of the same again."""
    if length < 2 or (model.max_tokens is not None and 2 * length > model.max_tokens):
        raise TextError(f"length={length}.", f"Twice the length must fit into the model: 2 to {(model.max_tokens or 0) // 2}.")
    plain = plain_ids(model)
    chosen = np.random.default_rng(seed).choice(plain, size=length, replace=length > len(plain)).tolist()
    return np.array([*chosen, *chosen])


def plain_ids(model: Model) -> list[int]:
    """The ids of all tokens that are not special."""
    size = vocabulary_size(model._hf)
    if size is None:
        raise ModelError(f"{model.name} has no vocabulary.", "Head scores are measured on random tokens.")
    special = set(getattr(model._tokenizer, "all_special_ids", ()))
    return [i for i in range(size) if i not in special]


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


def patterns_of(ids: np.ndarray) -> tuple[np.ndarray, ...]:
    """The patterns of PATTERNS for these tokens, each [query, key]."""
    return previous_pattern(len(ids)), duplicate_pattern(ids), induction_pattern(ids)


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
