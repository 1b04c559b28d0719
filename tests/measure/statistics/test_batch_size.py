"""How much goes through the model at once: by its device, and as before when a run goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import eyeline as el
from eyeline.measure.runs.progress import Progress, StopRequestedError
from eyeline.measure.statistics import loop, prepare
from eyeline.measure.statistics.loop import Loop
from eyeline.measure.statistics.prepare import BatchSize

TEXTS = [f"The cat sat on mat {number}." + " It purred." * (number % 3) for number in range(23)]


@pytest.mark.parametrize(("gigabytes", "tokens"), [(8, 8192), (24, 24576), (141, 131072)])
def test_a_gpu_takes_more_by_its_memory(monkeypatch: pytest.MonkeyPatch, gigabytes: int, tokens: int) -> None:
    properties = SimpleNamespace(total_memory=gigabytes << 30)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: properties)
    model = SimpleNamespace(_hf=SimpleNamespace(device=torch.device("cuda")))
    size = BatchSize.of(model)  # type: ignore[arg-type]
    assert size == BatchSize(1024, tokens)
    assert size.groups == 4


def test_a_processor_takes_what_it_took(minilm: el.Model) -> None:
    assert BatchSize.of(minilm) == BatchSize(32, 4096)
    assert BatchSize.of(minilm).groups == 1


@pytest.fixture
def two_groups_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups of four documents, two of them in a batch."""
    for module in (prepare, loop):
        monkeypatch.setattr(module, "GROUP", 4)
    monkeypatch.setattr(BatchSize, "of", classmethod(lambda cls, model: cls(8, 64)))


def _run(model: el.Model, **options: object) -> el.Run:
    return el.analyse(model, TEXTS, [el.statistics.Entropy()], **options)  # type: ignore[arg-type]


@pytest.mark.usefixtures("two_groups_together")
def test_groups_that_are_folded_together_give_the_same_numbers_whether_a_run_is_interrupted_or_not(
    minilm: el.Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = _run(minilm)
    assert whole.facts.counts["documents"] == len(TEXTS)

    steps: list[int] = []

    def stop(progress: Progress) -> None:
        steps.append(progress.done)
        if len(steps) == 3:
            raise StopRequestedError

    with pytest.raises(StopRequestedError):
        _run(minilm, folder=tmp_path, progress=stop)
    monkeypatch.setattr(BatchSize, "of", classmethod(lambda cls, model: cls(1, 32)))  # the run goes on with the batches that it began with
    resumed = _run(minilm, folder=tmp_path, resume=True)
    assert resumed.facts.counts["documents"] == len(TEXTS)
    assert np.array_equal(whole.table("entropy")["all"], resumed.table("entropy")["all"])


def test_the_next_group_is_read_while_a_gpu_works_on_this_one() -> None:
    seen: list[str] = []
    running = Loop.__new__(Loop)
    running.model = SimpleNamespace(_hf=SimpleNamespace(device=torch.device("cuda")))  # type: ignore[assignment]
    running.groups = SimpleNamespace(read=lambda group: seen.append(group[0]) or group)  # type: ignore[assignment]

    def groups() -> Iterator[tuple[int, list[str]]]:
        for number, name in enumerate("abc"):
            yield number, [name]

    given = [(number, read[0]) for number, _, read in running._read_ahead(groups())]  # type: ignore[arg-type, index]
    assert given == [(0, "a"), (1, "b"), (2, "c")]
    assert seen == ["a", "b", "c"]
