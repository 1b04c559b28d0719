"""What a model computes from its attention, as one number that has a gradient: the loss it was trained with, or the logit of one answer."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from eyeline.errors import Advice, EyelineError, ModelError, TextError, nearest
from eyeline.look.answer import ONE_ANSWER, TOKEN_ANSWERS, AnswerKind
from eyeline.look.embedded import names_that_answer
from eyeline.messages import Message
from eyeline.models.attention import AttentionCall, following_gradients, recording
from eyeline.models.evaluation import evaluating, no_cache
from eyeline.models.inputs import Example, batch_inputs
from eyeline.models.layout import CallsOfPass
from eyeline.models.model import Model
from eyeline.models.opening import tiny_inputs
from eyeline.models.passes import model_errors
from eyeline.text.tokenized import TokenizedText

#: What a model does instead of giving one token or label as its answer to a text (`refusal.no_answer`).
OTHER_ANSWERS: dict[AnswerKind, str] = {
    "labels": "many_labels",
    "span": "part_of_text",
    "number": "a_number",
}


@dataclass(frozen=True)
class Objective:
    """A model with its language-modelling head, and what that head predicts."""

    hf: PreTrainedModel
    kind: AnswerKind
    mask_id: int | None


def objective_of(model: Model) -> Objective:
    """The model's own loss. A head that its checkpoint does not hold is an error, never initialised at random."""
    if model._hf.config.is_encoder_decoder:
        raise ModelError(
            Message("refusal.two_texts", model=model.name),
            Message("refusal.two_texts_help"),
        )
    if not model.layout.recorded:  # first of all: another checkpoint of the same family would not help
        raise ModelError(
            Message("refusal.no_vectors", model=model.name, reason=model.layout.why_weights_only), Message("refusal.no_vectors_help")
        )
    mask_id = getattr(model._tokenizer, "mask_token_id", None)
    if model.answers in TOKEN_ANSWERS:
        if model.answers == "masked" and mask_id is None:
            raise ModelError(Message("refusal.no_mask", model=model.name), Message("refusal.no_mask_help"))
        return Objective(model._hf, model.answers, mask_id)
    named = ", ".join(model._hf.config.architectures or []) or type(model._hf).__name__
    check_one_answer(model)
    raise ModelError(
        Message("refusal.no_head", model=model.name),
        Message("refusal.no_head_checkpoint", name=named),
        Message("refusal.no_head_help"),
        Message("refusal.embedded_help", names=names_that_answer(TOKEN_ANSWERS)),
    )


def answer_objective_of(model: Model) -> Objective:
    """The model's own loss; of a classifier, whose texts have no labels here, the loss of its own answers."""
    if model.answers in ("label", "number") and model.layout.recorded:
        check_one_answer(model)
        return Objective(model._hf, "label", None)
    return objective_of(model)


def has_answer_objective(model: Model) -> bool:
    """Whether `answer_objective_of` gives one: the model has an answer whose loss can be measured."""
    try:
        answer_objective_of(model)
    except ModelError:
        return False
    return True


def check_one_answer(model: Model) -> None:
    """Refuse a model whose head gives something other than the probability of one token or label for a text."""
    if model.answers is None or model.answers in ONE_ANSWER:
        return
    raise ModelError(
        Message(f"refusal.no_answer.{OTHER_ANSWERS[model.answers]}", model=model.name),
        Message("refusal.single_answer_help"),
        Advice(Message("refusal.answer_help"), "What it answers: eyeline trace TEXT.", Message("refusal.advice.answers")),
    )


def logits_and_calls(
    model: Model, inputs: dict[str, torch.Tensor], at: torch.Tensor | None
) -> tuple[torch.Tensor, dict[tuple[str, int], AttentionCall]]:
    """Logits at these positions [text, position, vocabulary] and every layer's call: its weights [text, head, query, key] are of one graph
    with them."""
    check_gradients(model._hf, model.name)
    calls: dict[tuple[str, int], AttentionCall] = {}
    counted = CallsOfPass(model.layout)

    def keep(call: AttentionCall) -> None:
        slot = counted.next_slot()
        if slot is not None:
            calls[slot.stack, slot.layer] = call

    with model_errors(model._hf, model.name, inputs), evaluating(model._hf), following_gradients(model._hf):
        with recording(keep):
            result = model._body(**inputs, **no_cache(model._body))
        logits = model._passes.head(result, inputs, at).logits
    counted.check(model.name, inputs)
    return logits, calls


