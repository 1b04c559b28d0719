"""What a model answers to a text, read from the output of its head."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import torch

from eyeline.errors import ModelError, TextError, TraceError
from eyeline.look.answer import TOKEN_ANSWERS, AnswerKind, Choices, LayerEffects, Prediction
from eyeline.look.embedded import names_that_answer
from eyeline.look.interventions import Intervention
from eyeline.look.trace import Trace
from eyeline.messages import Message
from eyeline.models.declared import answers_of_class
from eyeline.models.inputs import Example
from eyeline.models.passes import Passes
from eyeline.text.tokenized import TokenizedText
from eyeline.text.words import written_token

#: How many tokens or labels a prediction names, and how long an answer within the text may be.
TOP, LONGEST_SPAN = 10, 30

#: What of a model's output its answer is read from.
LOGITS = ("logits", "start_logits", "end_logits")


@dataclass(frozen=True)
class Answerer:
    """Reads the answers of one model."""

    passes: Passes

    @property
    def kind(self) -> AnswerKind | None:
        """What the model answers; None for a model without a head, and for heads that nothing but a text's output tells apart.

        A language model has an embedding for each token that it may answer; other heads are told by the name of their class.
        """
        named = answers_of_class(type(self.passes.hf).__name__, self.passes.hf.config)
        if named not in (None, *TOKEN_ANSWERS):
            return named
        if self.passes.hf.get_output_embeddings() is None:
            return None
        return "masked" if self.passes.layout.stacks == ("encoder",) else "next"

    @property
    def is_masked(self) -> bool:
        """Whether it predicts masked tokens, not the next one."""
        return self.kind == "masked"

    def predict(self, example: Example, interventions: Sequence[Intervention] = (), top: int = TOP) -> Prediction:
        """The answer to one text; an error that says why there is none."""
        if self.is_masked and not self.positions(example):
            mask = getattr(self.passes.tokenizer, "mask_token", None)
            if mask is None:
                raise ModelError(Message("refusal.no_mask", model=self.passes.name), Message("refusal.no_mask_help"))
            raise TextError(
                Message("refusal.no_mask_in_text", mask=str(mask), model=self.passes.name), Message("refusal.write_mask", mask=str(mask))
            )
        prediction = self.answer_to(example, interventions, top)
        if prediction is None:
            held = ", ".join(self.passes.hf.config.architectures or [type(self.passes.hf).__name__])
            raise ModelError(
                Message("refusal.answers_nothing", model=self.passes.name, held=held),
                "Models saved as …ForMaskedLM, …ForCausalLM, …ForSequenceClassification, …ForTokenClassification or …ForQuestionAnswering"
                f" answer. Embedded: {names_that_answer()}.",
            )
        return prediction

    def answer_to(self, example: Example, interventions: Sequence[Intervention] = (), top: int = TOP) -> Prediction | None:
        """The answer to one text; None where there is none."""
        at = self.positions_of(example)
        if self.is_masked and at is None:
            return None
        output = self.passes.output([example], [list(interventions)], at=at)
        if interventions and not all(bool(torch.isfinite(output[name]).all()) for name in LOGITS if name in output):
            raise TraceError(
                Message("refusal.switched_not_finite", changes="; ".join(map(str, interventions))), Message("refusal.scale_less")
            )
        return self._read(output, example, at, top)

    def probabilities(self, output: Any, answer: Prediction, text: TokenizedText) -> torch.Tensor:
        """The probability of the first choice of an answer, for copies of one text; of a number the number itself: [copy]."""
        if answer.kind == "span":
            first, last = answer.span or (0, 0)
            starts, ends = _sides_of_spans(output["start_logits"], output["end_logits"], text)
            return starts[:, first] * ends[:, last]
        logits: torch.Tensor = output["logits"].float()
        if answer.kind == "labels":
            logits = logits[:, answer.positions[0]]
        rows = logits if logits.ndim == 2 else logits[:, 0]  # [text, choice]
        if answer.kind == "number":
            return rows[:, 0]
        several = getattr(self.passes.hf.config, "problem_type", None) == "multi_label_classification" and answer.kind == "label"
        return (rows.sigmoid() if several else rows.softmax(-1))[:, answer.ids[0]]

    def gradient_at_heads(self, example: Example, answer: Prediction) -> tuple[float, list[torch.Tensor]]:
        """The probability p of the first choice, and ∂p/∂ξ_h for every head of each layer; ξ_h = 1 multiplies what a head writes."""
        slots = self.passes.layout.slots
        gates = {(slot.stack, slot.layer): torch.ones(slot.n_heads, device=self.passes.hf.device, requires_grad=True) for slot in slots}
        output = self.passes.output([example], gates=gates, at=self.positions_of(example), gradients=True)
        (probability,) = self.probabilities(output, answer, example.source)
        return float(probability.detach()), list(torch.autograd.grad(probability, list(gates.values())))

    def answers(self, result: Any, inputs: Mapping[str, torch.Tensor], examples: Sequence[Example]) -> list[Prediction | None]:
        """The answers to a batch of texts whose body has been computed; None where a model or a text has none."""
        if type(self.passes.hf) is type(self.passes.body) and "logits" not in result and "start_logits" not in result:
            return [None] * len(examples)  # no head at all
        if self.is_masked and not any(map(self.positions, examples)):
            return [None] * len(examples)
        if len(examples) == 1:
            return [self._answer(result, inputs, examples[0])]
        return [
            self._answer(_text_of(result, i, len(examples)), _text_of(inputs, i, len(examples)), example)
            for i, example in enumerate(examples)
        ]

    def _answer(self, result: Any, inputs: Mapping[str, torch.Tensor], example: Example) -> Prediction | None:
        at = self.positions_of(example)
        if self.is_masked and at is None:
            return None
        with torch.inference_mode():
            return self._read(self.passes.head(result, inputs, at), example, at, TOP)

    def positions(self, example: Example) -> list[int]:
        """The tokens at which a language model answers: every mask, or the last token."""
        if not self.is_masked:
            return [len(example.target or example.source) - 1]
        mask = getattr(self.passes.tokenizer, "mask_token_id", None)
        return [i for i, number in enumerate(example.source.ids) if number == mask]

    def positions_of(self, example: Example) -> torch.Tensor | None:
        positions = self.positions(example) if self.kind in TOKEN_ANSWERS else []
        return torch.tensor([positions]) if positions else None

    def _read(self, output: Any, example: Example, at: torch.Tensor | None, top: int) -> Prediction | None:
        if "start_logits" in output and "end_logits" in output:
            return _span(output["start_logits"][0], output["end_logits"][0], example.source, top)
        logits: torch.Tensor | None = output.get("logits")
        if not isinstance(logits, torch.Tensor) or logits.ndim not in (2, 3):  # DPT names a tuple of pictures so
            return None
        if not bool(torch.isfinite(logits).all()):
            raise ModelError(Message("refusal.answer_not_finite", model=self.passes.name), Message("refusal.damaged"))
        if at is not None:
            choices = [self._tokens(row, position, top) for row, position in zip(logits[0], at[0].tolist(), strict=True)]
            return Prediction("masked" if self.is_masked else "next", tuple(choices))
        if logits.ndim == 2:
            return self._label(logits[0], top)
        texts = example.target or example.source
        rows = [i for i in range(min(len(texts), logits.shape[1])) if not texts.special[i]]
        return Prediction("labels", tuple(self._choices(logits[0, i].float().softmax(-1), i, top) for i in rows)) if rows else None

    def _label(self, row: torch.Tensor, top: int) -> Prediction:
        if len(row) == 1:
            return Prediction("number", (Choices(None, (self._name(0),), (0,), (float(row[0]),)),))
        several = getattr(self.passes.hf.config, "problem_type", None) == "multi_label_classification"
        return Prediction("label", (self._choices(row.float().sigmoid() if several else row.float().softmax(-1), None, top),))

    def _choices(self, probabilities: torch.Tensor, position: int | None, top: int) -> Choices:
        best = probabilities.topk(min(top, len(probabilities)))
        ids = tuple(best.indices.tolist())
        return Choices(position, tuple(map(self._name, ids)), ids, tuple(best.values.tolist()))

    def _tokens(self, row: torch.Tensor, position: int, top: int) -> Choices:
        best = row.float().softmax(-1).topk(min(top, len(row)))
        ids = tuple(best.indices.tolist())
        tokenizer = self.passes.tokenizer
        shown = tuple(str(i) if tokenizer is None else written_token(tokenizer, i) for i in ids)
        return Choices(position, shown, ids, tuple(best.values.tolist()))

    def _name(self, label: int) -> str:
        names = getattr(self.passes.hf.config, "id2label", None) or {}
        return str(names.get(label, label))


def _span(starts: torch.Tensor, ends: torch.Tensor, text: TokenizedText, top: int) -> Prediction:
    """The most probable spans of the second text: the product of the probabilities of a first and a last token."""
    n = len(text)
    start, end = (side[0].cpu() for side in _sides_of_spans(starts[None], ends[None], text))
    both = (start[:, None] * end[None, :]).triu().tril(LONGEST_SPAN - 1)  # [start, end]
    best = both.flatten().topk(min(top, int((start > 0).sum())))
    firsts, lasts = ((best.indices // n).tolist(), (best.indices % n).tolist())
    shown = tuple(_text_between(text, a, b) for a, b in zip(firsts, lasts, strict=True))
    return Prediction("span", (Choices(None, shown, tuple(firsts), tuple(best.values.tolist()), tuple(lasts)),))


def _sides_of_spans(starts: torch.Tensor, ends: torch.Tensor, text: TokenizedText) -> tuple[torch.Tensor, torch.Tensor]:
    """How probable each token of the second text is as the first and as the last of a span; other tokens are none: [text, token]."""
    last = max(text.segments)
    allowed = torch.tensor([not special and segment == last for special, segment in zip(text.special, text.segments, strict=True)])
    start, end = (
        logits[:, : len(text)].float().masked_fill(~allowed.to(logits.device), -torch.inf).softmax(-1) for logits in (starts, ends)
    )
    return start, end


def _text_between(text: TokenizedText, first: int, last: int) -> str:
    if not text.spans:
        return " ".join(text.tokens[first : last + 1])
    source = text.sources[text.segments[first] if len(text.sources) > 1 else 0]
    return source[text.spans[first][0] : text.spans[last][1]]


def _text_of(tensors: Any, index: int, n_texts: int) -> Any:
    """One text of a batch: of tensors, or of a model's output."""
    parts = {
        name: value[index : index + 1]
        for name, value in tensors.items()
        if isinstance(value, torch.Tensor) and value.ndim and len(value) == n_texts
    }
    if isinstance(tensors, dict) and type(tensors) is not dict:
        return type(tensors)(**parts)
    return parts


