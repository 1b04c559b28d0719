"""How faithful each quantity is to a model's answers over a corpus: the tokens that it ranks first are erased, or all others are."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np

from eyeline.analyses.causes.answer import AnsweredText, model_with_head
from eyeline.analyses.causes.attribute import chosen_method, subject_of, trace_of
from eyeline.analyses.causes.erased_texts import candidates, masked_text, probabilities
from eyeline.analyses.causes.quantities.methods import METHODS, Subject
from eyeline.analyses.corpus.batch import Batch
from eyeline.analyses.corpus.rows import Rows
from eyeline.analyses.corpus.statistic import Statistic
from eyeline.analyses.corpus.sums import SumKey
from eyeline.capture.collect import Sides
from eyeline.errors import ModelError, TextError
from eyeline.measures.causes.erasure import SHARES, aopc, comprehensiveness, sufficiency, top_tokens
from eyeline.models.model import Model
from eyeline.models.objective import check_one_answer
from eyeline.results.table import Table

#: The shares of tokens that are erased in turn (AOPC).
DECILES = tuple(tenth / 10 for tenth in range(1, 11))
RANDOM = "random"
#: Longer texts are left out: every method runs the model on each text many times.
LONGEST, FEWEST = 128, 3
#: Too slow for a corpus unless they are named: a maximum flow for every pair of tokens.
SLOW = ("flow",)
#: Works for every model that answers, and is slow to try.
NEVER_REFUSED = ("integrated-gradients",)
COLUMNS = ("comprehensiveness", "sufficiency", "aopc")


class Faithfulness(Statistic):
    """Comprehensiveness, sufficiency and AOPC of each quantity, beside those of a random order.

    The answer is the model's own: the label of a classifier, the token after a text (decoders), or the token at one mask, put on a token
    that is drawn by seed and text (masked language models). Erased tokens are replaced by the mask token, or removed where the tokeniser
    has none. Sources: DeYoung et al. 2020; Samek et al. 2017.

    methods   the quantities (names of `el.attribute`); all that the model allows but flow, unless given
    longest   longer texts are left out, and counted
    """

    name: ClassVar[str] = "faithfulness"
    from_rows: ClassVar[bool] = False
    about_answers: ClassVar[bool] = True

    def __init__(self, methods: Sequence[str] | None = None, longest: int = LONGEST) -> None:
        super().__init__()
        self.methods = None if methods is None else tuple(methods)
        for method in self.methods or ():
            chosen_method(method)
        self.longest = longest
        #: Method → why this model refuses it: filled by `prepare`, shared with copies.
        self.refused: dict[str, str] = {}
        self._allowed: tuple[str, ...] = ()
        self._model: Model | None = None
        self._seed = 0

    def options(self) -> dict[str, object]:
        return {"methods": None if self.methods is None else list(self.methods), "longest": self.longest}

    def fresh(self) -> Self:
        fresh = super().fresh()
        fresh._model, fresh._seed, fresh._allowed, fresh.refused = self._model, self._seed, self._allowed, self.refused
        return fresh

    def prepare(self, model: Model, seed: int) -> None:
        """Find the methods that this model allows; one that the user named and the model refuses is an error."""
        check_one_answer(model)
        model_with_head(model)
        self._model, self._seed = model, seed
        wanted = self.methods or tuple(name for name in METHODS if name not in SLOW)
        sides = self._with_question(model, model.read("a b c d"))
        subject = subject_of(model, sides, None, needed=True)
        self.refused.clear()
        for name in wanted:
            try:
                if name not in NEVER_REFUSED:
                    METHODS[name].compute(subject)
            except ModelError as error:
                if self.methods is not None:
                    raise
                self.refused[name] = str(error)
        self._allowed = tuple(name for name in wanted if name not in self.refused)

    def update(self, rows: Rows, batch: Batch) -> None:
        """Rows are not used: `finish` runs the model on the batch."""

    def finish(self, batch: Batch) -> None:
        if self._model is None:
            raise RuntimeError("Faithfulness runs within el.analyse, which gives it the model.")
        for sides in batch.sides:
            n_plain = sum(not special for special in sides.source.special)
            if len(sides.source) > self.longest or n_plain < FEWEST:
                self.leave_out(1)
                continue
            self._add_text(self._model, self._with_question(self._model, sides))

    def _with_question(self, model: Model, sides: Sides) -> Sides:
        """The text; for a masked language model with a mask on one token.

        The token is drawn by seed and text alone, so that a part of a corpus has the same masks as the whole.
        """
        mask_id = getattr(model.tokenizer, "mask_token_id", None)
        hf = model_with_head(model)
        text = sides.source
        if "encoder" not in model.layout.stacks or hf.get_output_embeddings() is None or mask_id in text.ids:
            return sides
        if mask_id is None:
            raise ModelError(f"The tokeniser of {model.name} has no mask token.", "A masked language model answers at one.")
        plain = [i for i, special in enumerate(text.special) if not special]
        if not plain:
            raise TextError("The text has only special tokens.", "There is nothing to mask.")
        position = random.Random(f"{self._seed} {text.ids}").choice(plain)  # noqa: S311 - seeded, not a secret
        return Sides(masked_text(text, [position], mask_id, str(model.tokenizer.mask_token)))  # type: ignore[union-attr]

    def _add_text(self, model: Model, sides: Sides) -> None:
        subject = subject_of(model, sides, None, needed=True)
        answered = subject.answered
        allowed = candidates(answered)
        scores = {name: self._scores(name, subject, sides) for name in self._allowed}
        draw = random.Random(f"{self._seed} random {answered.text.ids}")  # noqa: S311
        scores[RANDOM] = np.array([draw.random() for _ in range(len(answered.text))])
        for name, sums in erasure_scores(answered, scores, allowed).items():
            self.add(SumKey("all", 0, self.name, (name,)), np.array([[*sums, *(value**2 for value in sums), 1.0]]), range(1))

    def _scores(self, name: str, subject: Subject, sides: Sides) -> np.ndarray:
        method = METHODS[name]
        trace = trace_of(subject, sides, name, method, method.compute(subject))
        return np.array(trace.quantity.scores if trace.quantity is not None else ())

    def result(self) -> dict[str, Table]:
        rows = []
        order = {name: i for i, name in enumerate((*METHODS, RANDOM))}
        for key, values in sorted(self.sums.items(), key=lambda item: order.get(item[0].details[0], -1)):
            if key.quantity != self.name:
                continue
            count = values[0, -1]
            means, squares = values[0, :3] / count, values[0, 3:6] / count
            spread = np.maximum(squares - means**2, 0)
            errors = np.sqrt(spread / (count - 1)) if count > 1 else np.full(len(spread), np.nan)
            numbers = {column: float(mean) for column, mean in zip(COLUMNS, means, strict=True)}
            numbers |= {f"{column}_error": float(error) for column, error in zip(COLUMNS, errors, strict=True)}
            rows.append({"method": key.details[0], **numbers, "texts": int(count)})
        return {self.name: Table.from_rows(rows, ("method", *COLUMNS, *(f"{column}_error" for column in COLUMNS), "texts"))}


def erasure_scores(answered: AnsweredText, scores: dict[str, np.ndarray], allowed: Sequence[int]) -> dict[str, tuple[float, float, float]]:
    """Comprehensiveness, sufficiency and AOPC of several orders of tokens for one text. scores: name → [token]

    Orders agree on many of the sets that are erased: all run together, and each set runs once.
    """
    erased: list[tuple[int, ...]] = [()]
    for values in scores.values():
        top = {share: top_tokens(values, allowed, share) for share in (*SHARES, *DECILES)}
        erased += [top[share] for share in SHARES]
        erased += [tuple(position for position in allowed if position not in top[share]) for share in SHARES]
        erased += [top[share] for share in DECILES]
    whole, *rest = probabilities(answered, erased)
    n, each = len(SHARES), 2 * len(SHARES) + len(DECILES)
    results = {}
    for i, name in enumerate(scores):
        part = rest[i * each : (i + 1) * each]
        results[name] = (comprehensiveness(whole, part[:n]), sufficiency(whole, part[n : 2 * n]), aopc(whole, part[2 * n :]))
    return results