def tokenizer_of(model: Model, advice: str) -> PreTrainedTokenizerBase:
    """The tokeniser of a model; a model without one is an error. advice: what needs it, or what to give instead."""
    if model._tokenizer is None:
        raise ModelError(f"{model.name} has no tokeniser.", advice)
    return model._tokenizer


def check_gradients(hf: PreTrainedModel, name: str) -> None:
    """Refuse a quantised model some of whose modules stop gradients: what came out would be the gradient of another model."""
    if not getattr(hf, "is_quantized", False) and not any(map(is_traceable_wrapper_subclass, hf.parameters())):
        return
    stopping: set[str] = set()

    def follow(module: torch.nn.Module, args: tuple[Any, ...], output: Any) -> None:
        entered = any(isinstance(value, torch.Tensor) and value.requires_grad for value in args)
        if entered and isinstance(output, torch.Tensor) and output.is_floating_point() and not output.requires_grad:
            stopping.add(type(module).__name__)

    inputs = tiny_inputs(hf, None)
    table = hf.get_input_embeddings()
    handles = [table.register_forward_hook(lambda _module, _args, output: output.detach().requires_grad_())]
    handles += [module.register_forward_hook(follow) for module in hf.modules() if next(module.parameters(recurse=False), None) is not None]
    try:
        with model_errors(hf, name, inputs), evaluating(hf), torch.enable_grad():
            hf(**inputs, **no_cache(hf))
    finally:
        for handle in handles:
            handle.remove()
    if stopping:
        raise ModelError(
            f"Gradients do not pass through {', '.join(sorted(stopping))}, the quantised layers of {name}.",
            "What needs gradients cannot be computed for it: open the model in bf16, or quantised in another way.",
        )


def check_takes_vectors(hf: PreTrainedModel, name: str) -> None:
    """Refuse a model that cannot be given token embeddings in place of tokens, or has no gradients for them."""
    check_gradients(hf, name)
    takes = inspect.signature(hf.forward).parameters
    if "inputs_embeds" not in takes and not any(parameter.kind is parameter.VAR_KEYWORD for parameter in takes.values()):
        raise ModelError(f"{name} reads numbers of tokens alone: it takes no embeddings (inputs_embeds), which this measurement changes.")


# ---- The logit of a token or of a label, read at one position


@dataclass(frozen=True)
class Answer:
    """The logit that is explained.

    kind      what it is: a token at a mask, the token after the text, or a label of the whole text
    index     the row of the logits: a token id or a label number
    position  the token at which the answer is read: the mask, the last token, the token that a classifier reads
    name      the token or the label, as it is shown
    """

    kind: AnswerKind
    index: int
    position: int
    name: str

    def logit(self, logits: torch.Tensor) -> torch.Tensor:
        """The answer's logit, of logits [text, token, vocabulary] or [text, label] → [text]"""
        return self.row(logits)[:, self.index]

    def row(self, logits: torch.Tensor) -> torch.Tensor:
        """The logits at the position: [text, vocabulary or label]"""
        return logits if self.kind == "label" else logits[:, self.position]

    def at(self, n_texts: int) -> torch.Tensor | None:
        """The one position at which a language model's head has to run, [text, 1]; None: a classifier's head reads the whole text."""
        return None if self.kind == "label" else torch.full((n_texts, 1), self.position)

    def row_at(self, logits: torch.Tensor) -> torch.Tensor:
        """The same row, of logits that were computed at that position alone: [text, 1, vocabulary] or [text, label]"""
        return logits if self.kind == "label" else logits[:, 0]

    def probability(self, logits: torch.Tensor) -> torch.Tensor:
        """[text]"""
        return self.row(logits).float().softmax(-1)[:, self.index]


@dataclass(frozen=True)
class AnsweredText:
    """A text, the model with its head, the tensors that it reads, and the answer that is explained."""

    model: Model
    hf: PreTrainedModel
    example: Example
    inputs: dict[str, torch.Tensor]
    answer: Answer

    @property
    def text(self) -> TokenizedText:
        return self.example.source


