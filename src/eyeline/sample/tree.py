"""Words with their governors, phrases of such words, and a sentence of them as CoNLL-U."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(eq=False)
class Node:
    """One word. `governor` is set when it is attached; the root keeps None."""

    form: str
    lemma: str
    upos: str
    feats: str = "_"
    relation: str = "root"
    governor: Node | None = None
    space_after: bool = True
    opens: list[MentionMark] = field(default_factory=list)
    closes: list[MentionMark] = field(default_factory=list)


@dataclass(eq=False)
class MentionMark:
    """A mention of an entity: where it begins and ends is marked at its words.

    entity   the number of what it refers to
    status   new or giv: first mentioned here, or before
    link     ana (a pronoun) or coref
    main_word  which of its words the others depend on, from 1
    """

    entity: int
    kind: str
    status: str
    link: str
    main_word: int = 1


@dataclass(frozen=True)
class Phrase:
    """Words in order, one of which the others depend on."""

    words: tuple[Node, ...]
    main_word: Node

    def under(self, governor: Node, relation: str) -> tuple[Node, ...]:
        """Its words, attached to a governor."""
        self.main_word.governor, self.main_word.relation = governor, relation
        return self.words


def leaf(form: str, lemma: str, upos: str, governor: Node, relation: str, feats: str = "_") -> Node:
    """A word on its own, attached to its governor."""
    return Node(form, lemma, upos, feats, relation, governor)


def mark(phrase: Phrase, mention: MentionMark) -> Phrase:
    """The phrase as a mention of an entity."""
    mention.main_word = phrase.words.index(phrase.main_word) + 1
    phrase.words[0].opens.insert(0, mention)  # the outer mention opens first
    phrase.words[-1].closes.append(mention)
    return phrase


def to_conllu(words: Sequence[Node], comments: Sequence[str]) -> str:
    """A sentence of CoNLL-U; mentions as GUM writes them, in MISC."""
    numbers = {word: number for number, word in enumerate(words, 1)}
    words[0].form = words[0].form[0].upper() + words[0].form[1:]
    text = "".join(word.form + (" " if word.space_after else "") for word in words).strip()
    lines = [*comments, f"# text = {text}"]
    for word in words:
        misc = [f"Entity={_entity(word)}"] if word.opens or word.closes else []
        misc += [] if word.space_after else ["SpaceAfter=No"]
        governor = 0 if word.governor is None else numbers[word.governor]
        columns = (numbers[word], word.form, word.lemma, word.upos, "_", word.feats, governor, word.relation, "_", "|".join(misc) or "_")
        lines.append("\t".join(map(str, columns)))
    return "\n".join(lines) + "\n\n"


def _entity(word: Node) -> str:
    """(1-person-new-cf1-2-coref opens a mention, 1) closes it, (1-…) is one of a single word; outer ones open first and close last."""
    single = [mention for mention in word.opens if mention in word.closes]
    closing = [f"{mention.entity})" for mention in word.closes if mention not in single]
    opening = []
    for mention in word.opens:
        bracket = f"({mention.entity}-{mention.kind}-{mention.status}-cf1-{mention.main_word}-{mention.link}"
        opening.append(bracket + (")" if mention in single else ""))
    return "".join([*opening, *closing])
