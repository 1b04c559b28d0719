"""What a model declares before it is opened: the heads of a layer, its kinds of attention, what it answers, and the class that opens it.

The app asks this before any model is open, so transformers is imported only where it is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyeline.look.answer import ONE_ANSWER, TOKEN_ANSWERS, AnswerKind
from eyeline.look.embedded import embedded
from eyeline.models.claims import check_claims

if TYPE_CHECKING:
    from transformers import PretrainedConfig


@dataclass(frozen=True)
class Declared:
    """heads: in every layer. answers: None for a model without a head, and for other heads."""

    heads: int
    stacks: tuple[str, ...]
    answers: AnswerKind | None

    @property
    def has_loss(self) -> bool:
        """Whether it has a loss of its own: that of a masked or a causal language model."""
        return self.answers in TOKEN_ANSWERS and len(self.stacks) == 1

    @property
    def has_one_answer(self) -> bool:
        """Whether it gives one token or label, whose probability can be measured."""
        return self.answers in ONE_ANSWER and len(self.stacks) == 1

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

    options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    try:
        check_claims(source, source, options)
        return _read(AutoConfig.from_pretrained(source, **options))
    except Exception:  # noqa: BLE001 - damaged, or with code of its own: opening it says why
        return None


def _read(config: Any) -> Declared | None:
    heads = getattr(config.get_text_config(), "num_attention_heads", None)
    if not isinstance(heads, int):
        return None  # layers that differ
    answers = _answers_of(next(classes_to_try(config)).__name__, config)
    if config.is_encoder_decoder:
        return Declared(heads, ("encoder", "decoder", "cross"), answers)
    return Declared(heads, ("decoder",) if is_decoder(config) else ("encoder",), answers)


# ---- The head of a checkpoint: how its class is named, which class of transformers opens it, and what it answers


#: How the name of a class with a head ends → the class that opens such checkpoints.
HEADS = {
    "ForMaskedLM": "AutoModelForMaskedLM",
    "ForPreTraining": "AutoModelForMaskedLM",
    "ForCausalLM": "AutoModelForCausalLM",
    "LMHeadModel": "AutoModelForCausalLM",
    "ForSequenceClassification": "AutoModelForSequenceClassification",
    "ForTokenClassification": "AutoModelForTokenClassification",
    "ForQuestionAnswering": "AutoModelForQuestionAnswering",
}

#: A class that opens checkpoints → what their head answers.
ANSWERS: dict[str, AnswerKind] = {
    "AutoModelForMaskedLM": "masked",
    "AutoModelForCausalLM": "next",
    "AutoModelForSeq2SeqLM": "next",
    "AutoModelForSequenceClassification": "label",
    "AutoModelForTokenClassification": "labels",
    "AutoModelForQuestionAnswering": "span",
}


def _answers_of(opener: str, config: PretrainedConfig) -> AnswerKind | None:
    answers = ANSWERS.get(opener)
    return "number" if answers == "label" and config.num_labels < 2 else answers


def answers_of_class(name: str, config: PretrainedConfig) -> AnswerKind | None:
    """What a model of this class answers, by the name of the class; None where the name says of no head that we know."""
    return next((_answers_of(opener, config) for ending, opener in HEADS.items() if name.endswith(ending)), None)


def classes_to_try(config: PretrainedConfig) -> Iterator[Any]:
    """The classes that may open a checkpoint, best first; the last, without a head, opens every one.

    The checkpoint says itself what it holds (`config.architectures`). Where it names no head (GGUF files, bare models), a decoder whose
    output embeddings are its input embeddings has its head all the same.
    """
    from transformers import AutoModel, AutoModelForCausalLM, AutoModelForMaskedLM, AutoModelForSeq2SeqLM

    if type(config) in AutoModelForSeq2SeqLM._model_mapping and _head_named(config) in (None, AutoModelForMaskedLM):
        yield AutoModelForSeq2SeqLM
    elif (named := _head_named(config)) is not None:
        yield named
    elif is_decoder(config) and getattr(config.get_text_config(), "tie_word_embeddings", False):
        yield AutoModelForCausalLM
    yield AutoModel


def is_decoder(config: PretrainedConfig) -> bool:
    """Whether models of this family only write: each token sees those before it."""
    from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

    kind = type(config)
    writes = kind in AutoModelForCausalLM._model_mapping and kind not in AutoModelForMaskedLM._model_mapping
    return writes and not config.is_encoder_decoder


def _head_named(config: PretrainedConfig) -> Any:
    """The class for the head that the checkpoint names, where transformers (or the checkpoint's own code) has one for this family."""
    import transformers

    for name in config.architectures or ():
        for ending, class_name in HEADS.items():
            auto = getattr(transformers, class_name)
            if str(name).endswith(ending) and _has(config, auto):
                return auto
    return None


def _has(config: PretrainedConfig, auto: Any) -> bool:
    own_code = getattr(config, "auto_map", None)
    return auto.__name__ in own_code if own_code else type(config) in auto._model_mapping
