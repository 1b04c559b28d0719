"""Edge attribution in a model that was trained, not written by hand: estimates against every edge patched exactly."""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import eyeline as el
from eyeline.measure.causes.circuit import Contrast, edge_scores, patch_heads
from tests.measure.causes.exact_edges import exact_edges
from tests.measure.causes.trained import LETTERS, trained_model

#: An edge is part of the circuit if it alone brings back this share of the answer (mean size over pairs of texts).
PART = 0.05
#: The last letter stands for what the tokeniser does not know.
KNOWN = LETTERS[:-1]
Kind = Literal["another answer", "another question", "another place"]


@dataclass(frozen=True)
class Pair:
    """A repeated sequence, and the same sequence with another token to be said, with another last token, or with the token that is looked
    for in another place: only the last needs what a head of the first layer has noted."""

    kind: Kind
    clean: str
    corrupt: str
    right: str
    wrong: str


def pairs(n: int = 5) -> list[Pair]:
    draw = random.Random(0)  # noqa: S311 - seeded, not a secret
    several: list[Pair] = []
    for _ in range(n):
        part = draw.sample(KNOWN, draw.randint(6, 9))
        last = draw.randrange(1, len(part) - 3)
        other = draw.randrange(last + 2, len(part) - 1)
        text, right = [*part, *part[: last + 1]], part[last + 1]
        new = draw.choice([letter for letter in KNOWN if letter not in part])
        other_answer = [*text[: last + 1], new, *text[last + 2 :]]
        other_question = [*text[:-1], part[other]]
        moved = list(text)
        moved[last], moved[other] = part[other], part[last]
        for kind, corrupt, wrong in (
            ("another answer", other_answer, new),
            ("another question", other_question, part[other + 1]),
            ("another place", moved, part[other + 1]),
        ):
            several.append(Pair(kind, " ".join(text), " ".join(corrupt), right, wrong))  # type: ignore[arg-type]
    return several


@dataclass(frozen=True)
class Sizes:
    """The size of every edge in every pair, exactly and by both estimates: [edge, pair], of all edges or those between heads."""

    kinds: tuple[Kind, ...]
    exact: np.ndarray
    eap: np.ndarray
    eap_ig: np.ndarray

    def area(self, estimate: np.ndarray, kinds: Collection[Kind]) -> float:
        """The area under the curve of an estimate for the edges that exact patching finds in pairs of these kinds."""
        chosen = [kind in kinds for kind in self.kinds]
        truth = self.exact[:, chosen].mean(1) >= PART
        assert 5 <= truth.sum() <= 20
        return float(roc_auc_score(truth, estimate[:, chosen].mean(1)))


@pytest.fixture(scope="module")
def model() -> el.Model:
    return trained_model()


@pytest.fixture(scope="module", params=["", "-through-mlps"])
def sizes(model: el.Model, request: pytest.FixtureRequest) -> Sizes:
    columns: dict[str, list[list[float]]] = {"exact": [], "eap": [], "eap-ig": []}
    for pair in pairs():
        exact, measured = exact_of(model, pair, blocks=not request.param)
        columns["exact"].append([abs(share) for share in exact.values()])
        for method in ("eap", "eap-ig"):
            scores = {(edge.sender, edge.receiver, edge.reads): abs(edge.score) for edge in edge_scores(measured, method + request.param)}
            assert set(scores) == set(exact)
            columns[method].append([scores[edge] for edge in exact])
    return Sizes(tuple(pair.kind for pair in pairs()), *(np.array(values).T for values in columns.values()))


def exact_of(model: el.Model, pair: Pair, *, blocks: bool) -> tuple[dict[tuple, float], Contrast]:
    measured = el.attributions.contrast(model, pair.clean, pair.corrupt, pair.right, pair.wrong)
    ids = [list(text.text.ids) for text in (measured.clean_text, measured.corrupt_text)]
    return exact_edges(model.hf, *ids, LETTERS.index(pair.right), LETTERS.index(pair.wrong), blocks=blocks), measured


def test_the_model_has_learned_to_continue_what_it_has_seen(model: el.Model) -> None:
    for pair in pairs():
        assert (model.predict(pair.clean).tokens[0], model.predict(pair.corrupt).tokens[0]) == (pair.right, pair.wrong)
    scores = el.attributions.head_scores(model, [3, 9, 4, 1, 7, 12, 5, 20] * 2)
    by_layer = {name: scores[name].reshape(2, -1).max(1) for name in ("previous", "induction")}
    assert by_layer["previous"][0] > 0.7  # a head of the first layer looks at the token before
    assert by_layer["induction"][1] > 0.4  # heads of the second look behind the earlier copy: half of the tokens have one


def test_estimates_find_the_edges_that_exact_patching_finds(sizes: Sizes) -> None:
    """EAP-IG everywhere; EAP where the answer moves with values and queries. Keys act through a saturated softmax, as published."""
    every: tuple[Kind, ...] = ("another answer", "another question", "another place")
    assert sizes.area(sizes.eap_ig, every) >= 0.95
    assert sizes.area(sizes.eap_ig, every[2:]) >= 0.95
    assert sizes.area(sizes.eap, every[:2]) >= 0.95
    assert sizes.area(sizes.eap, every[2:]) < sizes.area(sizes.eap_ig, every[2:])


def test_a_head_of_the_last_layer_restores_what_its_edge_to_the_answer_does(model: el.Model) -> None:
    """The one kind of edge that activation patching measures too."""
    exact, measured = exact_of(model, pairs(1)[0], blocks=False)
    patched = patch_heads(measured, positions=False)
    for name, share in zip(patched.names, patched.heads, strict=True):
        if name.layer == 1:
            assert share == pytest.approx(exact[name, "answer", "logits"], abs=1e-4)
