"""An engine without processes: what it is given is pickled as for workers, and computed here, by workers that die at random."""

from __future__ import annotations

import pickle
import random
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, ClassVar

import eyeline as el
from eyeline.measure.engines.processes import Engine, EngineName
from eyeline.measure.engines.schedule import Needs
from eyeline.measure.engines.work import Work
from eyeline.measure.engines.worker import Worker, assignment_packed, pack, versions
from tests.measure.engines.fake_pool import FakePool


@dataclass(frozen=True)
class Pretended(Engine):
    """workers: how many; deaths: so many of them die within a shard, drawn by the seed; poison: names of items that break them."""

    workers: int = 2
    seed: int = 0
    deaths: int = 0
    poison: Collection[str] = ()
    name: ClassVar[EngineName] = "processes"

    def check(self) -> None:
        pass

    def needs(self) -> Needs:
        return Needs(self.workers)

    def pool(self, work: Work[Any, Any], model: el.Model) -> FakePool:
        worker = Worker(versions(), assignment_packed(work, model), 1, pickle.loads(pickle.dumps(pack(model))))
        draw = random.Random(self.seed)  # noqa: S311
        dying = set(draw.sample(range(3), self.deaths))  # the shards, in the order in which they are answered, whose workers die
        answered = 0

        def answer(shard: Any) -> tuple[Any, Any]:
            nonlocal answered
            answered += 1
            if answered - 1 in dying:
                return "died", "killed"
            if {name for name, _ in shard.alone()} & set(self.poison):
                return "broke", "RuntimeError: it hurts"
            return pickle.loads(pickle.dumps(worker.answer(pickle.loads(pickle.dumps(shard)))))

        return FakePool(answer, self.seed)
