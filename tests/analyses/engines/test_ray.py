"""A corpus by a Ray cluster of several nodes on this machine, one of which is killed in the middle: the same numbers to the last bit."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import eyeline as el
from eyeline.analyses.progress import Progress
from eyeline.errors import EyelineError
from tests.analyses.engines.small_run import POISON, POISONED, TEXTS, Deadly, exact, saved_model, small_shards, statistics

pytestmark = pytest.mark.cluster
ray = pytest.importorskip("ray", reason="the extra ray is not installed")
STORE = 100 * 2**20


@pytest.fixture(autouse=True)
def shards_of_eight() -> Iterator[None]:
    with small_shards():
        yield
    assert not ray.is_initialized(), "the connection ends with the run"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def whole(folder: Path) -> dict[str, str]:
    """The numbers of one worker."""
    with small_shards():
        return exact(el.analyse(folder, TEXTS, statistics(), engine=el.runs.Processes(1)))


@pytest.fixture
def cluster() -> Iterator[Any]:
    """A head without workers; each test adds its nodes. Nothing is left of it afterwards."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    started = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "object_store_memory": STORE, "include_dashboard": False})
    yield started
    ray.shutdown()
    started.shutdown()


@pytest.mark.parametrize("nodes", [2, 4])
def test_a_node_that_is_killed_in_the_middle_changes_no_bit(cluster: Any, folder: Path, whole: dict[str, str], nodes: int):
    added = [cluster.add_node(num_cpus=1, object_store_memory=STORE) for _ in range(nodes)]
    run = el.analyse(
        folder, TEXTS, statistics(), engine=el.Ray(nodes, cluster.address), progress=_kill(lambda: cluster.remove_node(added[0], False))
    )
    assert exact(run) == whole
    assert run.facts.counts["documents"] == 60
    assert "broke" not in run.facts.counts
    assert run.facts.engine is not None
    assert (run.facts.engine.name, run.facts.engine.workers, run.facts.engine.shards) == ("ray", nodes, 8)


def _kill(kill: Callable[[], None]) -> Callable[[Progress], None]:
    """A progress that kills once, when a quarter of the documents is done."""
    killed: list[bool] = []

    def progress(now: Progress) -> None:
        if now.done >= 16 and not killed:
            killed.append(True)
            kill()

    return progress


def test_a_document_that_kills_its_actor_is_named_and_skipped(cluster: Any, folder: Path):
    cluster.add_node(num_cpus=2, object_store_memory=STORE)
    run = el.analyse(folder, POISONED, [Deadly()], engine=el.Ray(2, cluster.address))
    assert list(run.facts.dropped["broke"]) == [f"document {POISON + 1} (line {POISON + 1})"]
    assert run.facts.counts["texts"] == 59


def test_a_cluster_without_room_for_a_worker_is_an_error_at_once(cluster: Any, folder: Path, tmp_path: Path):
    with pytest.raises(EyelineError, match=r"(?s)No machine of the cluster has room.*The cluster has"):
        el.analyse(folder, TEXTS, statistics(), engine=el.Ray(2, cluster.address), folder=tmp_path / "run")
    assert [path.name for path in (tmp_path / "run").iterdir()] in ([], [".lock"])


def test_without_an_address_ray_is_started_on_this_machine_for_the_run(folder: Path, whole: dict[str, str]):
    run = el.analyse(folder, TEXTS, statistics(), engine=el.Ray(2))
    assert exact(run) == whole
