"""The texts of one batch, as the statistics see them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch

from eyeline.capture.inputs import send
from eyeline.models import tracing
from eyeline.text.tokenized import TokenizedText

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from eyeline.capture.collect import Sides
    from eyeline.models.model import Model

T = TypeVar("T")
#: The roles that a tokeniser may give to the tokens it adds, in the order in which a token takes its name.
ROLES = ("cls", "sep", "bos", "eos")
#: How many documents make a group; texts are batched by length within a group.
GROUP = 256
#: A batch on a GPU has at most GPU_TEXTS texts, and TOKENS_A_PART tokens for each PART bytes of its memory.
GPU_TEXTS, TOKENS_A_PART, PART = 1024, 8192, 8 << 30


@dataclass(frozen=True)
class Batch:
    """Texts that went through the model together.

    sides   the tokens of each text
    roles   name → token id of the special tokens that this tokeniser adds: cls, sep, bos, eos
    layers  the layers of each stack that count; None: all
    """

    sides: tuple[Sides, ...]
    roles: Mapping[str, int]
    device: torch.device | str = "cpu"
    layers: Mapping[str, tuple[int, ...]] | None = None
    _memo: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)

    def texts(self, stack: str) -> list[tuple[TokenizedText, TokenizedText]]:
        """The query and key texts of a stack."""
        return [side.of(stack) for side in self.sides]

    def lengths(self, stack: str) -> torch.Tensor:
        """The number of queries of each text, float64."""
        return self.once(
            ("lengths", stack),
            lambda: send(np.array([len(queries) for queries, _ in self.texts(stack)], np.float64), self.device),
        )

    def up_to(self, longest: int) -> Batch:
        """The texts of at most `longest` tokens."""
        kept = [i for i, side in enumerate(self.sides) if max(len(side.source), len(side.target or ())) <= longest]
        if len(kept) == len(self.sides):
            return self
        return Batch(tuple(self.sides[i] for i in kept), self.roles, self.device, self.layers)

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """The result of `make`, computed once for the batch: every layer needs the same."""
        if key not in self._memo:
            self._memo[key] = make()
        return self._memo[key]  # type: ignore[no-any-return]


@dataclass(frozen=True)
class BatchSize:
    """The most texts and tokens, padding included, that go through the model together."""

    texts: int
    tokens: int

    @property
    def groups(self) -> int:
        """How many groups of documents a batch may hold: they are read and folded together."""
        return max(1, self.texts // GROUP)

    @classmethod
    def of(cls, model: Model) -> BatchSize:
        """From the total memory of the model's device, not from what is free, so that the same device always gives the same size."""
        device = model.hf.device
        if device.type != "cuda":
            return cls(tracing.BATCH_TEXTS, tracing.BATCH_TOKENS)
        parts = torch.cuda.get_device_properties(device).total_memory // PART
        return cls(GPU_TEXTS, TOKENS_A_PART * max(1, min(16, parts)))

    @classmethod
    def of_run(cls, texts: int | None, tokens: int | None) -> BatchSize:
        """The size with which an interrupted run was started, whose position counts such batches. Earlier versions did not save it."""
        return cls(texts or tracing.BATCH_TEXTS, tokens or tracing.BATCH_TOKENS)


def roles_of(tokenizer: PreTrainedTokenizerBase) -> dict[str, int]:
    """The special tokens that this tokeniser adds to a text, under the name it gives them itself: BERT cls and sep, Llama bos, T5 eos."""
    added = set(tokenizer("a").input_ids) - set(tokenizer("a", add_special_tokens=False).input_ids)
    roles: dict[str, int] = {}
    for role in ROLES:
        number: int | None = getattr(tokenizer, f"{role}_token_id", None)
        if number is not None and number in added and number not in roles.values():
            roles[role] = int(number)
    return roles