def ask(model: Model, example: Example, answer: str | int | None = None) -> AnsweredText:
    """Run a text and choose the answer to explain: the given token or label, or else the model's most likely one."""
    check_one_tower(model)
    hf = model_with_head(model)
    inputs = text_inputs(model, example)
    with model_errors(hf, model.name, inputs), evaluating(hf), torch.inference_mode():
        logits: Any = getattr(hf(**inputs, **no_cache(hf)), "logits", None)
    if logits is None:
        raise ModelError(Message("refusal.no_logits", model=model.name), Message("refusal.no_logits_help"))
    if not bool(torch.isfinite(logits).all()):
        raise ModelError(Message("refusal.answer_not_finite", model=model.name), Message("refusal.damaged"))
    if logits.ndim == 2:
        return AnsweredText(model, hf, example, inputs, _label(model, hf, example, logits, answer))
    masked = "encoder" in model.layout.stacks
    position = mask_position(model, example.source) if masked else len(example.source) - 1
    row = logits[0, position]
    index = int(row.argmax()) if answer is None else token_id(model, answer)
    shown = str(model._tokenizer.decode([index])) if model._tokenizer is not None else str(index)
    return AnsweredText(model, hf, example, inputs, Answer("masked" if masked else "next", index, position, shown))


def check_one_tower(model: Model) -> None:
    """Refuse encoder-decoder models: their answer is a text, and their three stacks have no common map."""
    if model._hf.config.is_encoder_decoder:
        raise ModelError(Message("refusal.two_texts", model=model.name), Message("refusal.one_stack"))


def text_inputs(model: Model, example: Example) -> dict[str, torch.Tensor]:
    """The inputs of one text, as tensors on the device of the model."""
    return batch_inputs(model._hf, [example], getattr(model._tokenizer, "pad_token_id", None) or 0)


def model_with_head(model: Model) -> PreTrainedModel:
    """The model with the head that its checkpoint holds; a checkpoint without one is an error."""
    if model.answers in (*ONE_ANSWER, "number") and not model._hf.config.is_encoder_decoder:
        return model._hf
    check_one_answer(model)
    if model.answers is None:
        held = ", ".join(model._hf.config.architectures or []) or type(model._hf).__name__
        raise ModelError(
            Message("refusal.answers_nothing", model=model.name, held=held),
            Message("refusal.answering_checkpoint"),
            Message("refusal.embedded_that_answer", names=names_that_answer()),
        )
    return objective_of(model).hf


def mask_position(model: Model, text: TokenizedText) -> int:
    """The position of the first mask of a text."""
    mask_id = getattr(model._tokenizer, "mask_token_id", None)
    if mask_id is None or mask_id not in text.ids:
        mask = getattr(model._tokenizer, "mask_token", None) or "[MASK]"
        raise TextError(Message("refusal.no_mask_in_text", mask=str(mask), model=model.name), Message("refusal.write_mask", mask=str(mask)))
    return text.ids.index(mask_id)


def token_id(model: Model, answer: str | int) -> int:
    """The id of an answer that is one token; anything else is an error that shows its pieces."""
    if isinstance(answer, int) and not isinstance(answer, bool):
        vocabulary_size = model._hf.get_input_embeddings().weight.shape[0]
        if not 0 <= answer < vocabulary_size:
            raise TextError(f"answer={answer}.", f"Token ids of {model.name} are from 0 to {vocabulary_size - 1}.")
        return answer
    if not isinstance(answer, str) or not answer:
        raise TextError(f"answer={answer!r}.", Message("refusal.answer.one"))
    tokenizer = tokenizer_of(model, "Give the id of the answer.")
    ids = tokenizer.encode(answer, add_special_tokens=False)
    unknown = getattr(tokenizer, "unk_token_id", None)
    if unknown is not None and ids == [unknown]:
        raise TextError(Message("refusal.answer.unknown", answer=repr(answer), model=model.name), Message("refusal.answer.known_or_id"))
    if len(ids) != 1:
        pieces = tokenizer.convert_ids_to_tokens(ids)
        hint = Message("refusal.answer.space") if "decoder" in model.layout.stacks else Message("refusal.answer.known")
        raise TextError(
            Message("refusal.answer.pieces", answer=repr(answer), model=model.name, pieces=" ".join(map(str, pieces)) or "–"), hint
        )
    return int(ids[0])


def _label(model: Model, hf: PreTrainedModel, example: Example, logits: torch.Tensor, answer: str | int | None) -> Answer:
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
    position = 0 if "encoder" in model.layout.stacks else len(example.source) - 1
    return Answer("label", index, position, names[index])
