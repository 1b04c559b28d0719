"""Attention while a model trains: a callback for transformers' Trainer."""

from __future__ import annotations

import inspect
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers import PrinterCallback, TrainerCallback
from transformers.trainer_callback import CallbackHandler, ProgressCallback

from eyeline.errors import EyelineError
from eyeline.measure.corpus.average_attention import AverageAttention
from eyeline.measure.corpus.entropy import Entropy
from eyeline.measure.corpus.head_scores import HeadScores
from eyeline.measure.corpus.max_logit import MaxLogit
from eyeline.measure.corpus.run import analyse
from eyeline.measure.runs.run import Run, open_run
from eyeline.measure.runs.table import Table
from eyeline.measure.statistics.statistic import Statistic
from eyeline.measure.training.result import MEASURES, TABLE
from eyeline.models.evaluation import borrowed_implementation
from eyeline.models.model import Model
from eyeline.text.corpora.corpus import Corpus

if TYPE_CHECKING:
    from transformers import PreTrainedModel, TrainerControl, TrainerState, TrainingArguments

#: Callbacks that print what is logged: sixty numbers would bury the loss.
PRINTING = (PrinterCallback, ProgressCallback)


class AttentionCallback(TrainerCallback):  # type: ignore[misc]  # transformers gives it no type
    """Measures the attention of a model while transformers' Trainer trains it.

        trainer = Trainer(…, callbacks=[AttentionCallback(texts, every=500, folder="attention")])

    At the beginning, every `every` steps and at the end, these texts go through the model in evaluation mode, without gradients. Model,
    mode, random state and attention function are as before. For each layer the means over heads are logged to whatever the Trainer
    reports to: `attention/L3/entropy`, `first` (the share of the first token), `previous`, `induction` (of decoders: on random tokens,
    twice) and `max_logit` (the largest score before the softmax, over all heads).

    texts        strings, pairs, lists of words or conversations; a few dozen are enough
    every        steps between two measurements
    statistics   further ones, for the run folders
    folder       a run for each measurement goes to folder/step-500 …; the table `training` of each holds the whole course so far,
                 and `el.figure(run, "training")` draws it
    """

    def __init__(
        self,
        texts: Sequence[Any],
        every: int = 500,
        statistics: Sequence[Statistic] = (),
        folder: str | Path | None = None,
        tokenizer: Any = None,
    ) -> None:
        if every < 1:
            raise EyelineError(f"every={every}.", "Measure every step (1) or less often.")
        self.corpus = Corpus.of(texts)
        self.every, self.folder, self.tokenizer = every, None if folder is None else Path(folder), tokenizer
        self.statistics = [AverageAttention(), Entropy(), MaxLogit(), HeadScores(), *statistics]
        self.rows: list[dict[str, Any]] = []
        self.seconds = 0.0
        self.run: Run | None = None
        self._model: Model | None = None
        self._handler: CallbackHandler | None = None
        self._measured_at = -1

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        self._handler = _handler_of(self)
        tokenizer = self.tokenizer or kwargs.get("processing_class")
        hf: PreTrainedModel = kwargs["model"]
        with borrowed_implementation(hf, hf.config._attn_implementation or "eager"):  # opening leaves its own function in the model
            self._model = Model(hf, tokenizer, name=hf.name_or_path or type(hf).__name__)
        self._measure(args, state, control)

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        if state.global_step % self.every == 0:
            self._measure(args, state, control)

    def on_train_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        self._measure(args, state, control)

    def _measure(self, args: TrainingArguments, state: TrainerState, control: TrainerControl) -> None:
        if self._model is None or state.global_step == self._measured_at or not state.is_world_process_zero:
            return
        self._measured_at, begun = state.global_step, time.perf_counter()
        layout = self._model.layout
        devices = [self._model._hf.device.index or 0] if self._model._hf.device.type == "cuda" else []
        with torch.random.fork_rng(devices=devices), borrowed_implementation(self._model._hf, layout.implementation, force=layout.forced):
            run = analyse(self._model, self.corpus, self.statistics)
            scores = _scores(self._model, run)
        self.rows += [{"step": state.global_step, **row} for row in scores]
        self.run = Run(run.facts, {**run.tables, TABLE: Table.from_rows(self.rows)}, run.example)
        if self.folder is not None:
            self.run.save(self.folder / f"step-{state.global_step}")
        self.seconds += time.perf_counter() - begun
        logs = _by_layer(scores)
        state.log_history.append({**logs, "step": state.global_step})
        for other in self._handler.callbacks if self._handler is not None else ():
            if other is not self and not isinstance(other, PRINTING):
                other.on_log(args, state, control, logs=dict(logs), model=self._model._hf)


def _handler_of(callback: TrainerCallback) -> CallbackHandler | None:
    """What calls the callbacks of the Trainer, the one that reports among them. transformers does not hand it to them: it is the caller."""
    frame = inspect.currentframe()
    while frame is not None:
        handler = frame.f_locals.get("self")
        if isinstance(handler, CallbackHandler) and callback in handler.callbacks:
            return handler
        frame = frame.f_back
    return None


def _by_layer(scores: Sequence[dict[str, Any]]) -> dict[str, float]:
    """What is logged: of each layer the mean over its heads, of the largest score the largest."""
    layers = dict.fromkeys((row["stack"], row["layer"]) for row in scores)
    several = len({stack for stack, _ in layers}) > 1
    logs = {}
    for stack, layer in layers:
        name = f"attention/{f'{stack}/' if several else ''}L{layer}"
        for measure in MEASURES:
            numbers = [row[measure] for row in scores if (row["stack"], row["layer"]) == (stack, layer)]
            if not np.isnan(numbers).all():
                logs[f"{name}/{measure}"] = float(np.max(numbers) if measure == "max_logit" else np.nanmean(numbers))
    return logs


def _scores(model: Model, run: Run) -> list[dict[str, Any]]:
    """A row for each head: stack, layer, head, and the measures; nan where a head has no such number."""
    (only, *_) = model.layout.stacks  # tables of a model with one stack do not name it

    def key_of(row: dict[str, Any]) -> tuple[str, int, int]:
        return str(row.get("stack", only)), int(row["layer"]), int(row["head"])

    entropies = {key_of(row): row["all"] for row in run.table("entropy").rows()}
    shares = {(*key_of(row), row["target"]): row["mean"] for row in run.table("average_attention").rows()}
    largest, inductions = (
        {key_of(row): row[column] for row in run.table(name).rows()} if name in run.tables else {}
        for name, column in (("max_logit", "max_logit"), ("head_scores", "induction"))
    )
    rows = []
    for key, entropy in entropies.items():
        stack, layer, head = key
        measures = {
            "entropy": float(entropy),
            "first": float(shares.get((*key, "first"), np.nan)),
            "previous": float(shares.get((*key, "previous"), np.nan)),
            "induction": float(inductions.get(key, np.nan)),
            "max_logit": float(largest.get(key, np.nan)),
        }
        rows.append({"stack": stack, "layer": layer, "head": head, **measures})
    return rows


def course_of(folder: str | Path) -> Run:
    """The run of the last step in a folder that the callback wrote: its table holds the whole course."""
    steps = [(int(path.name.removeprefix("step-")), path) for path in Path(folder).glob("step-*") if path.name[5:].isdigit()]
    if not steps:
        raise EyelineError(f"{folder}: no step was measured here.", "Give the folder of an AttentionCallback.")
    return open_run(max(steps)[1])
