"""The distance that figure 4b draws is the one that is searched, tabled and named, whatever the gauge, the distance and the plane."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import eyeline as el
from eyeline.corpora import Corpus
from eyeline.measure.runs.figure import Style
from eyeline.measure.space import capture
from eyeline.measure.space.capture import capture_space, gauge_layer, some_pairs
from eyeline.measure.space.gauges import Agreement
from eyeline.measure.space.options import DISTANCES, WHERE
from eyeline.runs import Table
from eyeline.words import LANGUAGES, Words
from tests.laws.statistics import tiny_model
from tests.models.families import open_family
from tests.reference import gauge as slow

#: So short that the figure shows every pair.
TEXT = "the cat sat on the mat . it purred , and sat ."

SEARCHED = [{"gauge": "searched", "distance": distance, "correlate": where} for distance, where in product(DISTANCES, WHERE)]
GAUGES = [*SEARCHED, *({"gauge": name} for name in ("none", "attentionviz", "lifted")), {"gauge": "attentionviz", "shared_scale": True}]

NAMES = {
    ("euclidean", "full"): "Euclidean distance (all dimensions)",
    ("euclidean", "plane"): "Euclidean distance (the plane of the picture)",
    ("cosine", "full"): "cosine distance (all dimensions)",
    ("cosine", "plane"): "cosine distance (the plane of the picture)",
}


def label_of(options: dict[str, object]) -> str:
    return " ".join(map(str, options.values()))


def drawn_correlations(run: el.Run) -> dict[tuple[int, int], tuple[float, float]]:
    """Layer and head → the correlation of the dots in the upper and in the lower panel, from what Plotly is given."""
    figure = el.figure(run, "space_pairs")
    heads = dict.fromkeys(zip(*(run.table("space_pairs")[name].tolist() for name in ("layer", "head")), strict=True))
    points = [[list(map(float, side)) for side in (trace.y, trace.x, trace.customdata)] for trace in figure.data]
    each = [slow.weighted_correlation(*sides) for sides in points]
    return dict(zip(heads, zip(each[::2], each[1::2], strict=True), strict=True))


@pytest.mark.parametrize(
    ("options", "name", "dims"),
    [
        *((options, "bert", 2) for options in GAUGES),
        *(pytest.param(SEARCHED[3], name, 3, marks=pytest.mark.slow) for name in ("bert", "llama", "t5")),
    ],
    ids=lambda value: label_of(value) if isinstance(value, dict) else str(value),
)
def test_the_dots_have_the_correlation_that_stands_above_them(options: dict[str, object], name: str, dims: int) -> None:
    model = open_family(name)
    several = len(model.layout.stacks) > 1
    space = el.space(model, [(TEXT, TEXT)] if several else [TEXT], project="pca", dims=dims, layers=[0], **options)  # type: ignore[arg-type]
    for stack in space.stacks.values():
        run = replace(space, stacks={stack.name: stack}).run()
        titles = [note.text for note in el.figure(run, "space_pairs").layout.annotations if "→" in note.text]
        rows = {(row["layer"], row["head"]): row for row in run.table("space").rows()}
        drawn = drawn_correlations(run)
        assert len(drawn) == len(titles) > 0
        for at, title in zip(drawn, titles, strict=True):
            tabled = [float(rows[at][f"correlation_{when}"]) for when in ("before", "after")]
            assert drawn[at] == pytest.approx(tabled, abs=1e-6)
            assert title.endswith(" → ".join(f"{number:.2f}".replace("-", "−") for number in tabled))


@pytest.mark.parametrize("options", SEARCHED, ids=label_of)
def test_every_distance_is_that_of_the_plain_loops(options: dict[str, str]) -> None:
    space = el.space(tiny_model(), [TEXT], project="pca", layers=[0], **options)  # type: ignore[arg-type]
    agreement = Agreement(options["distance"], options["correlate"])
    (stack,) = capture_space(tiny_model(), Corpus.of([TEXT]), layers=[0]).stacks.values()
    pairs, gauged = some_pairs(stack, 0), gauge_layer(stack, 0, "searched", None, agreement)
    table = space.run().table("space_pairs")
    for head in sorted(set(table["head"].tolist())):
        part = table.where(layer=0, head=head)
        sides = {
            "before": [side[0, head].astype(float) for side in (stack.vectors.queries, stack.vectors.keys)],
            "after": [gauged.queries[head], gauged.keys[head]],
        }
        for when, (queries, keys) in sides.items():
            if agreement.where == "plane":
                plane = slow.plane_of(np.concatenate([queries, keys]), 2)
                queries, keys = queries @ plane.T, keys @ plane.T
            expected = [slow.pair_distance(queries[q], keys[k], agreement.distance) for q, k in zip(pairs.query, pairs.key, strict=True)]
            assert part[f"distance_{when}"].astype(float) == pytest.approx(expected, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("options", SEARCHED, ids=label_of)
def test_the_figure_and_the_table_name_their_distance_in_every_language(options: dict[str, str], tmp_path: Path) -> None:
    space = el.space(tiny_model(), [TEXT], project="pca", layers=[0], heads=[0, 1], **options)  # type: ignore[arg-type]
    run = el.runs.open_run(space.run().save(tmp_path / "run"))
    distance, where = options["distance"], options["correlate"]
    table = run.table("space_pairs")
    assert set(zip(table["distance"].tolist(), table["where"].tolist(), strict=True)) == {(distance, where)}
    for language in LANGUAGES:
        words = Words(language)
        figure = el.figure(run, "space_pairs", Style(words))
        label = words("figure.space_pairs.distance", distance=words.name("distance", distance), where=words.name("where", where))
        assert label in [note.text for note in figure.layout.annotations]
        assert label in figure.layout.title.text
        assert language != "en" or label == NAMES[distance, where]


@pytest.mark.parametrize("options", [SEARCHED[0], SEARCHED[3]], ids=label_of)
def test_a_space_that_was_saved_and_opened_has_the_same_pairs(options: dict[str, str], tmp_path: Path) -> None:
    space = el.space(tiny_model(), [TEXT], project="pca", layers=[0], heads=[0], **options)  # type: ignore[arg-type]
    again = el.runs.open_space(space.save(tmp_path / "space.safetensors"))
    assert again.run().table("space_pairs").to_csv() == space.run().table("space_pairs").to_csv()


@pytest.mark.parametrize("options", [SEARCHED[0], SEARCHED[2]], ids=label_of)
def test_a_run_of_an_earlier_version_has_euclidean_distances_and_only_their_correlation(options: dict[str, str]) -> None:
    run = el.space(tiny_model(), [TEXT], project="pca", layers=[0], heads=[0], **options).run()  # type: ignore[arg-type]
    columns = {name: values for name, values in run.table("space_pairs").columns.items() if name not in ("distance", "where")}
    old = el.Run(run.facts, {**run.tables, "space_pairs": Table(columns)})
    notes = [note.text for note in el.figure(old, "space_pairs").layout.annotations]
    assert NAMES["euclidean", "full"] in notes
    assert any("→" in note for note in notes) == (options["distance"] == "euclidean")


@pytest.mark.parametrize("options", [SEARCHED[0], *(pytest.param(each, marks=pytest.mark.slow) for each in SEARCHED[1:])], ids=label_of)
def test_the_searched_gauge_is_never_worse_than_none_on_texts_that_were_not_searched(
    options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capture, "SEARCH_TOKENS", 1)  # the first text alone
    texts = ["the dog ran .", TEXT, "a dog ran a very long way home , and it sat ."]
    facts = el.space(tiny_model(), texts, project="pca", layers=[0, 2], **options).only.facts  # type: ignore[arg-type]
    before, after = facts["correlation_before"], facts["correlation_after"]
    assert (after <= before).all()
    assert (facts["scale"][after == before] == 1).all()
    assert (facts["scale"][after < before] != 1).any() or options["distance"] == "cosine"  # where every head loses by so little text


def test_a_head_of_a_searched_space_is_projected_again_by_the_distance_of_the_space() -> None:
    space = el.space(tiny_model(), [TEXT], project="pca", layers=[0], heads=[0], gauge="searched", distance="cosine")
    again = space.project_head(0, 0, "pca", gauge="searched")
    points = [np.concatenate(sides) for sides in ((space.only.queries[0, 0], space.only.keys[0, 0]), (again.queries, again.keys))]
    apart = [np.linalg.norm(each[:, None] - each[None], axis=-1) for each in points]  # an axis may point the other way
    assert apart[1] == pytest.approx(apart[0], rel=0.05, abs=0.02 * float(apart[0].max()))
