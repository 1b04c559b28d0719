"""Documents with marked mentions: which words refer to the same thing, and what is derived of a mention where its file does not say it."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from eyeline.errors import Advice, TextError
from eyeline.messages import Message

#: What a mention is: he, it, that · Paris, Mary Smith · the old house, everything else.
TYPES = ("pronoun", "proper", "nominal")

#: The groups of mentions that results are counted for: all of them, then those of each type.
GROUPS = ("all", *TYPES)


@dataclass(frozen=True)
class Mention:
    """Words that name or stand for something; mentions of one cluster refer to the same thing.

    start, end   its first and last word, counted over the whole document from 0, both included
    main_word    the index of its main word, between them
    cluster      a number; the same for all mentions of one thing
    type         pronoun, proper or nominal
    number       sg or pl, gender Masc, Fem or Neut (or several with commas), person 1, 2 or 3; None where it is not known
    """

    start: int
    end: int
    main_word: int
    cluster: int
    type: str
    number: str | None = None
    gender: str | None = None
    person: str | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.main_word <= self.end:
            raise TextError(f"A mention of words {self.start}…{self.end} whose main word is {self.main_word}.", "It must lie within.")
        if self.type not in TYPES:
            raise TextError(f"A mention of type {self.type!r}.", f"Choices: {', '.join(TYPES)}.")


@dataclass(frozen=True)
class MarkedDocument:
    """A document in sentences of words, and its mentions, in the order of their main words.

    spaces   whether a space follows each word in the text; empty: as its script is written

    >>> MarkedDocument("d", (("Mary", "left"), ("She", "ran")), (Mention(0, 0, 0, 7, "proper"), Mention(2, 2, 2, 7, "pronoun"))).words
    ('Mary', 'left', 'She', 'ran')
    """

    id: str
    sentences: tuple[tuple[str, ...], ...]
    mentions: tuple[Mention, ...]
    spaces: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        n = sum(map(len, self.sentences))
        outside = next((mention for mention in self.mentions if mention.end >= n), None)
        if outside is not None:
            raise TextError(f"{self.id}: a mention ends at word {outside.end}, but there are {n} words.", "Words count from 0.")
        if len(self.spaces) not in (0, n):
            raise TextError(
                f"{self.id}: {n} words, but {len(self.spaces)} marks of whether a space follows.", "Give one for each, or none."
            )
        order = sorted(self.mentions, key=lambda m: (m.main_word, m.start, m.end, m.cluster))
        object.__setattr__(self, "mentions", tuple(order))

    @cached_property
    def words(self) -> tuple[str, ...]:
        return tuple(itertools.chain.from_iterable(self.sentences))


@dataclass
class Problems:
    """What in a file could not be used: named and counted, or, when strict, an error at once."""

    strict: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    first: dict[str, Message] = field(default_factory=dict)  # kind → the first of its kind, in words
    inferred_types: int = 0  # mentions whose type was inferred from their words, because there are no tags

    def note(self, kind: str, where: str, what: Message) -> None:
        if self.strict:
            skip = Advice("With strict=False it is counted and skipped.", "Without --strict it is counted and skipped.")
            raise TextError(Message("refusal.marked", where=where, what=what), Message("refusal.correct_file"), skip)
        self.counts[kind] += 1
        self.first.setdefault(kind, Message("notice.marked.first", where=where, what=what))


# ---- Number, gender and person of a main word


#: English pronouns: words, then number, gender, person; None where the word does not show it (you, who).
_PRONOUNS: tuple[tuple[str, str | None, str | None, str | None], ...] = (
    ("i me my mine myself", "sg", None, "1"),
    ("we us our ours ourselves", "pl", None, "1"),
    ("you your yours ya ye", None, None, "2"),
    ("yourself", "sg", None, "2"),
    ("yourselves", "pl", None, "2"),
    ("he him his himself", "sg", "Masc", "3"),
    ("she her hers herself", "sg", "Fem", "3"),
    ("it its itself", "sg", "Neut", "3"),
    ("they them their theirs themselves 'em em", "pl", None, "3"),
    ("one oneself this that", "sg", None, "3"),
    ("these those", "pl", None, "3"),
)

PRONOUNS = {word: features for words, *features in _PRONOUNS for word in words.split()}

_NUMBERS = {"Sing": "sg", "Plur": "pl"}


def features(word: str, tag: str, type_: str, given: Mapping[str, str] | None = None) -> tuple[str | None, str | None, str | None]:
    """Number, gender and person of a main word: what its file gives (Number=, Gender=, Person= of CoNLL-U), else from what it is.

    Pronouns are looked up in a list of English ones; nouns are singular or plural by their Penn tag and of the third person.

    >>> features("Her", "PRP$", "pronoun"), features("cats", "NNS", "nominal"), features("猫", "NOUN", "nominal")
    (('sg', 'Fem', '3'), ('pl', None, '3'), (None, None, '3'))
    >>> features("chat", "NOUN", "nominal", {"Gender": "Masc", "Number": "Sing"})
    ('sg', 'Masc', '3')
    """
    given = given or {}
    if type_ == "pronoun":
        number, gender, person = PRONOUNS.get(word.casefold().replace("’", "'"), (None, None, None))
    else:
        number, gender, person = {"NNS": "pl", "NNPS": "pl", "NN": "sg", "NNP": "sg"}.get(tag), None, "3"
    return _NUMBERS.get(given.get("Number", ""), number), given.get("Gender", gender), given.get("Person", person)


# ---- Main word and type from dependencies and part-of-speech tags


_NOUNS = ("NN", "NNS", "NNP", "NNPS", "NOUN", "PROPN")

_PERSONAL = ("PRP", "PRP$", "PRON")

#: Words that end the part of an English noun phrase in which its main word is: at any position but the first …
_END_TAGS = ("IN", "TO", "WDT", "WP", "WP$", "WRB", "ADP", "SCONJ")

#: … and, only after a noun: commas, conjunctions, brackets, verbs (the man, who …; Mary and John; people living there).
_ENDS_AFTER_A_NOUN = (
    ",", ":", "CC", "-LRB-", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ", "MD", "RB", "PUNCT", "CCONJ", "VERB", "AUX", "ADV",
)  # fmt: skip


def main_word_by_dependencies(start: int, end: int, governors: Sequence[int]) -> int:
    """The first word of the mention whose own governor lies outside of it; governors: of every word, -1 for a root.

    >>> main_word_by_dependencies(0, 2, [1, -1, 3, 1])   # the man in …
    1
    """
    return next((word for word in range(start, end + 1) if not start <= governors[word] <= end), end)


def main_word_by_tags(tags: Sequence[str]) -> int:
    """The main word of an English noun phrase from its tags, Penn's or universal ones, as an index within it.

    The phrase is cut before the first preposition or relative word (but not at its first word), and before the first comma,
    conjunction, bracket, verb or adverb that follows a noun. Of what remains, the last noun; else the last pronoun; else the last word.

    >>> main_word_by_tags("DT NN POS NN IN DT NN".split())   # the man 's friend in the house
    3
    >>> main_word_by_tags("DT JJ , JJ NN".split()), main_word_by_tags("DT IN PRP".split()), main_word_by_tags("NNP CC NNP".split())
    (4, 0, 0)
    >>> main_word_by_tags("DET ADJ NOUN ADP NOUN".split())   # the old man in town
    2
    """
    cut, noun = len(tags), False
    for index, tag in enumerate(tags):
        if index and (tag in _END_TAGS or (noun and tag in _ENDS_AFTER_A_NOUN)):
            cut = index
            break
        noun = noun or tag in _NOUNS
    for wanted in (_NOUNS, _PERSONAL):
        candidates = [index for index in range(cut) if tags[index] in wanted]
        if candidates:
            return candidates[-1]
    return cut - 1


def type_by_tag(tag: str, *, alone: bool) -> str:
    """The type of a mention from the tag of its main word, a Penn tag or a universal one; `alone`: the mention is that one word.

    >>> type_by_tag("PRP$", alone=False), type_by_tag("PROPN", alone=True), type_by_tag("DT", alone=True), type_by_tag("NN", alone=False)
    ('pronoun', 'proper', 'pronoun', 'nominal')
    """
    if tag in ("PRP", "PRP$", "PRON", "WP", "WP$") or (alone and tag in ("DT", "EX", "WDT")):
        return "pronoun"
    return "proper" if tag in ("NNP", "NNPS", "PROPN") else "nominal"


# ---- Main word and type from the words alone, in files without tags


#: The content of the column of tags where a file has no tags, as in LitBank's CoNLL files.
NO_TAG = frozenset({"_", "-", "*", "?"})

#: English words that end the part of a noun phrase in which its main word is, at any position but the first.
_END_WORDS = frozenset({
    ",", ";", ":", "(", "--", "of", "in", "on", "at", "by", "for", "with", "from", "to", "into", "upon", "over",
    "under", "near", "between", "who", "whom", "whose", "which", "that", "where", "when", "and", "or", "but",
})  # fmt: skip


def main_word_by_words(words: Sequence[str]) -> int:
    """The main word of an English noun phrase without tags, by index within it: the last one before a preposition, comma or relative word.

    >>> main_word_by_words("the old man in the town".split()), main_word_by_words(["that"]), main_word_by_words("Mary Smith".split())
    (2, 0, 1)
    """
    cut = next((index for index, word in enumerate(words) if index and word.lower() in _END_WORDS), len(words))
    return cut - 1


def type_by_word(word: str, *, starts_sentence: bool = False, lower_case: Collection[str] = ()) -> str:
    """The type of a mention by its main word: on the list of English pronouns; a name by its capital; else nominal.

    The first word of a sentence has a capital in any case: it is not a name if the document also has it in lower case.
    lower_case: the words of the document that begin with a small letter.

    >>> type_by_word("She"), type_by_word("Mary"), type_by_word("house"), type_by_word("Men", starts_sentence=True, lower_case={"men"})
    ('pronoun', 'proper', 'nominal', 'nominal')
    """
    if word.casefold().replace("’", "'") in PRONOUNS:
        return "pronoun"
    if not word[:1].isupper() or (starts_sentence and word.lower() in lower_case):
        return "nominal"
    return "proper"
