"""What `AttentionCallback` costs a training run: one measurement against the steps between two of them, in one run on this machine.

    python -m benchmarks.cost.training [--every 500] [-o benchmarks/cost/training.json]

A decoder is trained by transformers' Trainer; a measurement is made after every few steps, so that steps and measurements alternate.
share: seconds of a measurement / (seconds of a step · every). Processor time, medians; target: at most 1 % at every=500.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
import transformers as t
from tests.models.families import tiny_tokenizer

import eyeline as el
from benchmarks.output import give

#: Layers, heads and hidden size of what is trained; texts in a batch and tokens in a text.
SHAPES = ((4, 4, 128, 16, 128), (12, 6, 384, 4, 256))

TEXTS = ["the cat sat on the mat and purred .", "the dog ran a very long way home .", "it sat on the mat , and the dog ran ."] * 8


class RandomTokens(torch.utils.data.Dataset):
    def __init__(self, tokens: int) -> None:
        self.tokens = tokens

    def __len__(self) -> int:
        return 10_000

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        ids = torch.randint(4, 60, (self.tokens,), generator=torch.Generator().manual_seed(index))
        return {"input_ids": ids, "labels": ids}


class Clock(t.TrainerCallback):
    """The processor's seconds of each step, without the measurements, which are made after the end of a step."""

    def __init__(self) -> None:
        self.steps: list[float] = []
        self.begun = 0.0

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        self.begun = time.process_time()

    def on_step_end(self, *_: Any, **__: Any) -> None:
        self.steps.append(time.process_time() - self.begun)


class TimedCallback(el.training.AttentionCallback):
    """With the processor's seconds of each measurement."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.each: list[float] = []

    def _measure(self, *args: Any) -> None:
        begun, rows = time.process_time(), len(self.rows)
        super()._measure(*args)
        if len(self.rows) > rows:
            self.each.append(time.process_time() - begun)


def measured(shape: tuple[int, int, int, int, int], every: int, steps: int = 6) -> dict[str, Any]:
    layers, heads, hidden, batch, tokens = shape
    torch.manual_seed(0)
    config = t.GPT2Config(
        n_layer=layers, n_head=heads, n_embd=hidden, vocab_size=1024, n_positions=512, bos_token_id=1, eos_token_id=2, pad_token_id=0
    )
    clock, callback = Clock(), TimedCallback(TEXTS, every=2, tokenizer=tiny_tokenizer())
    with tempfile.TemporaryDirectory() as folder:
        arguments = t.TrainingArguments(
            folder, max_steps=steps, per_device_train_batch_size=batch, save_strategy="no", report_to=[], disable_tqdm=True,
            use_cpu=not torch.cuda.is_available(), logging_steps=1000,
        )  # fmt: skip
        t.Trainer(t.GPT2LMHeadModel(config), arguments, train_dataset=RandomTokens(tokens), callbacks=[clock, callback]).train()
    step, measurement = statistics.median(clock.steps), statistics.median(callback.each[1:])
    return {
        "layers": layers, "heads": heads, "hidden": hidden, "tokens_in_a_batch": batch * tokens, "step_s": step,
        "measurement_s": measurement, "first_measurement_s": callback.each[0], "every": every, "share": measurement / (step * every),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=500)
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    give({"training": [measured(shape, arguments.every) for shape in SHAPES]}, arguments.output)


if __name__ == "__main__":
    main()
