"""How faithful each quantity is to a model's answers over a corpus: the tokens that it ranks first are erased, or all others are."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import ClassVar, Self

import numpy as np
import torch

from eyeline.errors import ModelError, TextError
from eyeline.measure.causes.attribute import chosen_method, subject_of, trace_of
from eyeline.measure.causes.options import AttributeOptions
from eyeline.measure.causes.quantities import METHODS, IncompleteError, Subject
from eyeline.measure.runs.table import Table
from eyeline.measure.statistics.rows import Rows
from eyeline.measure.statistics.statistic import Batch, Statistic, SumKey
from eyeline.messages import Message
from eyeline.models.evaluation import evaluating, no_cache
from eyeline.models.inputs import Example, batch_inputs
from eyeline.models.model import Model
from eyeline.models.objective import AnsweredText, check_one_answer, model_with_head
from eyeline.models.passes import model_errors
from eyeline.text.tokenized import TokenizedText

RANDOM = "random"

#: Longer texts are left out: every method runs the model on each text many times.
LONGEST, FEWEST = 128, 3

#: Too slow for a corpus unless they are named: a maximum flow for every pair of tokens.
SLOW = ("flow",)

#: No model that answers refuses it, only single texts; slow to try.
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
            chosen_method(AttributeOptions(method))
        self.longest = longest
        #: Method → why this model refuses it: filled by `prepare`, shared with copies.
        self.refused: dict[str, Message] = {}
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
        example = self._with_question(model, model.read("a b c d"))
        subject = subject_of(model, example, None, needed=True)
        self.refused.clear()
        for name in wanted:
            try:
                if name not in NEVER_REFUSED:
                    METHODS[name].of(subject)
            except ModelError as error:
                if self.methods is not None:
                    raise
                self.refused[name] = error.message
        self._allowed = tuple(name for name in wanted if name not in self.refused)

    def update(self, rows: Rows, batch: Batch) -> None:
        """Rows are not used: `finish` runs the model on the batch."""

    def finish(self, batch: Batch) -> None:
        if self._model is None:
            raise RuntimeError("Faithfulness runs within el.analyse, which gives it the model.")
        for example in batch.examples:
            n_plain = sum(not special for special in example.source.special)
            if len(example.source) > self.longest or n_plain < FEWEST:
                self.leave_out(1)
                continue
            self._add_text(self._model, self._with_question(self._model, example))

    def _with_question(self, model: Model, example: Example) -> Example:
        """The text; for a masked language model with a mask on one token.

        The token is drawn by seed and text alone, so that a part of a corpus has the same masks as the whole.
        """
        mask_id = getattr(model._tokenizer, "mask_token_id", None)
        text = example.source
        if model.answers != "masked" or mask_id in text.ids:
            return example
        if mask_id is None:
            raise ModelError(f"The tokeniser of {model.name} has no mask token.", "A masked language model answers at one.")
        plain = [i for i, special in enumerate(text.special) if not special]
        if not plain:
            raise TextError("The text has only special tokens.", "There is nothing to mask.")
        position = random.Random(f"{self._seed} {text.ids}").choice(plain)  # noqa: S311 - seeded, not a secret
        return Example(masked_text(text, [position], mask_id, str(model._tokenizer.mask_token)))  # type: ignore[union-attr]

    def _add_text(self, model: Model, example: Example) -> None:
        subject = subject_of(model, example, None, needed=True)
        answered = subject.answered
        allowed = candidates(answered)
        try:
            scores = {name: self._scores(name, subject, example) for name in self._allowed}
        except IncompleteError:  # all quantities are measured on the same texts
            self.leave_out(1)
            return
        draw = random.Random(f"{self._seed} random {answered.text.ids}")  # noqa: S311
        scores[RANDOM] = np.array([draw.random() for _ in range(len(answered.text))])
        for name, sums in erasure_scores(answered, scores, allowed).items():
            self.add(SumKey("all", 0, self.name, (name,)), np.array([[*sums, *(value**2 for value in sums), 1.0]]), range(1))

    def _scores(self, name: str, subject: Subject, example: Example) -> np.ndarray:
        method = METHODS[name]
        trace = trace_of(subject, example, name, method, method.of(subject))
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


# ---- How faithful a ranking of tokens is


#: The shares of the tokens that are taken away or kept (DeYoung et al. 2020).
SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)

#: The shares of tokens that are erased in turn (AOPC).
DECILES = tuple(tenth / 10 for tenth in range(1, 11))


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


def top_tokens(scores: np.ndarray, candidates: Sequence[int], share: float) -> tuple[int, ...]:
    """The positions with the highest scores, as many as this share of the candidates, at least 1; of equal scores the earlier position.

    scores: [token]; candidates: the positions that may be taken away

    >>> top_tokens(np.array([0.1, 0.9, 0.5]), [0, 1, 2], 0.5)
    (1, 2)
    """
    count = max(1, int(np.ceil(share * len(candidates))))
    ranked = sorted(candidates, key=lambda position: (-scores[position], position))
    return tuple(ranked[:count])


def comprehensiveness(whole: float, without: Sequence[float]) -> float:
    """How much probability the answer loses when the top tokens are taken away, over the shares: mean of p(text) − p(text without them).

    High is faithful. Source: DeYoung et al. 2020 (ERASER), equation 1.

    >>> comprehensiveness(0.9, [0.5, 0.3])
    0.5
    """
    return float(np.mean([whole - probability for probability in without]))


def sufficiency(whole: float, alone: Sequence[float]) -> float:
    """How much probability the answer loses when the top tokens alone are left: mean of p(text) − p(them alone). Low is faithful.

    Source: DeYoung et al. 2020 (ERASER), equation 2.

    >>> sufficiency(0.75, [0.5, 0.75])
    0.125
    """
    return float(np.mean([whole - probability for probability in alone]))


def aopc(whole: float, without: Sequence[float]) -> float:
    """The area over the perturbation curve: tokens are taken away one after the other, the highest first.

        AOPC = 1 / (K + 1) · Σ_{k = 0…K} (p(text) − p(text without the first k))

    Source: Samek et al. 2017; for texts Nguyen 2018.

    >>> aopc(1.0, [0.5, 0.0])
    0.5
    """
    return float(np.sum([whole - probability for probability in without]) / (len(without) + 1))


# ---- A text without some of its tokens


#: Tokens that go through the model together.
TOGETHER = 2048


def candidates(answered: AnsweredText) -> tuple[int, ...]:
    """The positions that may be erased: all but special tokens and, of a language model, the token at which the answer is read."""
    kept = () if answered.answer.kind == "label" else (answered.answer.position,)
    return tuple(i for i, special in enumerate(answered.text.special) if not special and i not in kept)


def probabilities(answered: AnsweredText, erased: Sequence[tuple[int, ...]]) -> list[float]:
    """The probability of the answer for the text without each of these sets of positions. The same set is computed once.

    Tokens are replaced by the mask token where the tokeniser has one, otherwise taken out.
    """
    distinct = list(dict.fromkeys(tuple(sorted(positions)) for positions in erased))
    by_length: dict[int, list[tuple[tuple[int, ...], TokenizedText, int]]] = {}
    mask_id = getattr(answered.model._tokenizer, "mask_token_id", None)
    for positions in distinct:
        position = answered.answer.position
        if mask_id is not None:
            text = masked_text(answered.text, positions, mask_id, str(answered.model._tokenizer.mask_token))  # type: ignore[union-attr]
        else:
            text, position = shortened_text(answered.text, positions), position - sum(other < position for other in positions)
        by_length.setdefault(len(text), []).append((positions, text, position))
    results: dict[tuple[int, ...], float] = {}
    for length, variants in by_length.items():
        step = _at_once(answered.model, length)
        for first in range(0, len(variants), step):
            part = variants[first : first + step]
            computed = _run(answered, [(text, position) for _, text, position in part])
            results |= dict(zip((positions for positions, _, _ in part), computed, strict=True))
    return [results[tuple(sorted(positions))] for positions in erased]


def masked_text(text: TokenizedText, positions: Iterable[int], mask_id: int, mask: str) -> TokenizedText:
    """The same text with the mask token at these positions."""
    chosen = set(positions)
    ids = tuple(mask_id if i in chosen else token_id for i, token_id in enumerate(text.ids))
    return replace(text, ids=ids, tokens=tuple(mask if i in chosen else token for i, token in enumerate(text.tokens)))


def shortened_text(text: TokenizedText, positions: Iterable[int]) -> TokenizedText:
    """The same text without the tokens at these positions."""
    chosen = set(positions)
    return text.only(i for i in range(len(text)) if i not in chosen)


def _at_once(model: Model, length: int) -> int:
    """How many texts of this length go through the model at once.

    A classifier on a decoder looks for padding where it gets several texts, and fails where it knows no padding: it gets one.
    """
    is_classifier = model.answers in ("label", "number")
    return 1 if is_classifier and model._hf.config.pad_token_id is None else max(1, TOGETHER // length)


def _run(answered: AnsweredText, variants: Sequence[tuple[TokenizedText, int]]) -> list[float]:
    """The probability of the answer for each text, read at its position. All texts have one length, so that none is padded."""
    hf = answered.hf
    inputs = batch_inputs(answered.model._hf, [Example(text) for text, _ in variants], 0)
    with model_errors(hf, answered.model.name, inputs), evaluating(hf), torch.inference_mode():
        logits = hf(**inputs, **no_cache(hf)).logits
    rows = [replace(answered.answer, position=position).probability(logits[i : i + 1])[0] for i, (_, position) in enumerate(variants)]
    return [float(row) for row in rows]
