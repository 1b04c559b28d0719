"""Mentions in files without part-of-speech tags: main word and type from the words alone."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from eyeline.text.coreference.features import PRONOUNS

#: The content of the column of tags where a file has no tags, as in LitBank's CoNLL files.
NO_TAG = frozenset({"_", "-", "*", "?"})
#: English words that end the part of a noun phrase in which its main word is, at any position but the first.
_ENDS = frozenset({
    ",", ";", ":", "(", "--", "of", "in", "on", "at", "by", "for", "with", "from", "to", "into", "upon", "over",
    "under", "near", "between", "who", "whom", "whose", "which", "that", "where", "when", "and", "or", "but",
})  # fmt: skip


def main_word_by_words(words: Sequence[str]) -> int:
    """The main word of an English noun phrase without tags, by index within it: the last one before a preposition, comma or relative word.

    >>> main_word_by_words("the old man in the town".split()), main_word_by_words(["that"]), main_word_by_words("Mary Smith".split())
    (2, 0, 1)
    """
    cut = next((index for index, word in enumerate(words) if index and word.lower() in _ENDS), len(words))
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
