"""The loss that a model was trained with, where its head came with it: masked or next-token language modelling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import torch
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, PreTrainedModel
from transformers.utils import logging as transformers_logging

from eyeline.capture.model_state import EvaluationMode
from eyeline.capture.opening.tiny_pass import no_cache
from eyeline.capture.recorder import Call, recording
from eyeline.errors import ModelError

if TYPE_CHECKING:
    from eyeline.models.model import Model

Kind = Literal["masked", "next"]


@dataclass(frozen=True)
class Objective:
    """A model with its language-modelling head, sharing the weights of the model that is looked at."""

    hf: PreTrainedModel
    kind: Kind
    mask_id: int | None


def objective_of(model: Model) -> Objective:
    """The model's own loss. A head that its checkpoint does not hold is never made up: that is an error."""
    if model.hf.config.is_encoder_decoder:
        raise ModelError(
            f"{model.name} reads one text and writes another.",
            "Importance is measured for encoders with a masked language-modelling head and for decoders.",
        )
    if not model.layout.recorded:  # first of all: another checkpoint of the same family would not help
        raise ModelError(f"No importance of {model.name}: {model.layout.why_weights_only}.", "Its weights cannot be followed by gradients.")
    mask_id = getattr(model.tokenizer, "mask_token_id", None)
    if model.hf.get_output_embeddings() is not None:  # wrapped or opened with its head on
        kind: Kind = "masked" if "encoder" in model.layout.stacks else "next"
        return _checked(model, model.hf, kind, mask_id)
    source = model.hf.config.name_or_path
    architectures = model.hf.config.architectures or []
    named = ", ".join(architectures) or type(model.hf).__name__
    decoder = model.layout.stacks == ("decoder",)
    hf = _with_head(AutoModelForCausalLM if decoder else AutoModelForMaskedLM, source, model)
    if hf is not None:
        return _checked(model, hf, "next" if decoder else "masked", mask_id)
    raise ModelError(
        f"{model.name} has no language-modelling head, so it has no loss to take gradients of.",
        f"Its checkpoint holds a {named}.",
        "Use a checkpoint saved as …ForMaskedLM or …ForCausalLM, or wrap such a model: el.wrap(hf, tokenizer).",
    )


def _with_head(auto: Any, source: str, model: Model) -> PreTrainedModel | None:
    """The same checkpoint opened with a head on the weights that we have; None where the head's own weights are not in it."""
    if type(model.hf.config) not in auto._model_mapping or not source:
        return None
    verbosity = transformers_logging.get_verbosity()
    transformers_logging.set_verbosity_error()  # we say ourselves what is missing
    transformers_logging.disable_progress_bar()
    try:
        hf, info = auto.from_pretrained(source, attn_implementation="eager", dtype=model.hf.dtype, output_loading_info=True)
    except (OSError, ValueError, KeyError):
        return None
    finally:
        transformers_logging.set_verbosity(verbosity)
        transformers_logging.enable_progress_bar()
    if info["missing_keys"]:
        return None
    # the base we look at takes the place of the one just read, so that one set of weights is held
    if type(getattr(hf, hf.base_model_prefix, None)) is not type(model.hf):
        return None
    setattr(hf, hf.base_model_prefix, model.hf)
    hf.tie_weights()
    device: Any = model.hf.device  # type: ignore[union-attr]
    return hf.to(device).eval()


def _checked(model: Model, hf: PreTrainedModel, kind: Kind, mask_id: int | None) -> Objective:
    if kind == "masked" and mask_id is None:
        raise ModelError(f"The tokeniser of {model.name} has no mask token.", "Masked language modelling needs one.")
    return Objective(hf, kind, mask_id)


def logits_and_calls(
    objective: Objective, model: Model, inputs: dict[str, torch.Tensor]
) -> tuple[torch.Tensor, dict[tuple[str, int], Call]]:
    """Logits [text, token, vocabulary] and every layer's call: its weights [text, head, query, key] are of one graph with them."""
    calls: dict[tuple[str, int], Call] = {}
    slots = iter(model.layout.calls)

    def keep(call: Call) -> None:
        slot = next(slots, None)
        if slot is not None:
            calls[slot.stack, slot.layer] = call

    with EvaluationMode(objective.hf).for_a_pass(), torch.enable_grad(), recording(keep):
        logits = objective.hf(**inputs, **no_cache(objective.hf)).logits
    return logits, calls
