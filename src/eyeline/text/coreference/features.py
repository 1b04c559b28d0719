"""What is derived where a file does not give it: the main word and type of a mention, and the number, gender and person of pronouns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
_NOUNS = ("NN", "NNS", "NNP", "NNPS", "NOUN", "PROPN")
_PERSONAL = ("PRP", "PRP$", "PRON")
#: Words that end the part of an English noun phrase in which its main word is: at any position but the first …
_ENDS = ("IN", "TO", "WDT", "WP", "WP$", "WRB", "ADP", "SCONJ")
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
        if index and (tag in _ENDS or (noun and tag in _ENDS_AFTER_A_NOUN)):
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
