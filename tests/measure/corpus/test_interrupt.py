"""Ctrl-C in Python, as in a notebook: what was measured is kept, and the run goes on from there to the same numbers."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import eyeline as el
from eyeline.errors import StorageError
from eyeline.measure.statistics.loop import FILE
from tests.laws.statistics import new_tiny_model, tiny_model

TEXTS = [f"the cat sat on the mat . {'a dog ran ' * (i % 5)}" for i in range(96)]


class Interrupting(el.statistics.Entropy):
    """Presses Ctrl-C in the middle of a batch, where the sums are not whole."""

    pressed = False

    def update(self, *given, **options):
        super().update(*given, **options)
        if not Interrupting.pressed:
            Interrupting.pressed = True
            os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture(autouse=True)
def python_handles_interrupts() -> Iterator[None]:
    """As in a terminal: a process that was started in the background ignores Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def table(run: el.Run) -> str:
    return run.table("entropy").to_csv()


def test_an_interrupt_keeps_whole_batches_and_resume_goes_on_to_the_same_numbers(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(Interrupting, "pressed", False)
    model, handler = tiny_model(), signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        el.analyse(model, TEXTS, [Interrupting()], folder=tmp_path / "run")
    assert signal.getsignal(signal.SIGINT) is handler
    assert (tmp_path / "run" / FILE).is_file(), "the sums are kept"
    with pytest.raises(StorageError, match="unfinished"):
        el.analyse(model, TEXTS, [Interrupting()], folder=tmp_path / "run")
    resumed = el.analyse(model, TEXTS, [Interrupting()], folder=tmp_path / "run", resume=True)
    assert table(resumed) == table(el.analyse(model, TEXTS, [Interrupting()]))


def test_an_interrupted_run_is_not_resumed_with_a_model_that_has_changed(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(Interrupting, "pressed", False)
    model = new_tiny_model()
    with pytest.raises(KeyboardInterrupt):
        el.analyse(model, TEXTS, [Interrupting()], folder=tmp_path / "run")
    next(model.hf.parameters()).data.mul_(2)
    with pytest.raises(StorageError, match=r"(?s)its weights have changed.*earlier version of eyeline"):
        el.analyse(model, TEXTS, [Interrupting()], folder=tmp_path / "run", resume=True)
