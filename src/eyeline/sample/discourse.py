"""The entities of a short text, and how each is mentioned: by name, by noun, or by a pronoun with only one possible antecedent."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from eyeline.sample.tree import MentionMark, Node, Phrase, leaf, mark
from eyeline.sample.words import ADJECTIVES, FEMALE, GROUPS, LOCATIONS, MALE, NUMBERS, ROLES, SOURCES, SURNAMES, THINGS, Noun

T = TypeVar("T")
#: Form → nominative, accusative, possessive, and the features of the three.
PRONOUNS = {
    "female": ("she", "her", "her", "Gender=Fem|Number=Sing|Person=3"),
    "male": ("he", "him", "his", "Gender=Masc|Number=Sing|Person=3"),
    "thing": ("it", "it", "its", "Gender=Neut|Number=Sing|Person=3"),
    "many": ("they", "them", "their", "Number=Plur|Person=3"),
}
CASES = ("subject", "object", "possessive")
ENTITY_KINDS = {"person": "person", "place": "place"}


@dataclass(eq=False)
class Entity:
    """Something that is talked about.

    form     female, male, thing or many: which pronoun means it
    name     its proper name, if it has one
    """

    number: int
    form: str
    noun: Noun
    name: tuple[str, ...] = ()
    adjective: str = ""
    n_mentions: int = 0  # how often it was mentioned
    sentence: int = -9  # where last

    @property
    def kind(self) -> str:
        return ENTITY_KINDS.get(self.noun.kind, "object")


@dataclass
class Discourse:
    """One document while it is written. A pronoun is used only where the last mention of that form was of the same entity."""

    draw: random.Random
    entities: list[Entity] = field(default_factory=list)
    last: dict[str, Entity] = field(default_factory=dict)
    sentence: int = 0
    cities: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for form, names in (("female", FEMALE), ("male", MALE)):
            named = self.draw.random() < 0.7
            name = (self.pick(names), self.pick(SURNAMES)) if named else ()
            self._add(form, self.pick([role for role in ROLES if all(role is not entity.noun for entity in self.entities)]), name)
        self._add("many", self.pick(GROUPS))

    @property
    def people(self) -> list[Entity]:
        return [entity for entity in self.entities if entity.noun.kind == "person"]

    def pick(self, choices: Sequence[T]) -> T:
        return self.draw.choice(choices)

    def chance(self, share: float) -> bool:
        return self.draw.random() < share

    def _add(self, form: str, noun: Noun, name: tuple[str, ...] = ()) -> Entity:
        adjective = self.pick(ADJECTIVES[noun.kind]) if self.chance(0.75) else ""
        self.entities.append(Entity(len(self.entities) + 1, form, noun, name, adjective))
        return self.entities[-1]

    def thing(self, kind: str, *but: Entity) -> Entity:
        """Something of this kind, but not these: one that was mentioned before, or a new one."""
        known = [entity for entity in self.entities if _fits(entity.noun, kind) and entity not in but]
        if known and self.chance(0.55):
            return self.pick(known)
        nouns = [noun for noun in (LOCATIONS if kind == "place" else THINGS) if _fits(noun, kind)]
        fresh = [noun for noun in nouns if all(noun is not entity.noun for entity in self.entities)]
        form = "many" if kind != "place" and self.chance(0.15) else "thing"
        return self._add(form, self.pick(fresh or nouns)) if fresh or not known else self.pick(known)

    def person(self, *but: Entity) -> Entity:
        """One of the people, but not these."""
        return self.pick([person for person in self.people if person not in but])

    def mention(self, entity: Entity, case: str = "subject", owner: Entity | None = None) -> Phrase:
        """A noun phrase for an entity. owner: its owner (her book, the doctor's book), where the phrase may name one."""
        recent = self.sentence - entity.sentence <= 1 and self.last.get(entity.form) is entity
        near = entity.noun.kind != "place" or case == "subject"  # not: waited at it
        if recent and near and (entity.sentence == self.sentence or self.chance(0.7)):
            phrase, link = self._pronoun(entity, case), "ana"
        else:
            phrase, link = (self._proper(entity) if entity.name else self._common(entity, owner)), "coref"
        return self._marked(entity, phrase, link)

    def _marked(self, entity: Entity, phrase: Phrase, link: str) -> Phrase:
        marked = mark(phrase, MentionMark(entity.number, entity.kind, "giv" if entity.n_mentions else "new", link))
        entity.n_mentions, entity.sentence = entity.n_mentions + 1, self.sentence
        self.last[entity.form] = entity
        return marked

    def _pronoun(self, entity: Entity, case: str) -> Phrase:
        *forms, feats = PRONOUNS[entity.form]
        poss = "|Poss=Yes" if case == "possessive" else ""
        word = Node(forms[CASES.index(case)], forms[0], "PRON", f"{feats}{poss}|PronType=Prs")
        return Phrase((word,), word)

    def _proper(self, entity: Entity) -> Phrase:
        first = Node(entity.name[0], entity.name[0], "PROPN", "Number=Sing")
        family = (leaf(entity.name[1], entity.name[1], "PROPN", first, "flat", "Number=Sing"),) if not entity.n_mentions else ()
        return Phrase((first, *family), first)

    def _common(self, entity: Entity, owner: Entity | None) -> Phrase:
        many = entity.form == "many"
        noun = entity.noun
        governor = Node(noun.many if many else noun.lemma, noun.lemma, "NOUN", f"Number={'Plur' if many else 'Sing'}")
        new = entity.n_mentions == 0
        inner: list[Node] = []
        if many and new and self.chance(0.5):
            number = self.pick(NUMBERS)
            inner.append(leaf(number, number, "NUM", governor, "nummod", "NumType=Card"))
        if entity.adjective and (new or self.chance(0.35)):
            inner.append(leaf(entity.adjective, entity.adjective, "ADJ", governor, "amod", "Degree=Pos"))
        if new and noun.first and self.chance(0.35):
            first = self.pick(noun.first)
            inner.append(leaf(first, first, "NOUN", governor, "compound", "Number=Sing"))
        before: tuple[Node, ...] = ()
        if owner is not None and owner is not entity:
            before = self._owner(owner, governor)
        elif not (many and new and inner and inner[0].upos == "NUM"):
            before = (self._article(entity, governor, (inner or [governor])[0].form),)
        after = self._origin(governor, noun) if new and noun.kind in ("text", "place") and owner is None and self.chance(0.6) else ()
        return Phrase((*before, *inner, governor, *after), governor)

    def _article(self, entity: Entity, governor: Node, following: str) -> Node:
        many = entity.form == "many"
        if entity.n_mentions == 0 and entity.noun.kind != "place" and not many and self.chance(0.6):
            form = "an" if following[0] in "aeiou" else "a"
            return leaf(form, "a", "DET", governor, "det", "Definite=Ind|PronType=Art")
        if entity.n_mentions == 0 and many and self.chance(0.4):
            return leaf("some", "some", "DET", governor, "det", "PronType=Ind")
        return leaf("the", "the", "DET", governor, "det", "Definite=Def|PronType=Art")

    def may_own(self, owner: Entity, subject: Entity) -> bool:
        """Whether a phrase may name this owner: the subject and groups of people only by a pronoun."""
        return self.last.get(owner.form) is owner or (owner is not subject and owner.form != "many")

    def _owner(self, owner: Entity, governor: Node) -> tuple[Node, ...]:
        """her, or Anna's, or the doctor's."""
        if self.last.get(owner.form) is owner:
            return self._marked(owner, self._pronoun(owner, "possessive"), "ana").under(governor, "nmod:poss")
        possessor = self._proper(owner) if owner.name else self._common(owner, None)
        possessor.words[-1].space_after = False
        clitic = leaf("'s", "'s", "PART", possessor.main_word, "case")
        return self._marked(owner, Phrase((*possessor.words, clitic), possessor.main_word), "coref").under(governor, "nmod:poss")

    def _origin(self, governor: Node, noun: Noun) -> tuple[Node, ...]:
        """a letter from Berlin, the museum in Oslo: a city that nothing else is said of."""
        cities = [city for city in SOURCES if city not in self.cities]
        if not cities or not noun.inside:
            return ()
        self.cities.append(self.pick(cities))
        word = Node(self.cities[-1], self.cities[-1], "PROPN", "Number=Sing")
        form = "in" if noun.kind == "place" else self.pick(["from", "about"])
        return Phrase((leaf(form, form, "ADP", word, "case"), word), word).under(governor, "nmod")


def _fits(noun: Noun, kind: str) -> bool:
    return noun.kind == kind or (kind == "thing" and noun.kind in ("text", "tool", "food", "object"))