# ---- The answer without each head


def example_of_trace(trace: Trace) -> Example:
    """The tokens of a trace, as the model read them."""
    if "encoder" in trace.stacks and "decoder" in trace.stacks:
        return Example(trace.encoder.key_text, trace.decoder.key_text)
    return Example(next(iter(trace.stacks.values())).key_text)


def head_effects(passes: Passes, answerer: Answerer, example: Example) -> Iterator[LayerEffects]:
    """The probability of the answer without each head, layer by layer. Layers below the head that is switched off are computed once."""
    at = answerer.positions_of(example)
    answer = answerer.predict(example, top=1)
    _, stored = passes.store([example], at=at)
    ablated = passes.without_each_head([example], passes.layout.slots, stored=stored, at=at)
    for slot, parts in itertools.groupby(ablated, itemgetter(0)):
        changed = [p for _, _, output in parts for p in answerer.probabilities(output, answer, example.source).tolist()]
        yield {"stack": slot.stack, "layer": slot.layer, "probabilities": [round(p, 5) for p in changed]}


def estimated_effects(passes: Passes, answerer: Answerer, example: Example) -> list[LayerEffects]:
    """An estimate of the same numbers for all heads at once, from one pass with a gradient.

        p without head h ≈ σ(logit p − ∂(logit p)/∂ξ_h)        with ∂(logit p)/∂ξ_h = ∂p/∂ξ_h / (p · (1 − p))

    The first order of a change from ξ_h = 1 to 0 (Michel et al. 2019), in the log odds of the answer: it stays between 0 and 1.
    A regression has no odds: its number changes by ∂y/∂ξ_h.
    """
    answer = answerer.predict(example, top=1)
    before, gradients = answerer.gradient_at_heads(example, answer)
    number = answer.kind == "number"
    odds, slope = (before, 1.0) if number else _log_odds(before)
    effects: list[LayerEffects] = []
    for slot, gradient in zip(passes.layout.slots, gradients, strict=True):
        without = odds - gradient.double() * slope  # [head]
        changed = without if number else without.sigmoid()
        effects.append({"stack": slot.stack, "layer": slot.layer, "probabilities": [round(p, 5) for p in changed.tolist()]})
    return effects


#: Probabilities nearer to 0 or 1 have log odds that single precision cannot tell from infinite ones.
CERTAIN = 1e-7


def _log_odds(probability: float) -> tuple[float, float]:
    """log(p / (1 − p)), and its slope in p, 1 / (p · (1 − p))."""
    p = min(max(probability, CERTAIN), 1 - CERTAIN)
    return math.log(p / (1 - p)), 1 / (p * (1 - p))
