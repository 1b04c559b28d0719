"""A text without some of its tokens: replaced by the mask token where the tokeniser has one, otherwise taken out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import torch
from transformers import PreTrainedModel

from eyeline.analyses.causes.answer import AnsweredText
from eyeline.capture.collect import Sides
from eyeline.capture.inputs import batch_inputs
from eyeline.capture.model_state import EvaluationMode
from eyeline.capture.opening.tiny_pass import no_cache
from eyeline.text.tokenized import TokenizedText

#: Tokens that go through the model together.
TOGETHER = 2048


def candidates(answered: AnsweredText) -> tuple[int, ...]:
    """The positions that may be erased: all but special tokens and, of a language model, the token at which the answer is read."""
    kept = () if answered.answer.kind == "label" else (answered.answer.position,)
    return tuple(i for i, special in enumerate(answered.text.special) if not special and i not in kept)


def masked_text(text: TokenizedText, positions: Iterable[int], mask_id: int, mask: str) -> TokenizedText:
    """The same text with the mask token at these positions."""
    chosen = set(positions)
    ids = tuple(mask_id if i in chosen else token_id for i, token_id in enumerate(text.ids))
    return replace(text, ids=ids, tokens=tuple(mask if i in chosen else token for i, token in enumerate(text.tokens)))


def shortened_text(text: TokenizedText, positions: Iterable[int]) -> TokenizedText:
    """The same text without the tokens at these positions."""
    chosen = set(positions)
    return text.only(i for i in range(len(text)) if i not in chosen)


def probabilities(answered: AnsweredText, erased: Sequence[tuple[int, ...]]) -> list[float]:
    """The probability of the answer for the text without each of these sets of positions. The same set is computed once."""
    distinct = list(dict.fromkeys(tuple(sorted(positions)) for positions in erased))
    by_length: dict[int, list[tuple[tuple[int, ...], TokenizedText, int]]] = {}
    mask_id = getattr(answered.model.tokenizer, "mask_token_id", None)
    for positions in distinct:
        position = answered.answer.position
        if mask_id is not None:
            text = masked_text(answered.text, positions, mask_id, str(answered.model.tokenizer.mask_token))  # type: ignore[union-attr]
        else:
            text, position = shortened_text(answered.text, positions), position - sum(other < position for other in positions)
        by_length.setdefault(len(text), []).append((positions, text, position))
    results: dict[tuple[int, ...], float] = {}
    for length, variants in by_length.items():
        step = _at_once(answered.hf, length)
        for first in range(0, len(variants), step):
            part = variants[first : first + step]
            computed = _run(answered, [(text, position) for _, text, position in part])
            results |= dict(zip((positions for positions, _, _ in part), computed, strict=True))
    return [results[tuple(sorted(positions))] for positions in erased]


def _at_once(hf: PreTrainedModel, length: int) -> int:
    """How many texts of this length go through the model at once.

    A classifier on a decoder looks for padding where it gets several texts, and fails where it knows no padding: it gets one.
    """
    is_classifier = type(hf).__name__.endswith("ForSequenceClassification")
    return 1 if is_classifier and hf.config.pad_token_id is None else max(1, TOGETHER // length)


def _run(answered: AnsweredText, variants: Sequence[tuple[TokenizedText, int]]) -> list[float]:
    """The probability of the answer for each text, read at its position. All texts have one length, so that none is padded."""
    hf = answered.hf
    inputs = batch_inputs(answered.model.hf, [Sides(text) for text, _ in variants], 0)
    with EvaluationMode(hf).for_a_pass(), torch.inference_mode():
        logits = hf(**inputs, **no_cache(hf)).logits
    rows = [replace(answered.answer, position=position).probability(logits[i : i + 1])[0] for i, (_, position) in enumerate(variants)]
    return [float(row) for row in rows]
