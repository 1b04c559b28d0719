"""A statistic of one's own: the example of docs/how-to/corpus.md, run, resumed and merged as ours are."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import eyeline as el
from eyeline.errors import TraceError
from eyeline.measure.corpus.catalogue import STATISTICS
from tests.laws.statistics import TEXTS, summed, tiny_model

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "corpus.md"


def example() -> type:
    """The class of the documentation, as it is written there."""
    block = next(block for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL) if "class LargestWeight" in block)
    names: dict = {}
    exec(block.partition("run = ")[0], names)  # noqa: S102 - our own documentation
    return names["LargestWeight"]


def test_the_documented_statistic_is_the_mean_of_the_largest_weights():
    model = tiny_model()
    texts = [text for text in TEXTS if isinstance(text, str)]
    table = el.analyse(model, texts, [example()()]).table("largest_weight")
    expected = np.mean([trace.weights.max(-1).mean(-1) for trace in model.traces(texts)], axis=0)  # [layer, head]
    np.testing.assert_allclose(table["largest"].astype(float), expected.ravel(), atol=1e-6)


def test_the_documented_statistic_is_ten_lines():
    block = next(block for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL) if "class LargestWeight" in block)
    lines = [line for line in block.partition("class ")[2].partition("run = ")[0].splitlines() if line.strip()]
    assert len(lines) <= 10


def test_parts_of_the_documented_statistic_merge_to_the_whole_and_its_state_is_kept():
    own = example()()
    whole, first, second = (summed(own, numbers) for numbers in (range(len(TEXTS)), range(3), range(3, len(TEXTS))))
    first.merge(second.from_state(second.state()))
    for key, values in whole.state().items():
        np.testing.assert_allclose(first.state()[key], values)


def test_runs_with_the_documented_statistic_are_merged_where_its_class_is_given(tmp_path):
    kind = example()
    texts = [text for text in TEXTS if isinstance(text, str)]
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder, part in zip(folders, (texts[:3], texts[3:]), strict=True):
        el.analyse(tiny_model(), part, [kind()], folder=folder).save(folder)
    with pytest.raises(TraceError, match="largest_weight"):
        el.statistics.merge_runs(folders)
    merged = el.statistics.merge_runs(folders, own=[kind])
    whole = el.analyse(tiny_model(), texts, [kind()])
    np.testing.assert_allclose(
        merged.table("largest_weight")["largest"].astype(float), whole.table("largest_weight")["largest"].astype(float)
    )


def test_a_statistic_of_ours_is_its_module_and_a_line_in_the_catalogue(monkeypatch):
    """What ARCHITECTURE.md says of adding a statistic: its class, and the catalogue; a figure of it is a matter of plots."""
    from eyeline.measure.corpus.catalogue import statistics_named

    monkeypatch.setitem(STATISTICS, "largest_weight", example())
    run = el.analyse(tiny_model(), TEXTS[:2], statistics_named(["largest_weight"]))
    assert list(run.tables) == ["largest_weight"]
