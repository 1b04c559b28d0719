"""Scores of decoder heads on repeated random tokens: attention to the token before, to copies and to tokens after copies; copying."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from eyeline.analyses.tables import head_table
from eyeline.capture.inputs import vocabulary_size
from eyeline.errors import ModelError, TextError
from eyeline.measures.causes.head_patterns import copying_score, duplicate_pattern, induction_pattern, pattern_score, previous_pattern
from eyeline.models.model import Model
from eyeline.models.projections import projections
from eyeline.results.table import Cell, Table

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
    read = np.asarray(_random_ids(model, length, seed) if ids is None else list(ids))
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


def _random_ids(model: Model, length: int, seed: int) -> list[int]:
    size = vocabulary_size(model.hf)
    if size is None or length < 2 or (model.max_tokens is not None and 2 * length > model.max_tokens):
        raise TextError(f"length={length}.", f"Twice the length must fit into the model: 2 to {(model.max_tokens or 0) // 2}.")
    special = set(getattr(model.tokenizer, "all_special_ids", ()))
    plain = [i for i in range(size) if i not in special]
    chosen = np.random.default_rng(seed).choice(plain, size=length, replace=length > len(plain)).tolist()
    return [*chosen, *chosen]


def _copying(model: Model) -> dict[tuple[int, int], float]:
    """(layer, head) → score, for the heads whose projections are known, of models with an unembedding."""
    unembedding = model.hf.get_output_embeddings()
    embedding = model.hf.get_input_embeddings()
    if unembedding is None and not getattr(model.hf.config, "tie_word_embeddings", False):
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
