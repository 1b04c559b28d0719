"""What a model answers to a text, read from the output of its head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from eyeline.capture.answer.prediction import Choices, Prediction
from eyeline.capture.collect import Sides
from eyeline.capture.interventions.records import Intervention
from eyeline.capture.interventions.stored import StoredPass
from eyeline.errors import ModelError, TextError, TraceError
from eyeline.models.embedded import names_that_answer
from eyeline.models.passes import Passes
from eyeline.text.tokenized import TokenizedText
from eyeline.text.written import written_token

#: How many tokens or labels a prediction names, and how long an answer within the text may be.
TOP, LONGEST_SPAN = 10, 30
#: What of a model's output its answer is read from.
LOGITS = ("logits", "start_logits", "end_logits")


@dataclass(frozen=True)
class Answerer:
    """Reads the answers of one model."""

    passes: Passes

    @property
    def is_language_model(self) -> bool:
        """Whether the head gives a number to every token of the vocabulary."""
        return self.passes.hf.get_output_embeddings() is not None

    @property
    def is_masked(self) -> bool:
        """Whether it predicts masked tokens, not the next one."""
        return self.is_language_model and self.passes.layout.stacks == ("encoder",)

    def predict(self, sides: Sides, interventions: Sequence[Intervention] = (), top: int = TOP) -> Prediction:
        """The answer to one text; an error that says why there is none."""
        if self.is_masked and not self.positions(sides):
            mask = getattr(self.passes.tokenizer, "mask_token", None)
            if mask is None:
                raise ModelError(f"The tokeniser of {self.passes.name} has no mask token.", "A masked language model answers at a mask.")
            raise TextError(f"{self.passes.name} answers at {mask}, and the text has none.", f"Write {mask} for the word to be predicted.")
        prediction = self.answer_to(sides, interventions, top)
        if prediction is None:
            held = ", ".join(self.passes.hf.config.architectures or [type(self.passes.hf).__name__])
            raise ModelError(
                f"{self.passes.name} answers nothing: its checkpoint holds no head ({held}).",
                "Models saved as …ForMaskedLM, …ForCausalLM, …ForSequenceClassification, …ForTokenClassification or …ForQuestionAnswering"
                f" answer. Embedded: {names_that_answer()}.",
            )
        return prediction

    def answer_to(self, sides: Sides, interventions: Sequence[Intervention] = (), top: int = TOP) -> Prediction | None:
        """The answer to one text; None where there is none."""
        at = self._at(sides)
        if self.is_masked and at is None:
            return None
        output = self.passes.output([sides], [list(interventions)], at=at)
        if interventions and not all(bool(torch.isfinite(output[name]).all()) for name in LOGITS if name in output):
            raise TraceError(
                f"With {'; '.join(map(str, interventions))} the model answers with nan or infinite numbers.", "Scale by a smaller number."
            )
        return self._read(output, sides, at, top)

    def probabilities(
        self, sides: Sequence[Sides], answer: Prediction, each: Sequence[Sequence[Intervention]], stored: StoredPass | None = None
    ) -> list[float]:
        """The probability of the first choice of an answer, in copies of one text with other interventions each."""
        at = self._at(sides[0])
        output = self.passes.output(sides, each, at=None if at is None else at.expand(len(sides), -1), stored=stored)
        if answer.kind == "span":
            start, end = answer.span or (0, 0)
            both = zip(output["start_logits"].float().softmax(-1), output["end_logits"].float().softmax(-1), strict=True)
            return [float(first[start] * last[end]) for first, last in both]
        logits = output["logits"].float()
        if answer.kind == "labels":
            logits = logits[:, answer.positions[0]]
        rows = logits if logits.ndim == 2 else logits[:, 0]  # [text, choice]
        if answer.kind == "number":
            return [float(value) for value in rows[:, 0]]
        several = getattr(self.passes.hf.config, "problem_type", None) == "multi_label_classification" and answer.kind == "label"
        chosen = (rows.sigmoid() if several else rows.softmax(-1))[:, answer.ids[0]]
        return [float(value) for value in chosen]

    def answers(self, result: Any, inputs: Mapping[str, torch.Tensor], sides: Sequence[Sides]) -> list[Prediction | None]:
        """The answers to a batch of texts whose body has been computed; None where a model or a text has none."""
        if type(self.passes.hf) is type(self.passes.body) and "logits" not in result and "start_logits" not in result:
            return [None] * len(sides)  # no head at all
        if self.is_masked and not any(map(self.positions, sides)):
            return [None] * len(sides)
        if len(sides) == 1:
            return [self._answer(result, inputs, sides[0])]
        return [self._answer(_text_of(result, i, len(sides)), _text_of(inputs, i, len(sides)), side) for i, side in enumerate(sides)]

    def _answer(self, result: Any, inputs: Mapping[str, torch.Tensor], sides: Sides) -> Prediction | None:
        at = self._at(sides)
        if self.is_masked and at is None:
            return None
        with torch.inference_mode():
            return self._read(self.passes.head(result, inputs, at), sides, at, TOP)

    def positions(self, sides: Sides) -> list[int]:
        """The tokens at which a language model answers: every mask, or the last token."""
        if not self.is_masked:
            return [len(sides.target or sides.source) - 1]
        mask = getattr(self.passes.tokenizer, "mask_token_id", None)
        return [i for i, number in enumerate(sides.source.ids) if number == mask]

    def _at(self, sides: Sides) -> torch.Tensor | None:
        positions = self.positions(sides) if self.is_language_model else []
        return torch.tensor([positions]) if positions else None

    def _read(self, output: Any, sides: Sides, at: torch.Tensor | None, top: int) -> Prediction | None:
        if "start_logits" in output and "end_logits" in output:
            return _span(output["start_logits"][0], output["end_logits"][0], sides.source, top)
        logits: torch.Tensor | None = output.get("logits")
        if logits is None or logits.ndim not in (2, 3):
            return None
        if not bool(torch.isfinite(logits).all()):
            raise ModelError(f"{self.passes.name} answers with numbers that are not finite.", "Its weights or its precision are damaged.")
        if at is not None:
            choices = [self._tokens(row, position, top) for row, position in zip(logits[0], at[0].tolist(), strict=True)]
            return Prediction("masked" if self.is_masked else "next", tuple(choices))
        if logits.ndim == 2:
            return self._label(logits[0], top)
        texts = sides.target or sides.source
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
    last = max(text.segments)
    allowed = torch.tensor([not text.special[i] and text.segments[i] == last for i in range(n)])
    start, end = (logits[:n].float().cpu().masked_fill(~allowed, -torch.inf).softmax(-1) for logits in (starts, ends))
    both = (start[:, None] * end[None, :]).triu().tril(LONGEST_SPAN - 1)  # [start, end]
    best = both.flatten().topk(min(top, int(allowed.sum())))
    firsts, lasts = ((best.indices // n).tolist(), (best.indices % n).tolist())
    shown = tuple(_text_between(text, a, b) for a, b in zip(firsts, lasts, strict=True))
    return Prediction("span", (Choices(None, shown, tuple(firsts), tuple(best.values.tolist()), tuple(lasts)),))


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
