"""The schedule: every shard once and in order, whatever becomes of the workers."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from eyeline.errors import EyelineError, ModelError
from eyeline.measure.engines import schedule as schedule_module
from eyeline.measure.engines.schedule import SHARDS_AHEAD, Needs, Schedule
from eyeline.measure.engines.work import Status
from eyeline.measure.runs.progress import StopRequestedError
from tests.measure.engines.fake_pool import FakePool, Numbers, computed

SHARDS = [Numbers(tuple(range(i * 4, i * 4 + 4))) for i in range(20)]
EVERY = [list(shard.numbers) for shard in SHARDS]


@pytest.mark.parametrize("workers", [1, 2, 4, 16])
def test_sums_come_in_the_order_of_the_shards_for_any_number_of_workers(workers):
    for seed in range(5):
        schedule: Schedule[Any, Any] = Schedule(FakePool(computed, seed), Needs(workers))
        assert [outcome.sums for outcome in schedule.results(SHARDS)] == EVERY
        assert (schedule.shards, schedule.retries) == (20, 0)


@pytest.mark.parametrize("workers", [1, 3])
def test_a_worker_that_dies_is_replaced_and_its_shard_is_computed_again(workers):
    for seed in range(10):
        draw, pool_of = random.Random(seed), {}  # noqa: S311

        def answer(shard: Numbers, draw: random.Random = draw) -> tuple[str, Any]:
            return ("died", "killed") if draw.random() < 0.2 else computed(shard)

        pool_of[seed] = FakePool(answer, seed)
        schedule: Schedule[Any, Any] = Schedule(pool_of[seed], Needs(workers))
        outcomes = list(schedule.results(SHARDS))
        kept = [number for outcome in outcomes for number in outcome.sums]
        given_up = [int(name) for outcome in outcomes for name in outcome.skipped]
        assert sorted(kept + given_up) == list(range(80)), "nothing is lost, nothing counted twice"
        assert [outcome.sums for outcome in outcomes if not outcome.skipped] == [
            each for each, outcome in zip(EVERY, outcomes, strict=True) if not outcome.skipped
        ]
        assert pool_of[seed].started == workers + schedule.retries
        assert len(pool_of[seed].alive) == workers


@pytest.mark.parametrize("kind", ["died", "broke"])
def test_a_document_that_breaks_its_worker_is_named_and_skipped_after_two_tries_alone(kind):
    tries: Counter[tuple[int, ...]] = Counter()

    def answer(shard: Numbers) -> tuple[str, Any]:
        tries[shard.numbers] += 1
        return (kind, "it hurts") if {9, 30} & set(shard.numbers) else computed(shard)

    schedule: Schedule[Any, Any] = Schedule(FakePool(answer), Needs(2))
    outcomes = list(schedule.results(SHARDS))
    assert [number for outcome in outcomes for number in outcome.sums] == [n for n in range(80) if n not in (9, 30)]
    assert [dict(outcome.skipped) for outcome in outcomes if outcome.skipped] == [{"9": "it hurts"}, {"30": "it hurts"}]
    assert tries[(8, 9, 10, 11)] == tries[(9,)] == 2
    assert tries[(8,)] == tries[(8, 10, 11)] == tries[(0, 1, 2, 3)] == 1


def test_a_shard_that_breaks_its_worker_though_no_document_does_ends_the_run_with_its_name():
    def answer(shard: Numbers) -> tuple[str, Any]:
        return ("died", "no memory") if len(shard.numbers) > 1 and 5 in shard.numbers else computed(shard)

    schedule: Schedule[Any, Any] = Schedule(FakePool(answer), Needs(2))
    with pytest.raises(EyelineError, match=r"Shard 2 \(4 documents\) cannot be computed: no memory"):
        list(schedule.results(SHARDS))


def test_an_error_of_ours_in_a_worker_ends_the_run_as_it_is():
    schedule: Schedule[Any, Any] = Schedule(FakePool(lambda shard: ("refused", ModelError("The loss is not a number."))), Needs(2))
    with pytest.raises(ModelError, match="not a number"):
        list(schedule.results(SHARDS))


def test_workers_that_die_before_they_begin_are_not_started_for_ever():
    pool = FakePool(computed, opening=lambda: ("died", "out of memory"))
    schedule: Schedule[Any, Any] = Schedule(pool, Needs(2))
    with pytest.raises(EyelineError, match="3 workers ended before they could begin"):
        list(schedule.results(SHARDS))
    assert pool.started <= 4


def test_without_any_worker_a_run_waits_so_long_and_no_longer(monkeypatch):
    class Pending(FakePool):
        def wait(self, seconds: float) -> list[Any]:
            return []

    monkeypatch.setattr(schedule_module, "PATIENCE", 0.0)
    with pytest.raises(EyelineError, match="No worker has been available"):
        list(Schedule[Any, Any](Pending(computed), Needs(2)).results(SHARDS))


def test_no_more_shards_are_read_than_can_wait_to_be_merged():
    read = 0

    def shards() -> Any:
        nonlocal read
        for shard in SHARDS:
            read += 1
            yield shard

    schedule: Schedule[Any, Any] = Schedule(FakePool(computed, 1), Needs(2))
    for merged, _ in enumerate(schedule.results(shards())):
        assert read <= merged + 1 + SHARDS_AHEAD * 2


def test_the_report_counts_documents_tokens_and_workers_and_can_stop_the_run():
    seen: list[Status] = []

    def report(status: Status) -> None:
        seen.append(status)
        if status.documents >= 40:
            raise StopRequestedError

    schedule: Schedule[Any, Any] = Schedule(FakePool(computed), Needs(3), report)
    merged = []
    with pytest.raises(StopRequestedError):
        merged.extend(schedule.results(SHARDS))
    assert seen[-1].documents == seen[-1].tokens == 40
    assert {status.alive for status in seen} <= {1, 2, 3}
    assert seen[-1].alive == 3


def test_one_session_gives_the_results_of_several_rounds():
    schedule: Schedule[Any, Any] = Schedule(FakePool(computed), Needs(2))
    first = [outcome.sums for outcome in schedule.results(SHARDS[:1])]
    assert first + [outcome.sums for outcome in schedule.results(SHARDS[1:])] == EVERY


def test_machines_that_are_lost_under_a_shard_are_no_fault_of_its_documents():
    losses = Counter[tuple[int, ...]]()

    def answer(shard: Numbers) -> tuple[str, Any]:
        losses[shard.numbers] += 1
        return ("lost", "the node has died") if losses[shard.numbers] <= 5 else computed(shard)

    schedule: Schedule[Any, Any] = Schedule(FakePool(answer), Needs(2))
    outcomes = list(schedule.results(SHARDS))
    assert [outcome.sums for outcome in outcomes] == EVERY
    assert schedule.retries == 100


def test_workers_on_machines_that_are_lost_while_they_start_are_started_again():
    openings = iter([("lost", "the node has died")] * 10)
    schedule: Schedule[Any, Any] = Schedule(FakePool(computed, opening=lambda: next(openings, ("ready", None))), Needs(2))
    assert [outcome.sums for outcome in schedule.results(SHARDS)] == EVERY


def test_a_shard_of_which_no_document_is_left_has_no_sums():
    schedule: Schedule[Any, Any] = Schedule(
        FakePool(lambda shard: ("broke", "it hurts") if 9 in shard.numbers else computed(shard)), Needs(2)
    )
    outcomes = list(schedule.results([Numbers((1, 2)), Numbers((9,)), Numbers((3,))]))
    assert [outcome.sums for outcome in outcomes] == [[1, 2], None, [3]]
