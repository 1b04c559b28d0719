"""Antecedent selection: which earlier mention does a mention refer back to? Questions, and the answers of rules and of heads.

Candidates are the main words of the mentions before it: those whose main word comes before its own. There is a question for a
mention if one of them is an antecedent, that is, of its cluster. Every method answers with a main word, which is right if an antecedent
has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from eyeline.heads import ANTECEDENT_TO_MENTION, MENTION_DIRECTIONS, MENTION_TO_ANTECEDENT
from eyeline.measure.coreference.windows import Window
from eyeline.measure.engines.work import Part, ShardResult, Work
from eyeline.measure.statistics.word_maps import WordMaps, example_of_text, word_maps_of_batch
from eyeline.models.model import Model
from eyeline.text.corpora.mentions import Mention


@dataclass(frozen=True)
class Question:
    """A mention that has an antecedent.

    before       the mentions before it, in the order of their main words
    candidates   their main words, ascending, each once
    right        the main words of its antecedents
    """

    mention: Mention
    before: tuple[Mention, ...]
    candidates: tuple[int, ...]
    right: frozenset[int]


def questions(mentions: Sequence[Mention]) -> list[Question]:
    """A question for each mention with an antecedent among these mentions.

    >>> mary, house, she = Mention(0, 0, 0, 7, "proper"), Mention(2, 3, 3, 8, "nominal"), Mention(5, 5, 5, 7, "pronoun")
    >>> [question] = questions([mary, house, she])
    >>> question.candidates, set(question.right)
    ((0, 3), {0})
    """
    result = []
    in_order = sorted(mentions, key=lambda m: (m.main_word, m.start, m.end))
    for mention in in_order:
        before = tuple(other for other in in_order if other.main_word < mention.main_word)
        right = frozenset(other.main_word for other in before if other.cluster == mention.cluster)
        if right:
            result.append(Question(mention, before, tuple(sorted({other.main_word for other in before})), right))
    return result


def nearest(question: Question, words: Sequence[str]) -> int | None:
    """The main word of the mention just before."""
    return question.before[-1].main_word


def head_match(question: Question, words: Sequence[str]) -> int | None:
    """The nearest candidate that is the same word, whatever its case; None, which is never right, where there is none."""
    return _nearest_of([other for other in question.before if _same_main_word(question.mention, other, words)])


def rule_based(question: Question, words: Sequence[str]) -> int | None:
    """Four rules in order: the same words; the same main word; agreement in number, gender and person; any mention.

    The answer is the nearest of the mentions that fit the first rule that any mention fits.
    """
    mention = question.mention
    for rule in (_same_words, _same_main_word, _agree):
        fitting = [other for other in question.before if rule(mention, other, words)]
        if fitting:
            return _nearest_of(fitting)
    return _nearest_of(question.before)


#: Method → the function that answers a question, given the words of the document.
RULES: dict[str, Callable[[Question, Sequence[str]], int | None]] = {
    "nearest": nearest,
    "head match": head_match,
    "rule-based": rule_based,
}


def agree(mention: Mention, other: Mention) -> bool:
    """Whether number, gender and person may be the same: where both are known, they must be.

    >>> he, the_man, they = (Mention(0, 0, 0, 0, "nominal", *f) for f in (("sg", "Masc", "3"), ("sg", None, "3"), ("pl", None, "3")))
    >>> agree(he, the_man), agree(he, they)
    (True, False)
    """
    for name in ("number", "gender", "person"):
        first, second = getattr(mention, name), getattr(other, name)
        if first and second and not set(first.split(",")) & set(second.split(",")):
            return False
    return True


def _same_words(mention: Mention, other: Mention, words: Sequence[str]) -> bool:
    return _lower_case(words[mention.start : mention.end + 1]) == _lower_case(words[other.start : other.end + 1])


def _same_main_word(mention: Mention, other: Mention, words: Sequence[str]) -> bool:
    return words[mention.main_word].casefold() == words[other.main_word].casefold()


def _agree(mention: Mention, other: Mention, words: Sequence[str]) -> bool:
    return agree(mention, other)


def _lower_case(words: Sequence[str]) -> list[str]:
    return [word.casefold() for word in words]


def _nearest_of(mentions: Sequence[Mention]) -> int | None:
    return mentions[-1].main_word if mentions else None


# ---- The answers of heads
# Which candidate does the main word of a mention attend to most?


@dataclass(frozen=True)
class Questions:
    """Questions of all windows, in order.

    window      the window of each question: [question]
    document    its document: [question]
    type        pronoun, proper or nominal: [question]
    """

    windows: tuple[Window, ...]
    questions: tuple[Question, ...]
    window: np.ndarray

    @classmethod
    def of(cls, windows: Sequence[Window]) -> Questions:
        numbered = [(number, question) for number, window in enumerate(windows) for question in questions(window.mentions)]
        return cls(tuple(windows), tuple(question for _, question in numbered), np.array([number for number, _ in numbered], dtype=int))

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
    """The questions of a batch of windows as tensors; candidates are sorted nearest first, padded to the most that a question has."""

    numbers: np.ndarray  # [question], their indices in the run
    window: torch.Tensor  # [question, 1], its index in the batch
    query: torch.Tensor  # [question, 1], the main word's index in its window
    candidates: torch.Tensor  # [question, candidate], their indices
    there: torch.Tensor  # [question, candidate], False for padding
    right: torch.Tensor  # [question, candidate]


@dataclass(frozen=True)
class Hits:
    """Which questions of some windows were answered rightly: the `hits` and `looked` of an AntecedentAttention."""

    right: Mapping[tuple[str, int], np.ndarray]
    looked: Mapping[str, bool]


@dataclass(frozen=True)
class AntecedentWork(Work[Part[Window], Hits]):
    """Scores the heads of these layers (None: all) on windows, for any engine."""

    layers: tuple[int, ...] | None

    def open(self, model: Model) -> Callable[[Part[Window]], ShardResult[Hits]]:
        def compute(part: Part[Window]) -> ShardResult[Hits]:
            attention = AntecedentAttention(Questions.of(part.items))
            examples = [example_of_text(model, window.text) for window in part.items]
            word_maps_of_batch(model, examples, attention.receive, layers=self.layers)
            return ShardResult(Hits(attention.hits, attention.looked), sum(len(example.source) for example in examples))

        return compute


@dataclass
class AntecedentAttention:
    """Takes word-level maps layer by layer and keeps, for each head, which questions it answers rightly.

    hits   (direction, layer) → [head, question]; `looked[direction]`: whether any weight between a mention and a candidate was not zero
    """

    questions: Questions
    hits: dict[tuple[str, int], np.ndarray] = field(default_factory=dict)
    looked: dict[str, bool] = field(default_factory=lambda: dict.fromkeys(MENTION_DIRECTIONS, False))
    _batch: tuple[tuple[int, ...], _Batch] | None = None

    def receive(self, maps: WordMaps) -> None:
        batch = self._indexed(maps)
        if not len(batch.numbers):
            return
        between = maps.between_words  # [window, head, word, word]
        rows = {
            MENTION_TO_ANTECEDENT: between[batch.window, :, batch.query, batch.candidates],  # [question, candidate, head]
            ANTECEDENT_TO_MENTION: between[batch.window, :, batch.candidates, batch.query],  # [question, candidate, head]
        }
        for direction, weights in rows.items():
            right = batch.right.gather(1, most_attended_candidate(weights, batch.there))  # [question, head]
            key = (direction, maps.layer)
            if key not in self.hits:
                self.hits[key] = np.zeros((weights.shape[2], len(self.questions)), dtype=bool)
            self.hits[key][:, batch.numbers] = right.T.cpu().numpy()
            self.looked[direction] = self.looked[direction] or bool((weights * batch.there[..., None]).any())

    def merge(self, hits: Hits, windows: Sequence[int]) -> None:
        """Add the answers to the questions of these windows."""
        order = np.concatenate([np.flatnonzero(self.questions.window == window) for window in windows])
        for key, right in hits.right.items():
            if key not in self.hits:
                self.hits[key] = np.zeros((len(right), len(self.questions)), dtype=bool)
            self.hits[key][:, order] = right
        self.looked = {direction: looked or hits.looked[direction] for direction, looked in self.looked.items()}

    def only(self, windows: Sequence[int]) -> AntecedentAttention:
        """The same for the questions of these windows alone."""
        kept = np.isin(self.questions.window, windows)
        questions = Questions.of([self.questions.windows[window] for window in windows])
        return AntecedentAttention(questions, {key: right[:, kept] for key, right in self.hits.items()}, self.looked)

    def seen(self) -> dict[tuple[str, int], np.ndarray]:
        """The hits of the directions in which the model looks at all: a decoder never looks ahead."""
        return {key: hits for key, hits in self.hits.items() if self.looked[key[0]] or key[0] == MENTION_TO_ANTECEDENT}

    def _indexed(self, maps: WordMaps) -> _Batch:
        if self._batch is None or self._batch[0] != maps.sentences:
            self._batch = maps.sentences, self._index(maps)
        return self._batch[1]

    def _index(self, maps: WordMaps) -> _Batch:
        position_of = {window: position for position, window in enumerate(maps.sentences)}
        words = [{word: position for position, word in enumerate(self.questions.windows[number].words)} for number in maps.sentences]
        numbers = np.flatnonzero(np.isin(self.questions.window, maps.sentences))
        questions = [self.questions.questions[number] for number in numbers]
        windows = [position_of[int(self.questions.window[number])] for number in numbers]
        most = max((len(question.candidates) for question in questions), default=0)
        candidates = torch.zeros(len(numbers), most, dtype=torch.long)
        there, right = torch.zeros_like(candidates, dtype=torch.bool), torch.zeros_like(candidates, dtype=torch.bool)
        for row, (question, window) in enumerate(zip(questions, windows, strict=True)):
            nearest_first = question.candidates[::-1]
            candidates[row, : len(nearest_first)] = torch.tensor([words[window][word] for word in nearest_first])
            there[row, : len(nearest_first)] = True
            right[row, : len(nearest_first)] = torch.tensor([word in question.right for word in nearest_first])
        queries = [words[window][question.mention.main_word] for question, window in zip(questions, windows, strict=True)]
        device = maps.weights.device
        window_indices, query_indices = (torch.tensor(values, dtype=torch.long, device=device)[:, None] for values in (windows, queries))
        return _Batch(numbers, window_indices, query_indices, candidates.to(device), there.to(device), right.to(device))


def most_attended_candidate(weights: torch.Tensor, there: torch.Tensor) -> torch.Tensor:
    """The candidate with the greatest weight; of equal ones the first, which is the nearest where candidates are sorted nearest first.

    weights: [question, candidate, head]; there: [question, candidate], False for padding → [question, head]

    >>> most_attended_candidate(torch.tensor([[[0.1], [0.2], [0.2], [0.5]]]), torch.tensor([[True, True, True, False]]))
    tensor([[1]])
    """
    return weights.masked_fill(~there[..., None], -1).argmax(1)  # weights are never negative
