"""Which class of transformers opens a checkpoint with the head that it holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForQuestionAnswering,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    PretrainedConfig,
)

#: How the name of a class with a head ends → the class that opens such checkpoints.
HEADS = {
    "ForMaskedLM": AutoModelForMaskedLM,
    "ForPreTraining": AutoModelForMaskedLM,
    "ForCausalLM": AutoModelForCausalLM,
    "LMHeadModel": AutoModelForCausalLM,
    "ForSequenceClassification": AutoModelForSequenceClassification,
    "ForTokenClassification": AutoModelForTokenClassification,
    "ForQuestionAnswering": AutoModelForQuestionAnswering,
}


def classes_to_try(config: PretrainedConfig) -> Iterator[Any]:
    """The classes that may open a checkpoint, best first; the last, without a head, opens every one.

    The checkpoint says itself what it holds (`config.architectures`). Where it names no head (GGUF files, bare models), a decoder whose
    output embeddings are its input embeddings has its head all the same.
    """
    if type(config) in AutoModelForSeq2SeqLM._model_mapping and _head_named(config) in (None, AutoModelForMaskedLM):
        yield AutoModelForSeq2SeqLM
    elif (named := _head_named(config)) is not None:
        yield named
    elif is_decoder(config) and getattr(config.get_text_config(), "tie_word_embeddings", False):
        yield AutoModelForCausalLM
    yield AutoModel


def is_decoder(config: PretrainedConfig) -> bool:
    """Whether models of this family only write: each token sees those before it."""
    kind = type(config)
    writes = kind in AutoModelForCausalLM._model_mapping and kind not in AutoModelForMaskedLM._model_mapping
    return writes and not config.is_encoder_decoder


def _head_named(config: PretrainedConfig) -> Any:
    """The class for the head that the checkpoint names, where transformers (or the checkpoint's own code) has one for this family."""
    for name in config.architectures or ():
        for ending, auto in HEADS.items():
            if str(name).endswith(ending) and _has(config, auto):
                return auto
    return None


def _has(config: PretrainedConfig, auto: Any) -> bool:
    own_code = getattr(config, "auto_map", None)
    return auto.__name__ in own_code if own_code else type(config) in auto._model_mapping
