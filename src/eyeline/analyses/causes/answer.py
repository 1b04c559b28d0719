"""The model's answer as one number: the logit of a token or of a label, read at one position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
from transformers import PreTrainedModel

from eyeline.analyses.prepare import tokenizer_of
from eyeline.capture.collect import Sides
from eyeline.capture.inputs import batch_inputs
from eyeline.capture.model_state import EvaluationMode
from eyeline.capture.opening.tiny_pass import no_cache
from eyeline.errors import EyelineError, ModelError, TextError, nearest
from eyeline.models.embedded import names_that_answer
from eyeline.models.model import Model
from eyeline.models.objective import check_one_answer, objective_of
from eyeline.text.tokenized import TokenizedText


@dataclass(frozen=True)
class Answer:
    """The logit that is explained.

    kind      "masked": a token at a [MASK]; "next": the token after the text; "label": a class of the whole text
    index     the row of the logits: a token id or a label number
    position  the token at which the answer is read: the mask, the last token, the token that a classifier reads
    name      the token or the label, as it is shown
    """

    kind: Literal["masked", "next", "label"]
    index: int
    position: int
    name: str

    def logit(self, logits: torch.Tensor) -> torch.Tensor:
        """The answer's logit, of logits [text, token, vocabulary] or [text, label] → [text]"""
        return self.row(logits)[:, self.index]

    def row(self, logits: torch.Tensor) -> torch.Tensor:
        """The logits at the position: [text, vocabulary or label]"""
        return logits if self.kind == "label" else logits[:, self.position]

    def probability(self, logits: torch.Tensor) -> torch.Tensor:
        """[text]"""
        return self.row(logits).float().softmax(-1)[:, self.index]


@dataclass(frozen=True)
class AnsweredText:
    """A text, the model with its head, the tensors that it reads, and the answer that is explained."""

    model: Model
    hf: PreTrainedModel
    sides: Sides
    inputs: dict[str, torch.Tensor]
    answer: Answer

    @property
    def text(self) -> TokenizedText:
        return self.sides.source


def check_one_tower(model: Model) -> None:
    """Refuse encoder-decoder models: their answer is a text, and their three stacks have no common map."""
    if model.hf.config.is_encoder_decoder:
        raise ModelError(
            f"{model.name} reads one text and writes another.", "Attribution is for models with one stack: encoders and decoders."
        )


def text_inputs(model: Model, sides: Sides) -> dict[str, torch.Tensor]:
    """The inputs of one text, as tensors on the device of the model."""
    return batch_inputs(model.hf, [sides], getattr(model.tokenizer, "pad_token_id", None) or 0)


def model_with_head(model: Model) -> PreTrainedModel:
    """The model with the head that its checkpoint holds; a checkpoint without one is an error."""
    if type(model.hf).__name__.endswith(("ForSequenceClassification", "ForMaskedLM", "ForCausalLM", "LMHeadModel")):
        return model.hf
    check_one_answer(model)
    if model.hf.get_output_embeddings() is None:
        held = ", ".join(model.hf.config.architectures or []) or type(model.hf).__name__
        raise ModelError(
            f"{model.name} answers nothing: its checkpoint holds no head ({held}).",
            "Use a checkpoint saved as …ForMaskedLM, …ForCausalLM or …ForSequenceClassification.",
            f"Embedded models that answer: {names_that_answer()}.",
        )
    return objective_of(model).hf


def ask(model: Model, sides: Sides, answer: str | int | None = None) -> AnsweredText:
    """Run a text and choose the answer to explain: the given token or label, or else the model's most likely one."""
    check_one_tower(model)
    hf = model_with_head(model)
    inputs = text_inputs(model, sides)
    with EvaluationMode(hf).for_a_pass(), torch.inference_mode():
        logits: Any = getattr(hf(**inputs, **no_cache(hf)), "logits", None)
    if logits is None:
        raise ModelError(f"{model.name} gives no logits.", "Attribution to an answer needs a language model or a classifier.")
    if not bool(torch.isfinite(logits).all()):
        raise ModelError(
            f"{model.name} answers with numbers that are not finite (nan).", "Its weights are damaged, or its precision is too small."
        )
    if logits.ndim == 2:
        return AnsweredText(model, hf, sides, inputs, _label(model, hf, sides, logits, answer))
    masked = "encoder" in model.layout.stacks
    position = mask_position(model, sides.source) if masked else len(sides.source) - 1
    row = logits[0, position]
    index = int(row.argmax()) if answer is None else token_id(model, answer)
    shown = str(model.tokenizer.decode([index])) if model.tokenizer is not None else str(index)
    return AnsweredText(model, hf, sides, inputs, Answer("masked" if masked else "next", index, position, shown))


def mask_position(model: Model, text: TokenizedText) -> int:
    """The position of the first mask of a text."""
    mask_id = getattr(model.tokenizer, "mask_token_id", None)
    if mask_id is None or mask_id not in text.ids:
        mask = getattr(model.tokenizer, "mask_token", None) or "[MASK]"
        raise TextError(f"No {mask} in the text, so {model.name} has nothing to answer.", f"Write {mask} where a word is to be predicted.")
    return text.ids.index(mask_id)


def token_id(model: Model, answer: str | int) -> int:
    """The id of an answer that is one token; anything else is an error that shows its pieces."""
    if isinstance(answer, int) and not isinstance(answer, bool):
        vocabulary_size = model.hf.get_input_embeddings().weight.shape[0]
        if not 0 <= answer < vocabulary_size:
            raise TextError(f"answer={answer}.", f"Token ids of {model.name} are from 0 to {vocabulary_size - 1}.")
        return answer
    if not isinstance(answer, str) or not answer:
        raise TextError(f"answer={answer!r}.", "Give one token as a string, or its id.")
    tokenizer = tokenizer_of(model, "Give the id of the answer.")
    ids = tokenizer.encode(answer, add_special_tokens=False)
    unknown = getattr(tokenizer, "unk_token_id", None)
    if unknown is not None and ids == [unknown]:
        raise TextError(f"{answer!r} is not in the vocabulary of {model.name}.", "Give a word of the vocabulary, or the id of a token.")
    if len(ids) != 1:
        pieces = tokenizer.convert_ids_to_tokens(ids)
        hint = (
            "Many decoders write a word with the space before it: ' Mary'."
            if "decoder" in model.layout.stacks
            else "Give a word of the vocabulary."
        )
        raise TextError(f"{answer!r} is not one token of {model.name}: {' '.join(map(str, pieces)) or 'nothing'}.", hint)
    return int(ids[0])


def _label(model: Model, hf: PreTrainedModel, sides: Sides, logits: torch.Tensor, answer: str | int | None) -> Answer:
    names = {int(number): str(name) for number, name in (getattr(hf.config, "id2label", None) or {}).items()}
    names = names if len(names) == logits.shape[1] else {i: str(i) for i in range(logits.shape[1])}
    if answer is None:
        index = int(logits[0].argmax())
    elif isinstance(answer, str):
        index = next((number for number, name in names.items() if name == answer), -1)
    else:
        index = -1 if isinstance(answer, bool) else answer
    if index not in names:
        raise EyelineError(f"{model.name} has no label {answer!r}.", nearest(str(answer), names.values()))
    position = 0 if "encoder" in model.layout.stacks else len(sides.source) - 1
    return Answer("label", index, position, names[index])
