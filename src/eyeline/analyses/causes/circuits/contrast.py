"""Two texts of the same length with different answers, and the difference of the logits of these answers."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from eyeline.analyses.causes.answer import AnsweredText, ask
from eyeline.capture.collect import Sides
from eyeline.errors import Advice, ModelError, TextError
from eyeline.models.model import Model
from eyeline.models.objective import check_one_answer

#: Where the difference of logits changes by less than this between the two texts, patching has nothing to measure.
LEAST_DIFFERENCE = 1e-4


@dataclass(frozen=True)
class Contrast:
    """A clean text, a corrupt one, and two answers: `right` belongs to the clean text, `wrong` to the corrupt one.

    The metric is logit(right) − logit(wrong), where the answer is read. `clean` and `corrupt` are its values on the two texts.
    """

    model: Model
    clean_text: AnsweredText
    corrupt_text: AnsweredText
    wrong: int
    clean: float
    corrupt: float

    @property
    def sides(self) -> tuple[Sides, Sides]:
        return self.clean_text.sides, self.corrupt_text.sides

    def metric(self, logits: torch.Tensor) -> torch.Tensor:
        """[text], of logits [text, token, vocabulary] or [text, label]"""
        row = self.clean_text.answer.row(logits)
        return row[:, self.clean_text.answer.index] - row[:, self.wrong]

    def restored(self, values: torch.Tensor) -> torch.Tensor:
        """The share of the answer that came back: 0 on the corrupt text, 1 on the clean one."""
        return (values - self.corrupt) / (self.clean - self.corrupt)


def contrast(model: Model, clean: str, corrupt: str, answer: str | int | None = None, against: str | int | None = None) -> Contrast:
    """Read both texts and both answers. Without `answer` and `against`, they are the model's own answers to the two texts."""
    if not model.layout.recorded:
        raise ModelError(f"Nothing can be patched inside {model.name}: {model.layout.why_weights_only}.", "Its heads cannot be reached.")
    check_one_answer(model)
    texts = [model.read(text) for text in (clean, corrupt)]
    lengths = [len(sides.source) for sides in texts]
    if lengths[0] != lengths[1]:
        shown = " / ".join(" ".join(sides.source.tokens) for sides in texts)
        raise TextError(
            f"The clean text has {lengths[0]} tokens, the corrupt one {lengths[1]}: positions must match to be patched.",
            f"Tokens: {shown}",
            "Replace words by others with the same number of tokens.",
        )
    if texts[0].source.ids == texts[1].source.ids:
        raise TextError("The clean and the corrupt text are the same.", "Change the words on which the answer depends.")
    right, wrong = ask(model, texts[0], answer), ask(model, texts[1], against)
    if right.answer.index == wrong.answer.index:
        raise TextError(
            f"Both answers are {right.answer.name!r}.",
            Advice(
                "Give two answers that differ: answer=…, against=….",
                "Give two answers that differ: --answer, --against.",
                "Give two answers that differ.",
            ),
        )
    if right.answer.position != wrong.answer.position:
        raise TextError("The two answers are read at different positions.", "Put the mask at the same token of both texts.")
    measured = Contrast(model, right, wrong, wrong.answer.index, 0.0, 0.0)
    values = []
    for text in (right, wrong):
        with torch.no_grad():
            values.append(float(measured.metric(model.passes.output([text.sides], inputs=text.inputs).logits)[0]))
    if abs(values[0] - values[1]) < LEAST_DIFFERENCE:
        raise TextError(
            f"{model.name} does not distinguish the texts: {right.answer.name!r} against {wrong.answer.name!r} is {values[0]:.4f} on both.",
            "Choose texts or answers that change its decision.",
        )
    return Contrast(model, right, wrong, wrong.answer.index, *values)
