"""What a model declares before it is opened: the heads of a layer, its kinds of attention, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eyeline.models.embedded import TOKEN_ANSWERS, embedded

#: What a head answers → the classes of transformers that have such a head.
ANSWERS = {"masked": "AutoModelForMaskedLM", "next": "AutoModelForCausalLM", "label": "AutoModelForSequenceClassification"}


@dataclass(frozen=True)
class Declared:
    """heads: in every layer. answers: "masked", "next", "label"; "other" for other heads, "" for a model without one."""

    heads: int
    stacks: tuple[str, ...]
    answers: str

    @property
    def has_loss(self) -> bool:
        """Whether it has a loss of its own: that of a masked or a causal language model."""
        return self.answers in TOKEN_ANSWERS

    @property
    def has_one_answer(self) -> bool:
        """Whether it gives one token or label, whose probability can be measured."""
        return self.answers in ANSWERS

    def is_comparable(self, other: Declared) -> bool:
        """Whether head L·H of one can be compared with head L·H of the other."""
        return self.heads == other.heads and bool(set(self.stacks) & set(other.stacks))


def declared(source: str) -> Declared | None:
    """What an embedded model or the config.json of a folder declares; None where that is not known without opening the model."""
    if (model := embedded(source)) is not None:
        return Declared(model.heads, model.stacks, model.answers)
    if not (Path(source) / "config.json").is_file():
        return None
    from transformers import AutoConfig

    try:
        return _read(AutoConfig.from_pretrained(source, local_files_only=True, trust_remote_code=False))
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return None  # damaged, or with code of its own: opening it says why


def _read(config: Any) -> Declared | None:
    from eyeline.models.answer.head_class import classes_to_try, is_decoder

    heads = getattr(config.get_text_config(), "num_attention_heads", None)
    if not isinstance(heads, int):
        return None  # layers that differ
    if config.is_encoder_decoder:
        return Declared(heads, ("encoder", "decoder", "cross"), "other")
    kinds = {name: kind for kind, name in ANSWERS.items()} | {"AutoModel": ""}
    answers = kinds.get(next(classes_to_try(config)).__name__, "other")
    if answers == "label" and config.num_labels < 2:
        answers = "other"  # a number
    return Declared(heads, ("decoder",) if is_decoder(config) else ("encoder",), answers)
