"""`el.attribute`: how much each token contributes to each other one, by a named method, as a trace that every view draws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from eyeline.errors import EyelineError, ModelError, nearest
from eyeline.look.generation import Generation
from eyeline.look.stack import Stack
from eyeline.look.trace import KEY, Quantity, Trace, TraceFacts
from eyeline.measure.causes.options import AttributeOptions
from eyeline.measure.causes.quantities import METHODS, Method, Outcome, Subject
from eyeline.measure.runs.options import chosen
from eyeline.messages import Message
from eyeline.models.inputs import Example
from eyeline.models.model import Model, check_model
from eyeline.models.objective import ask, check_one_tower, mask_position, text_inputs


def attribute(
    model: Model,
    text: str | Generation,
    pair: str | None = None,
    written: int | None = None,
    *,
    # from AttributeOptions, as the docstring's lines on them: make generated
    method: str = "norms",
    answer: str | int | None = None,
    steps: int | None = None,
    truncate: bool = False,
) -> Trace:
    """A quantity between tokens other than attention, as a trace: views, pictures and files take it as they take attention.

    method  attention, norms, norms-summed, n-resout, rollout, flow, value-zeroing, value-zeroing-rollout, gradient, relevance,
            integrated-gradients, globenc, alti, decompx, logits (docs/how-to/causes.md says what each means)
    answer  for methods that are about an answer: a token (a masked or causal language model) or a label (a classifier), by name or number;
            the model's own first choice unless given
    steps   for integrated-gradients: at how many points gradients are taken; unless given, as many as their sum needs to be right to 2 %

    Of a generation (`model.generate`) with `written`, the number of a written token from 0: why was it chosen? The text ends before it.

    `trace.weights` is [layer, head, query, key]; one head where the method has no separate heads, one layer where it has no
    separate layers. `trace.quantity` names the quantity, and its `scores` are one number for each token.
    """
    check_model(model)
    known = chosen_method(chosen(AttributeOptions, locals()))
    check_one_tower(model)
    if isinstance(text, Generation) or written is not None:
        example, answer = _before_written(text, written, answer)
    else:
        example = model.read(text if pair is None else (text, pair), truncate=truncate)
    return attribute_example(model, example, method, known, answer, steps)


def _before_written(text: str | Generation, written: int | None, answer: str | int | None) -> tuple[Example, str | int]:
    """The text that ends before a written token, and that token as the answer, unless another is given."""
    if not isinstance(text, Generation) or written is None:
        raise EyelineError("A written token is asked for in a generation.", "el.attribute(model, generation, written=0)")
    if not 0 <= written < text.n_written:
        raise EyelineError(f"written={written} of {text.n_written} written tokens.", f"Give a number from 0 to {text.n_written - 1}.")
    return Example(text.text.only(range(text.n_prompt + written))), text.written_ids[written] if answer is None else answer


def chosen_method(options: AttributeOptions) -> Method:
    """The record of the method, or an error with the nearest name; steps of a method that has none are refused."""
    name, steps = options.method, options.steps
    if name not in METHODS:
        close, every = nearest(name, METHODS), f"Choices: {', '.join(METHODS)}."
        raise EyelineError(f"method={name!r}.", *dict.fromkeys((close, every)))
    if steps is not None and not METHODS[name].in_steps:
        several = ", ".join(known for known, record in METHODS.items() if record.in_steps)
        raise EyelineError(f"steps={steps} for {name}.", f"Only {several} goes in steps.")
    return METHODS[name]


def attribute_example(
    model: Model, example: Example, name: str, method: Method, answer: str | int | None, steps: int | None = None
) -> Trace:
    """One quantity of one text that is already tokenised, as a trace."""
    needed = method.needs_answer or answer is not None or (method.may_answer and _answers(model, example))
    subject = replace(subject_of(model, example, answer, needed=needed), steps=steps)
    trace = trace_of(subject, example, name, method, method.of(subject))
    return replace(trace, prediction=subject.prediction)


def subject_of(model: Model, example: Example, answer: str | int | None, *, needed: bool) -> Subject:
    """The text, with its answer where it is needed."""
    if needed:
        question = ask(model, example, answer)
        return Subject(model, example, question.inputs, question.answer.position, question)
    position = 0 if "encoder" in model.layout.stacks else len(example.source) - 1
    if model.answers == "masked" and _answers(model, example):
        position = mask_position(model, example.source)
    return Subject(model, example, text_inputs(model, example), position, None)


def _answers(model: Model, example: Example) -> bool:
    """Whether the model was opened with its head and answers this text; a masked language model needs a mask in it."""
    if model.answers == "masked":
        return getattr(model._tokenizer, "mask_token_id", None) in example.source.ids
    return model.answers in ("next", "label", "number")


def trace_of(subject: Subject, example: Example, name: str, method: Method, outcome: Outcome) -> Trace:
    """A trace that holds the maps of a method and what they mean; numbers that are not finite are refused."""
    model, maps = subject.model, outcome.maps
    if not np.isfinite(maps).all():
        raise ModelError(Message("refusal.maps_not_finite", method=method.name, model=model.name), Message("refusal.load_float32"))
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
        query_text=example.source,
        key_text=example.source,
        layers=numbers if len(maps) == len(numbers) else numbers[-1:],
        weights_by_layer=tuple(maps.astype(np.float32)),
        why_missing=Message("notice.missing.quantity", quantity=method.name),
    )
    facts = model._tracer.about()
    notices = [*facts["notices"], *example.notices, *outcome.notices]
    about: TraceFacts = {**facts, "tokens": len(example.source), "notices": notices, KEY: quantity.to_json()}
    return Trace(model.name, {stack: kept}, about)


def _about_answer(method: Method, outcome: Outcome) -> bool:
    return method.needs_answer or outcome.scores is not None
