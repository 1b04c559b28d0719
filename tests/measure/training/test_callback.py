"""`AttentionCallback`: what it measures is right, it leaves training as it was, and it shows induction heads forming."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as t
from training.induction import repeated

import eyeline as el
from eyeline.errors import EyelineError
from eyeline.look.palette import layer_colour
from tests.measure.causes.trained import LENGTH, TOKENS, untrained
from tests.models.families import tiny_tokenizer

TEXTS = ["the cat sat on the mat .", "it ran home , and the dog purred"]


class Repeats(torch.utils.data.Dataset[dict[str, torch.Tensor]]):
    """Texts that begin to repeat themselves; the loss is on what can be known."""

    def __init__(self, n: int) -> None:
        ids, known = repeated(torch.Generator().manual_seed(0), TOKENS, LENGTH, n)
        self.ids, self.labels = ids, ids.masked_fill(~known, -100)

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {"input_ids": self.ids[index], "labels": self.labels[index]}


class Reporter(t.TrainerCallback):
    """Stands for TensorBoard and the like: it is given what is logged."""

    def __init__(self) -> None:
        self.logs: list[dict[str, float]] = []

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **_: Any) -> None:
        self.logs.append(dict(logs or {}))


def trainer(folder: Path, steps: int, callbacks: list[Any], hf: Any = None, **options: Any) -> t.Trainer:
    torch.manual_seed(0)
    arguments = t.TrainingArguments(
        str(folder), max_steps=steps, per_device_train_batch_size=96, learning_rate=3e-3, weight_decay=0.05, logging_steps=1,
        save_strategy="no", report_to=[], disable_tqdm=True, use_cpu=True, seed=0, warmup_steps=20, **options,
    )  # fmt: skip
    return t.Trainer(hf or untrained(), arguments, train_dataset=Repeats(96 * steps), callbacks=callbacks)


def test_training_is_the_same_with_the_callback_as_without(tmp_path: Path) -> None:
    losses = []
    for callbacks in ([], [el.training.AttentionCallback(TEXTS, every=2, tokenizer=tiny_tokenizer())]):
        training = trainer(tmp_path, 4, callbacks)
        training.model.config.attn_pdrop = 0.1
        training.train()
        losses.append([entry["loss"] for entry in training.state.log_history if "loss" in entry])
        assert training.model.config._attn_implementation == untrained().config._attn_implementation
        assert not training.model._forward_hooks
        weights = torch.cat([parameter.flatten() for parameter in training.model.parameters()])
        losses[-1].append(float(weights.detach().double().sum()))
    assert losses[0] == losses[1]
    assert len(losses[0]) == 5


def test_each_layer_is_logged_to_every_reporter_and_kept_in_folders(tmp_path: Path) -> None:
    reporter = Reporter()
    callback = el.training.AttentionCallback(TEXTS, every=2, folder=tmp_path / "attention", tokenizer=tiny_tokenizer())
    training = trainer(tmp_path / "out", 4, [reporter, callback])
    training.train()
    names = {f"attention/L{layer}/{name}" for layer in (0, 1) for name in ("entropy", "first", "previous", "induction", "max_logit")}
    assert sum(names <= set(logs) for logs in reporter.logs) == 3  # at steps 0, 2 and 4
    assert [entry["step"] for entry in training.state.log_history if names <= set(entry)] == [0, 2, 4]
    assert sorted(path.name for path in (tmp_path / "attention").iterdir()) == ["step-0", "step-2", "step-4"]
    course = el.training.course_of(tmp_path / "attention")
    assert sorted(set(course.table("training")["step"])) == [0, 2, 4]
    measured = el.analyse(el.wrap(training.model, tiny_tokenizer()), TEXTS, [el.statistics.Entropy()]).table("entropy")
    last = course.table("training").where(step=4)
    np.testing.assert_allclose(last["entropy"].astype(float), measured["all"].astype(float), rtol=1e-6)
    figure = el.figure(course, "training")
    assert len(figure.data) == 5 * 2 * untrained().config.n_head
    assert [line.name for line in figure.data if line.showlegend] == ["0", "1"]
    assert {(line.legendgroup, line.line.color) for line in figure.data} == {(str(layer), layer_colour(layer, 2)) for layer in (0, 1)}
    assert figure.layout.legend.title.text == "layer"


@pytest.mark.slow
def test_induction_heads_are_seen_forming(tmp_path: Path) -> None:
    callback = el.training.AttentionCallback(TEXTS, every=100, tokenizer=tiny_tokenizer())
    training = trainer(tmp_path, 600, [callback])
    training.train()
    assert callback.run is not None
    table = callback.run.table("training")
    best = [max(table.where(step=step)["induction"].astype(float)) for step in (0, 600)]
    losses = [entry["loss"] for entry in training.state.log_history if "loss" in entry]
    assert best[0] < 0.1
    assert best[1] > 0.4
    assert losses[-1] < 0.5 * losses[0]


def test_a_callback_that_measures_never_is_refused() -> None:
    with pytest.raises(EyelineError, match="every=0"):
        el.training.AttentionCallback(TEXTS, every=0)


def test_a_callback_that_is_added_later_reports_too(tmp_path: Path) -> None:
    reporter = Reporter()
    training = trainer(tmp_path, 1, [reporter])
    training.add_callback(el.training.AttentionCallback(TEXTS, tokenizer=tiny_tokenizer()))
    training.train()
    assert any("attention/L0/entropy" in logs for logs in reporter.logs)
