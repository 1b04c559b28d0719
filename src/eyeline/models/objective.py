"""The loss that a model was trained with, where its head came with it: masked or next-token language modelling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch
from transformers import PreTrainedModel

from eyeline.capture.model_state import EvaluationMode
from eyeline.capture.opening.tiny_pass import no_cache
from eyeline.capture.recorder import Call, recording
from eyeline.errors import Advice, ModelError
from eyeline.models.embedded import TOKEN_ANSWERS, names_that_answer

if TYPE_CHECKING:
    from eyeline.models.model import Model

Kind = Literal["masked", "next", "label"]
#: How the name of a class ends → what a model with that head does instead of giving one answer to a text.
OTHER_ANSWERS = {
    "ForTokenClassification": "gives a label to every token",
    "ForQuestionAnswering": "answers with a part of the text, by two positions",
}


@dataclass(frozen=True)
class Objective:
    """A model with its language-modelling head, and what that head predicts."""

    hf: PreTrainedModel
    kind: Kind
    mask_id: int | None


def objective_of(model: Model) -> Objective:
    """The model's own loss. A head that its checkpoint does not hold is an error, never initialised at random."""
    if model.hf.config.is_encoder_decoder:
        raise ModelError(
            f"{model.name} reads one text and writes another.",
            "Importance is measured for encoders with a masked language-modelling head and for decoders.",
        )
    if not model.layout.recorded:  # first of all: another checkpoint of the same family would not help
        raise ModelError(f"No importance of {model.name}: {model.layout.why_weights_only}.", "Its weights cannot be followed by gradients.")
    mask_id = getattr(model.tokenizer, "mask_token_id", None)
    if model.hf.get_output_embeddings() is not None:
        kind: Kind = "masked" if "encoder" in model.layout.stacks else "next"
        return _checked(model, model.hf, kind, mask_id)
    named = ", ".join(model.hf.config.architectures or []) or type(model.hf).__name__
    check_one_answer(model)
    raise ModelError(
        f"{model.name} has no language-modelling head, so it has no loss to take gradients of.",
        f"Its checkpoint holds a {named}.",
        "Use a checkpoint saved as …ForMaskedLM or …ForCausalLM.",
        f"Embedded models with such a head: {names_that_answer(TOKEN_ANSWERS)}.",
    )


def answer_objective_of(model: Model) -> Objective:
    """The model's own loss; of a classifier, whose texts have no labels here, the loss of its own answers."""
    if type(model.hf).__name__.endswith("ForSequenceClassification") and model.layout.recorded:
        check_one_answer(model)
        return Objective(model.hf, "label", None)
    return objective_of(model)


def check_one_answer(model: Model) -> None:
    """Refuse a model whose head gives something other than the probability of one token or label for a text."""
    kind = type(model.hf).__name__
    answers = next((answers for ending, answers in OTHER_ANSWERS.items() if kind.endswith(ending)), None)
    if kind.endswith("ForSequenceClassification") and model.hf.config.num_labels < 2:
        answers = "answers with a number, not with a label"
    if answers is None:
        return
    raise ModelError(
        f"{model.name} {answers}, so there is no single answer whose probability or loss could be measured.",
        "Use a masked or causal language model, or a classifier of whole texts with two or more labels.",
        Advice("What it answers: model.predict(text).", "What it answers: eyeline trace TEXT.", "The page Look shows what it answers."),
    )


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
