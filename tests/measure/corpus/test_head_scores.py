"""Scores of known kinds of heads in a run of `analyse`: the tokens are random, the shares those of the model's own maps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch

import eyeline as el
from eyeline.errors import ModelError
from eyeline.measure.heads.profile import profiles
from tests.laws.statistics import TEXTS, new_tiny_decoder, tiny_model

PLAIN = [text for text in TEXTS if isinstance(text, str)]


@contextmanager
def inputs_of(hf: Any) -> Iterator[list[list[int]]]:
    """The tokens that a model reads, one list a text."""
    read: list[list[int]] = []
    hook = hf.register_forward_pre_hook(lambda _, args, kwargs: read.extend(kwargs["input_ids"].tolist()), with_kwargs=True)
    try:
        yield read
    finally:
        hook.remove()


def by_hand(hf: Any, drawn: list[list[int]]) -> dict[str, np.ndarray]:
    """The shares of attention on each pattern, pair by pair, from the maps that transformers returns: [layer, head]."""
    sums: dict[str, Any] = dict.fromkeys(("previous", "duplicate", "induction", "all"), 0.0)
    for ids in drawn:
        with torch.no_grad():
            maps = torch.stack(hf(torch.tensor([ids]), output_attentions=True).attentions)[:, 0].double().numpy()  # [layer, head, q, k]
        for query in range(len(ids)):
            sums["all"] = sums["all"] + maps[:, :, query].sum(-1)
            if query:
                sums["previous"] = sums["previous"] + maps[:, :, query, query - 1]
            for copy in range(query):
                if ids[copy] == ids[query]:
                    sums["duplicate"] = sums["duplicate"] + maps[:, :, query, copy]
                    sums["induction"] = sums["induction"] + maps[:, :, query, copy + 1]
    return {name: values / sums["all"] for name, values in sums.items()}


def test_shares_are_those_of_the_maps_that_transformers_returns() -> None:
    model = new_tiny_decoder()
    with inputs_of(model._passes.body) as read:
        run = el.analyse(model, PLAIN, [el.statistics.HeadScores(longest=5)])
    drawn = [ids for ids in read if len(ids) >= 4 and ids[: len(ids) // 2] == ids[len(ids) // 2 :]]
    lengths = [min(5, len(model.read(text).source)) for text in PLAIN]
    assert sorted(len(ids) // 2 for ids in drawn) == sorted(n for n in lengths if n > 1)
    expected = by_hand(model._hf, drawn)
    for name in ("previous", "duplicate", "induction"):
        np.testing.assert_allclose(run.table("head_scores")[name].astype(float).reshape(3, 4), expected[name], atol=1e-6)
    assert [head.induction for head in profiles(run)] == pytest.approx(expected["induction"].ravel())


def test_an_encoder_has_none_and_the_others_go_on() -> None:
    with pytest.raises(ModelError, match="is not a decoder"):
        el.analyse(tiny_model(), PLAIN, [el.statistics.HeadScores()])
    run = el.analyse(tiny_model(), PLAIN, [el.statistics.Entropy(), el.statistics.HeadScores()])
    assert list(run.facts.left_out) == ["head_scores"]
