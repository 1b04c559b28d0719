"""Edge attribution in a model that was trained, not written by hand: estimates against every edge patched exactly."""

from __future__ import annotations

import random

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import eyeline as el
from eyeline.analyses.causes.circuits.contrast import contrast
from eyeline.analyses.causes.circuits.edges import edge_scores
from eyeline.analyses.causes.circuits.patching import patch_heads
from eyeline.analyses.causes.head_scores import head_scores
from tests.analyses.causes.circuits.exact_edges import exact_edges
from tests.analyses.causes.circuits.trained import LETTERS, trained_model

#: An edge is part of the circuit if it alone brings back this share of the answer (mean size over the pairs of texts).
PART = 0.05
STRONG = 0.1
Pair = tuple[str, str, str, str]


@pytest.fixture(scope="module")
def model() -> el.Model:
    return trained_model()


def pairs(n: int = 6) -> list[Pair]:
    """A repeated sequence, and the same with another token to be said, or with another last token."""
    draw = random.Random(0)  # noqa: S311 - seeded, not a secret
    several: list[Pair] = []
    for _ in range(n):
        part = draw.sample(LETTERS, draw.randint(5, 9))
        last = draw.randrange(1, len(part) - 1)
        text = [*part, *part[: last + 1]]
        other = draw.choice([letter for letter in LETTERS if letter not in part])
        said = [*text[: last + 1], other, *text[last + 2 :]]
        elsewhere = draw.choice([i for i in range(len(part) - 1) if i != last])
        asked = [*text[:-1], part[elsewhere]]
        several.append((" ".join(text), " ".join(said), part[last + 1], other))
        several.append((" ".join(text), " ".join(asked), part[last + 1], part[elsewhere + 1]))
    return several


@pytest.fixture(scope="module")
def sizes(model: el.Model) -> dict[str, np.ndarray]:
    """The mean size of every edge over the pairs, exactly and by both estimates: [edge], in the same order."""
    by_edge: dict[str, dict[tuple, list[float]]] = {"exact": {}, "eap": {}, "eap-ig": {}}
    for clean, corrupt, right, wrong in pairs():
        pair = contrast(model, clean, corrupt, right, wrong)
        ids = [list(text.text.ids) for text in (pair.clean_text, pair.corrupt_text)]
        for key, share in exact_edges(model.hf, *ids, LETTERS.index(right), LETTERS.index(wrong)).items():
            by_edge["exact"].setdefault(key, []).append(abs(share))
        for method in ("eap", "eap-ig"):
            for edge in edge_scores(pair, method):
                by_edge[method].setdefault((edge.sender, edge.receiver, edge.reads), []).append(abs(edge.score))
    edges = list(by_edge["exact"])
    assert set(edges) == set(by_edge["eap"]) == set(by_edge["eap-ig"])
    return {name: np.array([np.mean(scores[edge]) for edge in edges]) for name, scores in by_edge.items()}


def test_the_model_has_learned_to_continue_what_it_has_seen(model: el.Model) -> None:
    for clean, corrupt, right, wrong in pairs():
        assert (model.predict(clean).tokens[0], model.predict(corrupt).tokens[0]) == (right, wrong)
    scores = head_scores(model, [3, 9, 4, 1, 7, 12, 5, 20] * 2)
    by_layer = {name: scores[name].reshape(2, -1).max(1) for name in ("previous", "induction")}
    assert by_layer["previous"][0] > 0.7  # a head of the first layer looks at the token before
    assert by_layer["induction"][1] > 0.4  # heads of the second look behind the earlier copy: half of the tokens have one


def test_estimates_find_the_edges_that_exact_patching_finds(sizes: dict[str, np.ndarray]) -> None:
    truth = sizes["exact"] >= PART
    assert 8 <= truth.sum() <= 16  # of 81
    assert roc_auc_score(truth, sizes["eap-ig"]) >= 0.95
    strong = sizes["exact"] >= STRONG
    assert roc_auc_score(strong, sizes["eap"]) >= 0.95
    assert roc_auc_score(truth, sizes["eap-ig"]) > roc_auc_score(truth, sizes["eap"])  # in a saturated softmax, as published


def test_a_head_of_the_last_layer_restores_what_its_edge_to_the_answer_does(model: el.Model) -> None:
    """The one kind of edge that activation patching measures too."""
    clean, corrupt, right, wrong = pairs(1)[0]
    pair = contrast(model, clean, corrupt, right, wrong)
    ids = [list(text.text.ids) for text in (pair.clean_text, pair.corrupt_text)]
    exact = exact_edges(model.hf, *ids, LETTERS.index(right), LETTERS.index(wrong))
    patched = patch_heads(pair, positions=False)
    for name, share in zip(patched.names, patched.heads, strict=True):
        if name.layer == 1:
            assert share == pytest.approx(exact[name, "answer", "logits"], abs=1e-4)
