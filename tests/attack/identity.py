"""Models that are changed behind the back of torch, of the cache, of a run and of its workers."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eyeline as el
from eyeline.measure.engines.worker import assignment_by_name
from eyeline.models.identity import weights_identity
from tests.attack.family import Family
from tests.models.changed import AROUND, CHANGES, HANDED_OUT, TEXT, NoWork, bert, today, with_adapter
from tests.models.families import BY_NAME, tiny_tokenizer

#: Families whose every tensor is changed: different sizes, buffers and types.
MODELS = ("bert", "gpt2", "llama", "t5", "modernbert", "whisper")


def attack_identity(folder: Path) -> list[Family]:
    """Every tensor of several models; every way around the cache of traces; resumed runs and workers."""
    return [attack_weights(), attack_kept(folder / "kept"), attack_around(folder / "around"), attack_reuse(folder / "reuse")]


def attack_weights() -> Family:
    """One bit, two rows exchanged, +2 −4 +2 on neighbours, two signs: written through .data and through NumPy."""
    family = Family("every tensor of a model changed where torch does not count it", "another identity of the weights")
    models = {"adapter": with_adapter(), **{name: BY_NAME[name].model() for name in MODELS}}
    for name, hf in models.items():
        before = weights_identity(hf)
        for tensor_name, tensor in (*hf.named_parameters(), *hf.named_buffers()):
            if tensor.nbytes < 32 or tensor.nbytes % 8:
                continue
            kept = tensor.detach().clone()
            for change in CHANGES:
                change(tensor)
                family.check(f"{name}, {tensor_name}, {change.__name__}", lambda hf=hf, old=before: _differs(weights_identity(hf), old))
                tensor.data.copy_(kept)
        family.check(f"{name}, put back", lambda hf=hf, old=before: None if weights_identity(hf) == old else "another identity")
    return family


def _differs(identity: str, before: str) -> str | None:
    return None if identity != before else "the same identity"


def _save(folder: Path) -> Path:
    bert().save_pretrained(folder / "model")
    tiny_tokenizer().save_pretrained(folder / "model")
    return folder / "model"


def attack_kept(folder: Path) -> Family:
    """A model with traces on disk is changed through what it hands out."""
    family = Family("models with traces on disk, changed", "the trace of the model as it is now")
    path = _save(folder)
    for number, change in enumerate(HANDED_OUT):
        model = el.load(path, cache=folder / str(number))
        model.trace(TEXT)

        def attack(model: el.Model = model, change: Callable[[el.Model], None] = change) -> str | None:
            change(model)
            return None if np.array_equal(model.trace(TEXT).weights, today(model)) else "the old trace came back"

        family.check(change.__name__, attack)
    return family


def attack_around(folder: Path) -> Family:
    """Autocast, hooks on every module, replaced functions and another default precision, with and without a trace on disk."""
    family = Family(
        "passes within autocast, hooks and replaced functions", "the trace as it is now, said in its facts; nothing of it on disk"
    )
    path = _save(folder)
    expected = el.load(path).trace(TEXT)
    for around, name in AROUND:
        for first in (False, True):

            def attack(around: Any = around, cache: Path = folder / f"{name} {first}", first: bool = first) -> str | None:
                if first:
                    el.load(path, cache=cache).trace(TEXT)
                with pytest.MonkeyPatch.context() as patch, around(patch):
                    changed, plain = el.load(path, cache=cache).trace(TEXT), el.load(path).trace(TEXT)
                if not np.array_equal(changed.weights, plain.weights) or "context" not in changed.about:
                    return "the trace is not that of the pass, or does not say what was around it"
                again = el.load(path, cache=cache).trace(TEXT)
                return None if np.array_equal(again.weights, expected.weights) else "the disk was poisoned"

            family.check(f"{name}, {'after' if first else 'before'} a plain trace", attack)
    return family


def attack_reuse(folder: Path) -> Family:
    """A run is resumed, a worker is started, and a trace is patched in, with a model that has changed since."""
    family = Family("changed models in resumed runs, workers, patches", "our error")
    path = _save(folder)
    for name, rows in (("one bit", None), ("query rows", slice(0, 8)), ("one embedding", None)):
        model = el.load(path)
        trace = model.trace(TEXT)
        run = folder / name
        el.analyse(model, [TEXT, "a dog ran home"], [el.statistics.Entropy()], folder=run)
        weight = model.hf.embeddings.word_embeddings.weight if rows is None else model.hf.encoder.layer[0].attention.self.query.weight
        if name == "one bit":
            weight.detach().numpy().view(np.uint8)[7, 3] ^= 1
        else:
            weight.data[rows or 9] = 0
        family.check(f"{name}: resumed", lambda model=model, run=run: _runs(model, run))
        family.check(f"{name}: a worker", lambda model=model: pickle.loads(assignment_by_name(NoWork(), model)).open(None) and "opened")
        family.check(f"{name}: a patch", lambda model=model, trace=trace: _patches(model, trace))
    return family


def _runs(model: el.Model, run: Path) -> str:
    el.analyse(model, [TEXT, "a dog ran home"], [el.statistics.Entropy()], folder=run, resume=True)
    return "the run went on"


def _patches(model: el.Model, trace: el.Trace) -> str:
    model.trace(TEXT, interventions=el.Patch(trace, [(0, 1)]))
    return "the patch was made"
