"""Which candidate does a mention's head word attend to most, in every head of a model?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from sightline.analyses.antecedents import Question
from sightline.analyses.windows import Window
from sightline.analyses.word_maps import WordMaps

#: How a head may tell: the mention looks at its antecedent (the paper's), or the antecedent at the mention.
DIRECTIONS = ("mention→antecedent", "antecedent→mention")


@dataclass(frozen=True)
class Asked:
    """Questions of all windows, in order.

    window      the window of each question: [question]
    document    its document: [question]
    type        pronoun, proper or nominal: [question]
    """

    windows: tuple[Window, ...]
    questions: tuple[Question, ...]
    window: np.ndarray

    @classmethod
    def of(cls, windows: Sequence[Window], ask: Callable[[Sequence], Iterable[Question]]) -> Asked:  # type: ignore[type-arg]
        found = [(number, question) for number, window in enumerate(windows) for question in ask(window.mentions)]
        return cls(tuple(windows), tuple(question for _, question in found), np.array([number for number, _ in found], dtype=int))

    def __len__(self) -> int:
        return len(self.questions)

    @property
    def type(self) -> np.ndarray:
        return np.array([question.mention.type for question in self.questions], dtype=object)

    @property
    def document(self) -> np.ndarray:
        return np.array([self.windows[number].document for number in self.window], dtype=int)


@dataclass(frozen=True)
class _Batch:
    """The questions of a batch of windows as tensors."""

    numbers: np.ndarray  # [question], their places in the run
    window: torch.Tensor  # [question], the place in the batch
    query: torch.Tensor  # [question], the head word's place in its window
    candidates: torch.Tensor  # [question, word]
    right: torch.Tensor  # [question, word]


@dataclass
class AntecedentAttention:
    """Takes word-level maps layer by layer and keeps, for each head, which questions it answers rightly.

    hits   (direction, layer) → [head, question]; `looked[direction]`: whether any weight between a mention and a candidate was not zero
    """

    asked: Asked
    hits: dict[tuple[str, int], np.ndarray] = field(default_factory=dict)
    looked: dict[str, bool] = field(default_factory=lambda: dict.fromkeys(DIRECTIONS, False))
    _batch: tuple[tuple[int, ...], _Batch] | None = None

    def receive(self, maps: WordMaps) -> None:
        batch = self._indexed(maps)
        if not len(batch.numbers):
            return
        between = maps.between_words  # [window, head, word, word]
        rows = {
            DIRECTIONS[0]: between[batch.window, :, batch.query],  # [question, head, word], as keys
            DIRECTIONS[1]: between[batch.window, :, :, batch.query],  # [question, head, word], as queries
        }
        for direction, weights in rows.items():
            places = most_attended(weights, batch.candidates)  # [question, head]
            right = batch.right.gather(1, places)  # [question, head]
            key = (direction, maps.layer)
            if key not in self.hits:
                self.hits[key] = np.zeros((weights.shape[1], len(self.asked)), dtype=bool)
            self.hits[key][:, batch.numbers] = right.T.cpu().numpy()
            self.looked[direction] |= bool((weights * batch.candidates[:, None]).any())

    def _indexed(self, maps: WordMaps) -> _Batch:
        if self._batch is None or self._batch[0] != maps.sentences:
            self._batch = maps.sentences, self._index(maps)
        return self._batch[1]

    def _index(self, maps: WordMaps) -> _Batch:
        place_of = {window: place for place, window in enumerate(maps.sentences)}
        numbers = np.flatnonzero(np.isin(self.asked.window, maps.sentences))
        words = [{word: place for place, word in enumerate(self.asked.windows[number].words)} for number in maps.sentences]
        candidates = torch.zeros(len(numbers), maps.width, dtype=torch.bool)
        right = torch.zeros_like(candidates)
        windows, queries = [], []
        for row, number in enumerate(numbers):
            question, place = self.asked.questions[number], place_of[int(self.asked.window[number])]
            windows.append(place)
            queries.append(words[place][question.mention.head])
            candidates[row, [words[place][word] for word in question.candidates]] = True
            right[row, [words[place][word] for word in question.right]] = True
        device = maps.weights.device
        as_numbers = [torch.tensor(values, dtype=torch.long, device=device) for values in (windows, queries)]
        return _Batch(numbers, *as_numbers, candidates.to(device), right.to(device))


def most_attended(weights: torch.Tensor, candidates: torch.Tensor) -> torch.Tensor:
    """The candidate with the greatest weight; of equal ones the last, which is the nearest.

    weights: [question, head, word]; candidates: [question, word], at least one each → places: [question, head]

    >>> most_attended(torch.tensor([[[0.5, 0.2, 0.2, 0.1]]]), torch.tensor([[False, True, True, True]]))
    tensor([[2]])
    """
    among = weights.masked_fill(~candidates[:, None], -1)  # weights are never negative
    return weights.shape[-1] - 1 - among.flip(-1).argmax(-1)
