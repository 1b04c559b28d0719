"""Antecedent selection: which earlier mention does a mention refer back to? The questions, and rules that answer them.

Candidates are the main words of the mentions before it: those whose main word comes before its own. There is a question for a
mention if one of them is an antecedent, that is, of its cluster. Every method answers with a main word, which is right if an antecedent
has it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from eyeline.text.coreference.mention import Mention


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
    return _folded(words[mention.start : mention.end + 1]) == _folded(words[other.start : other.end + 1])


def _same_main_word(mention: Mention, other: Mention, words: Sequence[str]) -> bool:
    return words[mention.main_word].casefold() == words[other.main_word].casefold()


def _agree(mention: Mention, other: Mention, words: Sequence[str]) -> bool:
    return agree(mention, other)


def _folded(words: Sequence[str]) -> list[str]:
    return [word.casefold() for word in words]


def _nearest_of(mentions: Sequence[Mention]) -> int | None:
    return mentions[-1].main_word if mentions else None
