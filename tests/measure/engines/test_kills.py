"""A run that is killed while sums are merged or written goes on from the sums on the disk, to the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import eyeline as el
from eyeline.measure.engines.processes import Engine
from eyeline.measure.statistics import agreement, loop
from eyeline.models.attention import LayerAttention
from eyeline.statistics import Statistic
from eyeline.storage import sealed
from tests.attack.kills import ENGINES, attack_engine, position_of
from tests.laws.statistics import tiny_model
from tests.measure.engines.fake_engine import Pretended
from tests.measure.engines.small_run import TEXTS, small_shards
from tests.tiers import slow_but


class Killed(BaseException):
    """As when the process ends here: nothing of ours catches it."""


def dying(function: Callable[..., Any], at: int, *, after: bool = False) -> Callable[..., Any]:
    """The function, which at this call (from 1) is killed before it begins, or after it has returned."""
    calls = 0

    def call(*given: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == at and not after:
            raise Killed
        result = function(*given, **options)
        if calls == at:
            raise Killed
        return result

    return call


def measure(folder: Path, engine: Engine | str, *, resume: bool = False) -> el.Run:
    analyses = [el.statistics.AverageAttention(), el.statistics.Entropy(), el.statistics.HeadDistances()]
    return el.analyse(tiny_model(), TEXTS, analyses, folder=folder, engine=engine, resume=resume)


def bytes_of(run: el.Run, folder: Path) -> dict[str, bytes]:
    return {name: table.to_csv().encode() for name, table in run.tables.items()} | {loop.FILE: (folder / loop.FILE).read_bytes()}


#: Where a run of eight shards and three analyses is killed, and how many documents the sums on the disk hold then.
MOMENTS = {
    "between two merges of a shard": (Statistic, "merge", 8, False, 16),
    "before the sums are written": (loop, "save_state", 4, False, 24),
    "with the new sums written beside the old ones": (sealed, "save_file", 5, True, 32),
    "in the last shard": (Statistic, "merge", 24, False, 56),
}


@pytest.fixture(scope="module", autouse=True)
def saved_after_every_shard() -> Iterator[None]:
    """The seconds of a run are in its sums: with a clock that stands still they are the same in every run."""
    with small_shards(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "SAVE_EVERY", -1.0)
        patch.setattr(loop, "time", SimpleNamespace(monotonic=lambda: 0.0))
        yield


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("whole")
    return bytes_of(measure(folder, Pretended(2)), folder)


def kill(folder: Path, moment: str, engine: Engine | str) -> None:
    owner, name, at, after, _ = MOMENTS[moment]
    with pytest.MonkeyPatch.context() as killing:
        killing.setattr(owner, name, dying(getattr(owner, name), at, after=after))
        with pytest.raises(Killed):
            measure(folder, engine)


@pytest.mark.parametrize("moment", slow_but([*MOMENTS][:2], MOMENTS))
def test_a_run_of_workers_killed_at_any_step_goes_on_to_the_same_bytes(moment: str, whole: dict[str, bytes], tmp_path: Path) -> None:
    kill(tmp_path, moment, Pretended(2, seed=1))
    position = position_of(tmp_path)  # an error where no sums are there
    assert (position.counts["documents"], position.complete) == (MOMENTS[moment][-1], False)
    resumed = measure(tmp_path, Pretended(2, seed=2), resume=True)  # as many workers: their number is noted beside the sums
    assert bytes_of(resumed, tmp_path) == whole


@pytest.mark.parametrize("engine", ["local", Pretended(2)], ids=["local", "workers"])
def test_how_rows_are_computed_is_found_out_once_and_kept_by_a_resumed_run(
    engine: Engine | str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[str] = []

    def difference(attention: LayerAttention, **_: bool) -> float:
        compared.append(f"{attention.stack}.{attention.layer}")
        return float("inf") if attention.layer == 1 else 0.0

    monkeypatch.setattr(agreement, "difference", difference)
    monkeypatch.setattr(agreement, "RECHECK_EVERY", 1e9)
    kill(tmp_path, "before the sums are written", engine)
    assert position_of(tmp_path).streamed
    assert position_of(tmp_path).slower == {"encoder.1": "dense"}
    assert compared.count("encoder.1") == 1
    run = measure(tmp_path, engine, resume=True)
    assert compared.count("encoder.1") == 1
    assert any("Layers 1 (encoder)" in notice for notice in run.facts.notices)


@pytest.mark.cluster
@pytest.mark.parametrize("engine", ENGINES)
def test_a_command_killed_at_a_step_is_resumed_to_the_same_bytes(engine: str, tmp_path: Path) -> None:
    if engine == "ray":
        pytest.importorskip("ray", reason="the extra ray is not installed")
    family = attack_engine(tmp_path / "runs", engine, 2, seed=7)
    assert family.failures == []
    assert family.held == (2 if engine == "local" else 3)
