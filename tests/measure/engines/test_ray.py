"""Analyses by a Ray cluster of several nodes on this machine, some of them killed on the way: the same numbers to the last bit."""

from __future__ import annotations

import contextlib
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

import eyeline as el
from eyeline.measure.engines import schedule as schedule_module
from eyeline.measure.engines.local import run_parts
from eyeline.measure.engines.work import Part, ShardResult, Work, parts_of
from eyeline.measure.runs.progress import Progress
from tests.laws.statistics import tiny_model
from tests.measure.engines.fake_engine import Pretended
from tests.measure.engines.small_run import POISON, POISONED, TEXTS, Deadly, exact, importable_tests, small_shards, statistics

#: A busy machine can be late, and Ray then takes a node for dead: such a test runs once more, as those with a browser do.
pytestmark = [pytest.mark.slow, pytest.mark.flaky(reruns=1)]
ray = pytest.importorskip("ray", reason="the extra ray is not installed")
STORE = 100 * 2**20
STARTS = 3


@pytest.fixture(autouse=True)
def shards_of_eight(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(schedule_module, "PATIENCE", 120.0)
    with small_shards():
        yield
    assert not ray.is_initialized(), "the connection ends with the run"


@pytest.fixture(scope="module")
def whole() -> dict[str, str]:
    """The numbers of one worker."""
    with small_shards():
        return exact(el.analyse(tiny_model(), TEXTS, statistics(), engine=Pretended(1)))


def patiently(start: Callable[[], Any]) -> Any:
    """Ray gives up a node that does not start within 30 seconds, as on a machine that is busy with other things."""
    for _ in range(STARTS):
        try:
            return start()
        except Exception as error:  # Ray raises no other
            if "timed out during startup" not in str(error):
                raise
    pytest.skip("Ray started no node within 30 seconds, three times: the machine is too busy")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head without room for workers; each test adds its nodes. Nothing is left of it afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        importable_tests(patch)
        from ray.cluster_utils import Cluster

        head = {"num_cpus": 0, "object_store_memory": STORE, "include_dashboard": False}
        started = patiently(lambda: Cluster(initialize_head=True, head_node_args=head))
        yield started
        ray.shutdown()
        started.shutdown()


class Nodes:
    """The nodes of one test."""

    def __init__(self, cluster: Any) -> None:
        self.cluster, self.alive = cluster, list[Any]()

    def add(self, n: int = 1, cores: int = 1) -> None:
        for _ in range(n):
            self.alive.append(patiently(lambda: self.cluster.add_node(num_cpus=cores, object_store_memory=STORE)))

    def kill(self, index: int) -> None:
        """As when a machine loses its power: its processes end at once."""
        self.cluster.remove_node(self.alive.pop(index), allow_graceful=False)


@pytest.fixture
def nodes(cluster: Any) -> Iterator[Nodes]:
    nodes = Nodes(cluster)
    yield nodes
    while nodes.alive:
        cluster.remove_node(nodes.alive.pop())


def killing(nodes: Nodes, seed: int, kills: int) -> Callable[[Progress], None]:
    """A progress that kills nodes when so many documents are done, drawn by the seed; there is always another left."""
    draw = random.Random(seed)  # noqa: S311
    moments = sorted(draw.sample(range(56), kills))

    def progress(now: Progress) -> None:
        while moments and now.done >= moments[0]:
            moments.pop(0)
            nodes.kill(draw.randrange(len(nodes.alive)))
            if len(nodes.alive) < 2:
                nodes.add()

    return progress


def check_killed(nodes: Nodes, whole: dict[str, str], n_nodes: int, seed: int, kills: int) -> None:
    nodes.add(n_nodes)
    engine = el.Ray(n_nodes, nodes.cluster.address)
    run = el.analyse(tiny_model(), TEXTS, statistics(), engine=engine, progress=killing(nodes, seed, kills))
    assert exact(run) == whole
    assert run.facts.counts["documents"] == 60
    assert "broke" not in run.facts.counts
    assert run.facts.engine is not None
    assert (run.facts.engine.name, run.facts.engine.workers, run.facts.engine.shards) == ("ray", n_nodes, 8)


@pytest.mark.parametrize("seed", [1, 2])
def test_two_nodes_killed_at_random_moments_change_no_bit(nodes: Nodes, whole: dict[str, str], seed: int):
    check_killed(nodes, whole, 2, seed, kills=2)


@pytest.mark.cluster
@pytest.mark.parametrize("seed", range(3, 8))
def test_nodes_of_four_killed_at_random_moments_change_no_bit(nodes: Nodes, whole: dict[str, str], seed: int):
    check_killed(nodes, whole, 4, seed, kills=4)


def test_a_document_that_kills_its_actor_is_named_and_skipped_while_a_node_is_killed(nodes: Nodes):
    nodes.add(2)
    run = el.analyse(tiny_model(), POISONED, [Deadly()], engine=el.Ray(2, nodes.cluster.address), progress=killing(nodes, 5, kills=1))
    assert list(run.facts.dropped["broke"]) == [f"document {POISON + 1} (line {POISON + 1})"]
    assert run.facts.counts["documents"] == 60
    assert run.facts.counts["texts"] == 59


@dataclass(frozen=True)
class WhereWeightsAre(Work[Part[str], tuple[int, str]]):
    """The process that computes, and the file behind the memory in which its largest weight lies."""

    def open(self, model: el.Model) -> Callable[[Part[str]], ShardResult[tuple[int, str]]]:
        at = max(model.hf.parameters(), key=lambda parameter: parameter.numel()).data_ptr()

        def compute(part: Part[str]) -> ShardResult[tuple[int, str]]:
            for line in Path("/proc/self/maps").read_text().splitlines():
                start, end = (int(number, 16) for number in line.split()[0].split("-"))
                if start <= at < end:
                    return ShardResult((os.getpid(), " ".join(line.split()[5:])), 0)
            raise RuntimeError("no memory there")

        return compute


def test_actors_of_one_node_read_the_weights_from_the_same_memory_without_files(nodes: Nodes):
    nodes.add(1, cores=2)
    seen: dict[int, str] = {}
    parts = parts_of(TEXTS, [[i] for i in range(40)])
    run_parts(WhereWeightsAre(), tiny_model(), parts, lambda part, at: seen.update([at]), el.Ray(2, nodes.cluster.address))
    assert len(set(seen.values())) == 1
    assert "plasma" in next(iter(seen.values()))


def test_a_cluster_without_room_for_a_worker_is_an_error_at_once(cluster: Any, tmp_path: Path):
    with pytest.raises(el.EyelineError, match=r"(?s)No machine of the cluster has room.*The cluster has"):
        el.analyse(tiny_model(), TEXTS, statistics(), engine=el.Ray(1, cluster.address, threads=64), folder=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_without_an_address_ray_is_started_on_this_machine_and_listens_on_loopback_only(
    whole: dict[str, str], monkeypatch: pytest.MonkeyPatch
):
    importable_tests(monkeypatch)
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")  # else Ray would want a token from the cluster of the other tests, too
    environment, listening = dict(os.environ), set[str]()
    others = set(psutil.Process().children(recursive=True))  # the cluster of the other tests

    def progress(now: Progress) -> None:
        for process in set(psutil.Process().children(recursive=True)) - others:
            with contextlib.suppress(psutil.Error):  # it has ended meanwhile
                listening.update(socket.laddr.ip for socket in process.net_connections("inet") if socket.status == psutil.CONN_LISTEN)

    assert exact(el.analyse(tiny_model(), TEXTS, statistics(), engine=el.Ray(2), progress=progress)) == whole
    assert listening
    assert {ip.removeprefix("::ffff:") for ip in listening} <= {"127.0.0.1", "::1"}
    variable = ray._private.ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR
    assert os.environ.get(variable) == environment.get(variable)
