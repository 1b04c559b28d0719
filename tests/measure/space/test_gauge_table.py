"""Every gauge beside none: a table of the run, printed, saved and read; and the choices of the searched gauge."""

from __future__ import annotations

import numpy as np
import pytest

import eyeline as el
from eyeline.errors import TraceError
from eyeline.show.cli.space import print_gauges
from tests.laws.statistics import tiny_model

TEXTS = ["the cat sat on the mat . it purred , and sat .", "a dog ran a very long way home , and it sat ."]


def test_a_pca_space_has_a_row_for_each_gauge_and_distance_in_full_and_in_the_plane(tmp_path, capsys) -> None:
    space = el.space(tiny_model(), TEXTS, project="pca", layers=[0], heads=[0, 1])
    rows = {(row.gauge, row.distance, row.where): row for row in space.gauges}
    assert len(rows) == 12
    for (gauge, _, _), row in rows.items():
        assert row.heads == 2
        assert (row.worse == 0) or gauge != "searched"
        assert gauge != "searched" or row.after <= row.before + 1e-9
    table = space.run().table("space_gauges")
    assert table["after"].tolist() == [row.after for row in space.gauges]
    space.save(tmp_path / "run")
    assert el.open(tmp_path / "run").gauges == space.gauges
    print_gauges(space.gauges)
    printed = capsys.readouterr().out
    assert "plane" in printed
    assert "2 heads" in printed


@pytest.mark.parametrize("gauge", ["attentionviz", "searched", "lifted"])
def test_the_gauge_table_and_the_table_of_heads_have_one_number_for_one_thing(gauge: str) -> None:
    space = el.space(tiny_model(), TEXTS, project="pca", gauge=gauge, layers=[0, 1], heads=[0, 1])
    (row,) = (row for row in space.gauges if (row.gauge, row.distance, row.where) == (gauge, "euclidean", "full"))
    facts = space.only.facts
    assert (row.before, row.after) == pytest.approx((facts["correlation_before"].mean(), facts["correlation_after"].mean()), abs=1e-6)
    assert row.tokens == len(space.only.query_tokens)


def test_the_gauge_table_stands_on_the_page_and_in_the_report_in_the_readers_language(tmp_path) -> None:
    space = el.space(tiny_model(), TEXTS, project="pca", layers=[0], heads=[0, 1])
    (table,) = el.space_view(space, language="ko").spec["tables"]
    assert len(table["rows"]) == 12
    assert table["title"] == "모든 게이지를 게이지 없음과 비교"
    page = el.runs.write_report(space.save(tmp_path / "run"), "ko").read_text(encoding="utf-8")
    assert 'id="table-space_gauges"' in page
    assert table["about"] in page
    assert all(cell in page for row in table["rows"] for cell in row)


def test_fitted_pictures_need_no_gauge_and_have_no_table() -> None:
    space = el.space(tiny_model(), TEXTS, layers=[0], heads=[0], background=False)
    assert space.gauges == ()
    assert "space_gauges" not in space.run().tables


@pytest.mark.parametrize("distance", ["euclidean", "cosine"])
@pytest.mark.parametrize("correlate", ["full", "plane"])
def test_the_searched_gauge_takes_a_distance_and_where_it_is_measured(distance: str, correlate: str) -> None:
    options = {"project": "pca", "gauge": "searched", "distance": distance, "correlate": correlate}
    space = el.space(tiny_model(), TEXTS, layers=[0], heads=[0, 1], **options)
    before, after = (space.only.facts[name] for name in ("correlation_before", "correlation_after"))
    assert (after <= before + 1e-9).all()
    assert (after < before - 1e-3).any()
    assert space.facts is not None
    assert space.facts.gauge_check is not None
    assert space.facts.gauge_check.holds
    assert (space.facts.options.distance, space.facts.options.correlate) == (distance, correlate)
    assert np.isfinite(space.only.facts["scale"]).all()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"gauge": "attentionviz", "distance": "cosine"}, "Only the searched gauge"),
        ({"gauge": "searched", "distance": "manhattan"}, "Choices: euclidean, cosine"),
        ({"gauge": "searched", "correlate": "line"}, "Did you mean plane"),
    ],
)
def test_choices_that_do_not_exist_are_named(options: dict[str, str], why: str) -> None:
    with pytest.raises(TraceError, match=why):
        el.space(tiny_model(), TEXTS, project="pca", **options)
