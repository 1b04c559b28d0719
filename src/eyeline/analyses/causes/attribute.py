"""`el.attribute`: how much each token contributes to each other one, by a named method, as a trace that every view draws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from eyeline.analyses.causes.answer import AnsweredText, ask, check_one_tower, text_inputs
from eyeline.analyses.causes.quantities.methods import METHODS, Method, Outcome, Subject
from eyeline.capture.collect import Sides
from eyeline.capture.quantity import KEY, Quantity
from eyeline.capture.stack import Stack
from eyeline.capture.trace import Trace
from eyeline.capture.trace_facts import TraceFacts
from eyeline.errors import EyelineError, ModelError, nearest
from eyeline.models.model import Model, check_model
from eyeline.version import __version__


def attribute(
    model: Model,
    text: str,
    pair: str | None = None,
    *,
    method: str = "norms",
    answer: str | int | None = None,
    truncate: bool = False,
) -> Trace:
    """A quantity between tokens other than attention, as a trace: views, pictures and files take it as they take attention.

    method   attention, norms, norms-summed, n-resout, rollout, flow, value-zeroing, value-zeroing-rollout, gradient, relevance,
             integrated-gradients, globenc, alti, decompx, logits (docs/how-to/causes.md says what each means)
    answer   for methods that are about an answer: a token (a masked or causal language model) or a label (a classifier), by name or
             number; the model's own first choice unless given

    `trace.weights` is [layer, head, query, key]; one head where the method has no separate heads, one layer where it has no
    separate layers. `trace.quantity` names the quantity, and its `scores` are one number for each token.
    """
    check_model(model)
    known = chosen_method(method)
    check_one_tower(model)
    sides = model.read(text if pair is None else (text, pair), truncate=truncate)
    return attribute_sides(model, sides, method, known, answer)


def chosen_method(method: str) -> Method:
    """The record of a method, or an error with the nearest name."""
    if not isinstance(method, str) or method not in METHODS:
        close, every = nearest(str(method), METHODS), f"Choices: {', '.join(METHODS)}."
        raise EyelineError(f"method={method!r}.", *dict.fromkeys((close, every)))
    return METHODS[method]


def attribute_sides(model: Model, sides: Sides, name: str, method: Method, answer: str | int | None) -> Trace:
    """One quantity of one text that is already tokenised, as a trace."""
    subject = subject_of(model, sides, answer, needed=method.needs_answer)
    trace = trace_of(subject, sides, name, method, method.compute(subject))
    return replace(trace, prediction=model.answer_to(sides))


def subject_of(model: Model, sides: Sides, answer: str | int | None, *, needed: bool) -> Subject:
    """The text with its answer: always where `needed` or where an answer is given; otherwise only where the model answers this text."""
    question: AnsweredText | None = None
    if needed or answer is not None:
        question = ask(model, sides, answer)
    elif _answers(model, sides):
        question = ask(model, sides)
    inputs = text_inputs(model, sides) if question is None else question.inputs
    default_position = 0 if "encoder" in model.layout.stacks else len(sides.source) - 1
    return Subject(model, inputs, default_position if question is None else question.answer.position, question)


def _answers(model: Model, sides: Sides) -> bool:
    """Whether the model was opened with its head and answers this text; a masked language model needs a mask in it."""
    kind = type(model.hf).__name__
    if kind.endswith("ForMaskedLM"):
        return getattr(model.tokenizer, "mask_token_id", None) in sides.source.ids
    return kind.endswith(("ForSequenceClassification", "ForCausalLM", "LMHeadModel"))


def trace_of(subject: Subject, sides: Sides, name: str, method: Method, outcome: Outcome) -> Trace:
    """A trace that holds the maps of a method and what they mean; numbers that are not finite are refused."""
    model, maps = subject.model, outcome.maps
    if not np.isfinite(maps).all():
        raise ModelError(f"{method.name} of {model.name} is not finite (nan or infinite).", "Load the model in float32.")
    scores = outcome.scores if outcome.scores is not None else maps[-1, :, subject.position].mean(axis=0)
    stack = next(iter(model.layout.stacks))
    numbers = model.layout.layers(stack)
    signed = method.signed and bool((maps < 0).any() or outcome.scores is not None)
    quantity = Quantity(
        method=name,
        name=outcome.name or method.name,
        signed=signed,
        answer="" if subject.question is None or not _about_answer(method, outcome) else subject.question.answer.name,
        position=subject.position,
        scores=tuple(float(score) for score in scores),
    )
    kept = Stack(
        name=stack,
        query_text=sides.source,
        key_text=sides.source,
        layers=numbers if len(maps) == len(numbers) else numbers[-1:],
        weights_by_layer=tuple(maps.astype(np.float32)),
        why_missing="this trace holds " + method.name + ", not attention",
    )
    about: TraceFacts = {
        "model": model.name,
        "revision": model.revision,
        "class": type(model.hf).__name__,
        "dtype": str(model.hf.dtype).removeprefix("torch."),
        "tokens": len(sides.source),
        "eyeline": __version__,
        "notices": [*model.notices, *outcome.notices],
        KEY: quantity.to_json(),
    }
    return Trace(model.name, {stack: kept}, about)


def _about_answer(method: Method, outcome: Outcome) -> bool:
    return method.needs_answer or outcome.scores is not None
