"""The built-in treebank: English sentences with exact dependencies and coreference, made up from a grammar and a seed."""

from __future__ import annotations

import gzip
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from eyeline.errors import TextError
from eyeline.storage.files import write_whole
from eyeline.text.corpora.treebank import Treebank, parse_treebank

# ---- Words with their governors, phrases of such words, and a sentence of them as CoNLL-U


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


# ---- The words: made up by us; nothing of them was taken from a text


@dataclass(frozen=True)
class Verb:
    """A verb and what it takes.

    takes     the kind of its object: text, tool, food, thing (any of them), person; empty: none
    particle  picked *up*
    to        the preposition of its place (walked *to* the station); empty: none
    """

    lemma: str
    past: str
    participle: str
    ing: str
    takes: str = ""
    particle: str = ""
    to: str = ""


@dataclass(frozen=True)
class Noun:
    """A common noun.

    kind      person, place, text, tool, food or object
    plural    where it is not made with s
    first     nouns that make a compound with it: travel book
    inside    of a place: whether one can be in it
    """

    lemma: str
    kind: str
    plural: str = ""
    first: tuple[str, ...] = ()
    inside: bool = True

    @property
    def many(self) -> str:
        return self.plural or f"{self.lemma}s"


FEMALE = ("Anna", "Clara", "Maria", "Susan", "Emily", "Ruth", "Helen", "Laura", "Julia", "Nina", "Sarah", "Alice")

MALE = ("Peter", "James", "Thomas", "Paul", "Daniel", "Robert", "Martin", "Simon", "David", "George", "Henry", "Oscar")

SURNAMES = ("Weber", "Taylor", "Novak", "Brown", "Rossi", "Miller", "Lang", "Hughes", "Moreau", "Clark", "Berg", "Ward")

#: People, alone and as a group; a person of either gender may be any of these.
ROLES = (
    Noun("doctor", "person"), Noun("teacher", "person"), Noun("baker", "person"), Noun("gardener", "person"), Noun("lawyer", "person"),
    Noun("painter", "person"), Noun("pilot", "person"), Noun("nurse", "person"), Noun("farmer", "person"), Noun("writer", "person"),
    Noun("engineer", "person"), Noun("singer", "person"), Noun("neighbour", "person"), Noun("librarian", "person"),
)  # fmt: skip

GROUPS = (
    Noun("student", "person"), Noun("child", "person", "children"), Noun("tourist", "person"), Noun("musician", "person"),
    Noun("worker", "person"), Noun("guest", "person"), Noun("visitor", "person"), Noun("friend", "person"),
)  # fmt: skip

THINGS = (
    Noun("letter", "text", first=("love", "family")), Noun("book", "text", first=("travel", "history")),
    Noun("report", "text", first=("police", "travel")), Noun("map", "text", first=("city", "road")), Noun("poem", "text", first=("love",)),
    Noun("note", "text", first=("school",)), Noun("radio", "tool", first=("car", "kitchen")), Noun("lamp", "tool", first=("desk", "oil")),
    Noun("camera", "tool", first=("film",)), Noun("computer", "tool", first=("office", "school")), Noun("engine", "tool", first=("car",)),
    Noun("clock", "tool", first=("kitchen", "wall")), Noun("cake", "food", first=("birthday", "chocolate")),
    Noun("pie", "food", first=("apple", "cheese")), Noun("melon", "food"), Noun("sandwich", "food", "sandwiches", ("cheese", "egg")),
    Noun("box", "object", "boxes", ("tool", "gift")), Noun("basket", "object", first=("picnic", "fruit")),
    Noun("key", "object", first=("house", "office")), Noun("coat", "object", first=("winter", "leather")),
    Noun("bag", "object", first=("travel", "leather")), Noun("ticket", "object", first=("train", "theatre")), Noun("umbrella", "object"),
    Noun("picture", "object", first=("holiday", "family")),
)  # fmt: skip

LOCATIONS = (
    Noun("garden", "place", first=("rose", "hotel")), Noun("station", "place", first=("train", "bus")), Noun("kitchen", "place"),
    Noun("market", "place", first=("fish", "flower")), Noun("library", "place", first=("school", "city")),
    Noun("office", "place", first=("post", "ticket")), Noun("hotel", "place", first=("beach", "city")),
    Noun("museum", "place", first=("art", "city")), Noun("school", "place", first=("music", "village")),
    Noun("bridge", "place", first=("railway", "stone"), inside=False), Noun("river", "place", inside=False),
    Noun("harbour", "place", first=("fishing",), inside=False), Noun("theatre", "place", first=("city",)),
    Noun("village", "place", first=("mountain",)), Noun("bakery", "place", "bakeries"),
)  # fmt: skip

ADJECTIVES = {
    "person": ("young", "old", "friendly", "tall", "quiet", "famous", "clever", "tired"),
    "place": ("old", "small", "crowded", "quiet", "new", "beautiful", "large"),
    "text": ("long", "short", "strange", "old", "secret", "important", "funny"),
    "tool": ("broken", "old", "new", "expensive", "heavy", "useful"),
    "food": ("fresh", "small", "large", "delicious"),
    "object": ("heavy", "small", "red", "green", "lost", "old", "expensive"),
}

STATES = ("tired", "happy", "late", "angry", "hungry", "nervous", "proud", "ready", "surprised")

DEGREES = ("very", "quite", "rather", "too")

MANNERS = ("slowly", "quickly", "carefully", "quietly", "finally", "secretly", "suddenly")

TIMES = ("afterwards", "later", "again", "early", "today")

NUMBERS = ("two", "three", "four", "five")

SOURCES = ("Berlin", "London", "Madrid", "Vienna", "Lisbon", "Oslo")

INSIDE = ("in", "near", "behind", "outside")

TAKES_THING = (
    Verb("find", "found", "found", "finding", "thing"), Verb("buy", "bought", "bought", "buying", "thing"),
    Verb("sell", "sold", "sold", "selling", "thing"), Verb("lose", "lost", "lost", "losing", "thing"),
    Verb("hide", "hid", "hidden", "hiding", "thing"), Verb("carry", "carried", "carried", "carrying", "thing"),
    Verb("bring", "brought", "brought", "bringing", "thing"), Verb("read", "read", "read", "reading", "text"),
    Verb("write", "wrote", "written", "writing", "text"), Verb("copy", "copied", "copied", "copying", "text"),
    Verb("repair", "repaired", "repaired", "repairing", "tool"), Verb("clean", "cleaned", "cleaned", "cleaning", "tool"),
    Verb("prepare", "prepared", "prepared", "preparing", "food"), Verb("share", "shared", "shared", "sharing", "food"),
)  # fmt: skip

TAKES_PERSON = (
    Verb("thank", "thanked", "thanked", "thanking", "person"), Verb("visit", "visited", "visited", "visiting", "person"),
    Verb("help", "helped", "helped", "helping", "person"), Verb("meet", "met", "met", "meeting", "person"),
    Verb("follow", "followed", "followed", "following", "person"), Verb("invite", "invited", "invited", "inviting", "person"),
    Verb("see", "saw", "seen", "seeing", "person"), Verb("call", "called", "called", "calling", "person"),
)  # fmt: skip

WITH_PARTICLE = (
    Verb("pick", "picked", "picked", "picking", "thing", "up"), Verb("put", "put", "put", "putting", "thing", "away"),
    Verb("throw", "threw", "thrown", "throwing", "thing", "away"), Verb("give", "gave", "given", "giving", "thing", "back"),
    Verb("hand", "handed", "handed", "handing", "thing", "over"), Verb("take", "took", "taken", "taking", "thing", "out"),
    Verb("turn", "turned", "turned", "turning", "tool", "off"), Verb("turn", "turned", "turned", "turning", "tool", "on"),
    Verb("write", "wrote", "written", "writing", "text", "down"), Verb("cut", "cut", "cut", "cutting", "food", "up"),
)  # fmt: skip

WITHOUT_OBJECT = (
    Verb("walk", "walked", "walked", "walking", to="to"), Verb("run", "ran", "run", "running", to="to"),
    Verb("wait", "waited", "waited", "waiting", to="at"), Verb("sleep", "slept", "slept", "sleeping", to="in"),
    Verb("work", "worked", "worked", "working", to="in"), Verb("live", "lived", "lived", "living", to="near"),
    Verb("return", "returned", "returned", "returning", to="to"), Verb("arrive", "arrived", "arrived", "arriving", to="at"),
)  # fmt: skip

STANDING = Verb("stand", "stood", "stood", "standing", to="near")

GIVING = (
    Verb("give", "gave", "given", "giving", "thing"), Verb("show", "showed", "shown", "showing", "thing"),
    Verb("send", "sent", "sent", "sending", "thing"), Verb("sell", "sold", "sold", "selling", "thing"),
)  # fmt: skip

SAYING = (
    Verb("say", "said", "said", "saying"), Verb("think", "thought", "thought", "thinking"), Verb("know", "knew", "known", "knowing"),
    Verb("hope", "hoped", "hoped", "hoping"), Verb("believe", "believed", "believed", "believing"),
)  # fmt: skip

WANTING = (
    Verb("want", "wanted", "wanted", "wanting"), Verb("try", "tried", "tried", "trying"), Verb("decide", "decided", "decided", "deciding"),
    Verb("promise", "promised", "promised", "promising"),
)  # fmt: skip


# ---- The entities of a short text, and how each is mentioned: by name, by noun, or by a pronoun with only one possible antecedent


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


# ---- Clauses: active and passive, with auxiliaries, particles, relative and subordinate clauses, in the order in which they are read


PAST = "Mood=Ind|Tense=Past|VerbForm=Fin"

#: How often each kind of main clause is drawn.
FRAMES = {
    "transitive": 16,
    "particle": 14,
    "passive": 18,
    "intransitive": 8,
    "giving": 8,
    "copular": 4,
    "saying": 27,
    "wanting": 10,
}

#: Tenses of a main clause, and of one within another; the weights of each.
TENSES = {"past": (45, 60), "had": (20, 25), "will": (12, 0), "was": (13, 15), "can": (10, 0)}


class Clauses:
    """Clauses about the people and things of one document."""

    def __init__(self, discourse: Discourse) -> None:
        self.d = discourse
        self.within = False  # whether the clause is within another: no "will" and no "should" there

    def main(self) -> Phrase:
        """A clause that can stand alone, sometimes with one in front of it, behind it or beside it."""
        if self.d.chance(0.12):
            return self._fronted()
        frame = self.d.draw.choices(list(FRAMES), list(FRAMES.values()))[0]
        subject = self.d.person()
        clause: Phrase = getattr(self, f"_{frame}")(subject)
        if frame not in ("saying", "wanting") and self.d.chance(0.22):
            clause = self._with(clause, self._because(subject))
        elif frame in ("transitive", "particle", "intransitive") and self.d.chance(0.4):
            clause = self._with(clause, self._and(clause.main_word, subject))
        return clause

    # -- the frames ------------------------------------------------------------------------------------------------------------------

    def _transitive(self, subject: Entity) -> Phrase:
        to_person = self.d.chance(0.35)
        verb = self.d.pick(TAKES_PERSON if to_person else TAKES_THING)
        before = self.d.mention(subject)
        auxiliaries, governor = self._verb(verb, subject)
        taken = self.d.person(subject) if to_person else self.d.thing(verb.takes)
        object_phrase = self._noun_phrase(taken, "object", None if to_person else self._owner(subject))
        adverb = self._adverb(governor)
        return Phrase(
            (
                *before.under(governor, "nsubj"),
                *auxiliaries,
                *adverb,
                governor,
                *object_phrase.under(governor, "obj"),
                *self._where_phrase(governor),
            ),
            governor,
        )

    def _particle(self, subject: Entity) -> Phrase:
        verb = self.d.pick(WITH_PARTICLE)
        before = self.d.mention(subject)
        auxiliaries, governor = self._verb(verb, subject)
        taken = self.d.thing(verb.takes)
        split = self.d.chance(0.4)
        object_phrase = (
            self.d.mention(taken, "object", self._owner(subject)) if split else self._noun_phrase(taken, "object", self._owner(subject))
        )
        particle = leaf(verb.particle, verb.particle, "ADP", governor, "compound:prt")
        pronoun = object_phrase.main_word.upos == "PRON"
        behind = (
            (*object_phrase.under(governor, "obj"), particle) if split or pronoun else (particle, *object_phrase.under(governor, "obj"))
        )
        return Phrase((*before.under(governor, "nsubj"), *auxiliaries, governor, *behind, *self._time(governor)), governor)

    def _passive(self, subject: Entity) -> Phrase:
        """The letter was found by Anna: `subject` is who does it, or is left out."""
        particle = self.d.chance(0.2)
        to_person = not particle and self.d.chance(0.35)
        verb = self.d.pick(WITH_PARTICLE if particle else TAKES_PERSON if to_person else TAKES_THING)
        patient = self.d.person(subject) if to_person else self.d.thing(verb.takes)
        before = self.d.mention(patient)
        governor = Node(verb.participle, verb.lemma, "VERB", "Tense=Past|VerbForm=Part|Voice=Pass")
        adverb = self._adverb(governor)
        be = self._be_passive(patient, governor)
        after = [leaf(verb.particle, verb.particle, "ADP", governor, "compound:prt")] if verb.particle else []
        if self.d.chance(0.6):
            agent = self.d.mention(subject, "object")
            by = leaf("by", "by", "ADP", agent.main_word, "case")
            after += [by, *agent.under(governor, "obl:agent")]
        where = self._where_phrase(governor)
        return Phrase((*before.under(governor, "nsubj:pass"), *be, *adverb, governor, *after, *where), governor)

    def _intransitive(self, subject: Entity) -> Phrase:
        verb = self.d.pick(WITHOUT_OBJECT)
        before = self.d.mention(subject)
        auxiliaries, governor = self._verb(verb, subject)
        to = self._to(verb, governor)
        return Phrase((*before.under(governor, "nsubj"), *auxiliaries, *self._adverb(governor), governor, *to), governor)

    def _giving(self, subject: Entity) -> Phrase:
        verb = self.d.pick(GIVING)
        before = self.d.mention(subject)
        auxiliaries, governor = self._verb(verb, subject)
        receiver = self.d.mention(self.d.person(subject), "object")
        given = self._noun_phrase(self._not_a_pronoun("thing"), "object", self._owner(subject))
        return Phrase(
            (*before.under(governor, "nsubj"), *auxiliaries, governor, *receiver.under(governor, "iobj"), *given.under(governor, "obj")),
            governor,
        )

    def _copular(self, subject: Entity) -> Phrase:
        before = self.d.mention(subject)
        state = self.d.pick(STATES)
        governor = Node(state, state, "ADJ", "Degree=Pos")
        degree = self.d.pick(DEGREES)
        be = leaf("were" if subject.form == "many" else "was", "be", "AUX", governor, "cop", PAST)
        more = (leaf(degree, degree, "ADV", governor, "advmod"),) if self.d.chance(0.6) else ()
        return Phrase((*before.under(governor, "nsubj"), be, *more, governor), governor)

    def _saying(self, subject: Entity) -> Phrase:
        verb = self.d.pick(SAYING)
        before = self.d.mention(subject)
        auxiliaries, governor = self._verb(verb, subject, simple=True)
        inner = self._inner(self.d.person() if self.d.chance(0.6) else subject, "copular", "intransitive", "passive", "particle")
        that = (leaf("that", "that", "SCONJ", inner.main_word, "mark"),) if self.d.chance(0.8) else ()
        return Phrase((*before.under(governor, "nsubj"), *auxiliaries, governor, *that, *inner.under(governor, "ccomp")), governor)

    def _wanting(self, subject: Entity) -> Phrase:
        verb = self.d.pick(WANTING)
        before = self.d.mention(subject)
        auxiliaries, governor = self._verb(verb, subject, simple=True)
        wanted = self.d.pick(WITH_PARTICLE if self.d.chance(0.4) else TAKES_THING)
        inner = Node(wanted.lemma, wanted.lemma, "VERB", "VerbForm=Inf")
        to = leaf("to", "to", "PART", inner, "mark")
        object_phrase = self._noun_phrase(self.d.thing(wanted.takes), "object", self._owner(subject))
        particle = (leaf(wanted.particle, wanted.particle, "ADP", inner, "compound:prt"),) if wanted.particle else ()
        pronoun = object_phrase.main_word.upos == "PRON"
        behind = (*object_phrase.under(inner, "obj"), *particle) if pronoun else (*particle, *object_phrase.under(inner, "obj"))
        complement = Phrase((to, inner, *behind), inner)
        return Phrase((*before.under(governor, "nsubj"), *auxiliaries, governor, *complement.under(governor, "xcomp")), governor)

    # -- clauses beside clauses --------------------------------------------------------------------------------------------------------

    def _inner(self, subject: Entity, *frames: str) -> Phrase:
        """A clause within another."""
        self.within = True
        clause: Phrase = getattr(self, f"_{self.d.pick(frames)}")(subject)
        self.within = False
        return clause

    def _fronted(self) -> Phrase:
        """When Anna arrived, she …"""
        subject = self.d.person()
        inner = self._inner(subject, "copular", "intransitive")
        word = self.d.pick(["when", "because", "after"])
        marker = leaf(word, word, "SCONJ", inner.main_word, "mark")
        inner.words[-1].space_after = False
        comma = leaf(",", ",", "PUNCT", inner.main_word, "punct")
        clause = self.d.pick([self._transitive, self._particle])(subject)
        return Phrase(
            (marker, *Phrase((*inner.words, comma), inner.main_word).under(clause.main_word, "advcl"), *clause.words), clause.main_word
        )

    def _because(self, subject: Entity) -> tuple[Phrase, str]:
        inner = self._inner(subject if self.d.chance(0.6) else self.d.person(), "copular", "passive", "particle")
        word = self.d.pick(["because", "when", "before", "although"])
        marker = leaf(word, word, "SCONJ", inner.main_word, "mark")
        return Phrase((marker, *inner.words), inner.main_word), "advcl"

    def _and(self, beside: Node, subject: Entity) -> tuple[Phrase, str]:
        """and carried it: the same subject, in the same form of the verb."""
        verb = self.d.pick(WITHOUT_OBJECT)
        forms = {verb_form: form for form, verb_form in ((verb.past, PAST), (verb.participle, "Tense=Past|VerbForm=Part"))}
        form = forms.get(beside.feats) or (verb.ing if "VerbForm=Part" in beside.feats else verb.lemma)
        governor = Node(form, verb.lemma, "VERB", beside.feats)
        conjunction = leaf("and", "and", "CCONJ", governor, "cc")
        return Phrase((conjunction, governor, *self._to(verb, governor)), governor), "conj"

    @staticmethod
    def _with(clause: Phrase, added: tuple[Phrase, str]) -> Phrase:
        other, relation = added
        return Phrase((*clause.words, *other.under(clause.main_word, relation)), clause.main_word)

    # -- parts of clauses --------------------------------------------------------------------------------------------------------------

    def _verb(self, verb: Verb, subject: Entity, *, simple: bool = False) -> tuple[tuple[Node, ...], Node]:
        """The verb in some tense, and its auxiliaries."""
        many = subject.form == "many"
        weights = [weight[self.within] for weight in TENSES.values()]
        tense = "past" if simple and self.d.chance(0.8) else self.d.draw.choices(list(TENSES), weights)[0]
        if tense == "past":
            return (), Node(verb.past, verb.lemma, "VERB", PAST)
        if tense == "had":
            governor = Node(verb.participle, verb.lemma, "VERB", "Tense=Past|VerbForm=Part")
            return (leaf("had", "have", "AUX", governor, "aux", PAST),), governor
        if tense == "was":
            governor = Node(verb.ing, verb.lemma, "VERB", "Tense=Pres|VerbForm=Part")
            return (leaf("were" if many else "was", "be", "AUX", governor, "aux", PAST),), governor
        governor = Node(verb.lemma, verb.lemma, "VERB", "VerbForm=Inf")
        form = "will" if tense == "will" else self.d.pick(["could", "should", "would"])
        lemma = {"could": "can", "should": "shall", "would": "will"}.get(form, form)
        negation = (leaf("not", "not", "PART", governor, "advmod", "Polarity=Neg"),) if self.d.chance(0.2) else ()
        return (leaf(form, lemma, "AUX", governor, "aux", "VerbForm=Fin"), *negation), governor

    def _be_passive(self, patient: Entity, governor: Node) -> tuple[Node, ...]:
        if self.d.chance(0.3):
            form = "had" if self.within else self.d.pick(["had", "will"])
            be = ("been", "Tense=Past|VerbForm=Part") if form == "had" else ("be", "VerbForm=Inf")
            lemma = "have" if form == "had" else "will"
            return leaf(form, lemma, "AUX", governor, "aux", "VerbForm=Fin"), leaf(be[0], "be", "AUX", governor, "aux:pass", be[1])
        return (leaf("were" if patient.form == "many" else "was", "be", "AUX", governor, "aux:pass", PAST),)

    def _noun_phrase(self, entity: Entity, case: str, owner: Entity | None) -> Phrase:
        """A mention, and sometimes a relative clause that says more of it: the letter that she had found."""
        phrase = self.d.mention(entity, case, owner)
        if phrase.main_word.upos != "NOUN" or not self.d.chance(0.42):
            return phrase
        clause = self._relative(entity)
        last = phrase.words[-1]
        closing = [mention for mention in last.closes if phrase.words[0].opens[:1] == [mention]]
        for mention in closing:  # the mention goes on to the end of its relative clause
            last.closes.remove(mention)
            clause.words[-1].closes.append(mention)
        return Phrase((*phrase.words, *clause.under(phrase.main_word, "acl:relcl")), phrase.main_word)

    def _relative(self, entity: Entity) -> Phrase:
        if entity.noun.kind in ("place", "person"):
            verb = STANDING if entity.noun.kind == "place" else self.d.pick(WITHOUT_OBJECT)
            governor = Node(verb.past, verb.lemma, "VERB", PAST)
            form = "that" if entity.noun.kind == "place" else "who"
            subject = leaf(form, form, "PRON", governor, "nsubj", "PronType=Rel")
            return Phrase((subject, governor, *self._to(verb, governor, entity)), governor)
        form = self.d.pick(["that", "which"])
        that = Node(form, form, "PRON", "PronType=Rel")
        finder = self.d.person()
        before = self.d.mention(finder)
        verb = self.d.pick([verb_form for verb_form in TAKES_THING if verb_form.takes in ("thing", entity.noun.kind)])
        had = self.d.chance(0.5)
        governor = Node(verb.participle if had else verb.past, verb.lemma, "VERB", "Tense=Past|VerbForm=Part" if had else PAST)
        auxiliary = (leaf("had", "have", "AUX", governor, "aux", PAST),) if had else ()
        that.governor, that.relation = governor, "obj"
        return Phrase((that, *before.under(governor, "nsubj"), *auxiliary, governor), governor)

    def _to(self, verb: Verb, governor: Node, *but: Entity) -> tuple[Node, ...]:
        """to the station: where a verb leads, or where it happens."""
        entity = self.d.thing("place", *but)
        object_phrase = self.d.mention(entity, "object")
        form = verb.to if verb.to != "in" or entity.noun.inside else "near"
        return leaf(form, form, "ADP", object_phrase.main_word, "case"), *object_phrase.under(governor, "obl")

    def _where_phrase(self, governor: Node) -> tuple[Node, ...]:
        if not self.d.chance(0.4):
            return self._time(governor)
        entity = self.d.thing("place")
        word = self.d.pick(INSIDE) if entity.noun.inside else "near"
        object_phrase = self._noun_phrase(entity, "object", None)
        return leaf(word, word, "ADP", object_phrase.main_word, "case"), *object_phrase.under(governor, "obl")

    def _not_a_pronoun(self, kind: str) -> Entity:
        """An entity that would not be mentioned by a pronoun here: not *gave her it*."""
        drawn = self.d.thing(kind)
        for _ in range(8):
            if self.d.last.get(drawn.form) is not drawn:
                break
            drawn = self.d.thing(kind)
        if self.d.last.get(drawn.form) is drawn:
            del self.d.last[drawn.form]
        return drawn

    def _adverb(self, governor: Node) -> tuple[Node, ...]:
        word = self.d.pick(MANNERS)
        return (leaf(word, word, "ADV", governor, "advmod"),) if self.d.chance(0.22) else ()

    def _time(self, governor: Node) -> tuple[Node, ...]:
        word = self.d.pick(TIMES)
        return (leaf(word, word, "ADV", governor, "advmod"),) if self.d.chance(0.25) else ()

    def _owner(self, subject: Entity) -> Entity | None:
        """The owner of a thing: the subject, another person, or nobody."""
        owner = subject if self.d.chance(0.6) else self.d.person(subject)
        return owner if self.d.chance(0.6) and self.d.may_own(owner, subject) else None


# ---- The treebank


NAME = "sample-treebank"

#: The fewest and the most sentences of a document.
SHORTEST, LONGEST = 3, 7


def sample_treebank(n: int = 500, seed: int = 0) -> Treebank:
    """`n` made-up sentences with Universal Dependencies, coreference in their MISC column; the same for the same n and seed.

    >>> bank = sample_treebank(20, seed=1)
    >>> len(bank), bank.skipped
    (20, {})
    """
    return parse_treebank(sample_conllu(n, seed), NAME)


def sample_conllu(n: int = 500, seed: int = 0) -> str:
    """The same as CoNLL-U, mentions as GUM writes them (Entity= in MISC)."""
    if n < 1:
        raise TextError(f"A treebank of {n} sentences.", "Give -n 1 or more.")
    draw = random.Random(seed)  # noqa: S311 - a seeded choice, not a secret
    sentences: list[str] = []
    document = 0
    while len(sentences) < n:
        document += 1
        discourse = Discourse(draw)
        for number in range(min(draw.randint(SHORTEST, LONGEST), n - len(sentences))):
            discourse.sentence = number
            clause = Clauses(discourse).main()
            clause.words[-1].space_after = False
            stop = leaf(".", ".", "PUNCT", clause.main_word, "punct")
            sentences.append(to_conllu((*clause.words, stop), _comments(document, number, first=not sentences, n=n, seed=seed)))
    return "".join(sentences)


def write_sample(path: str | Path, n: int = 500, seed: int = 0) -> None:
    """Write the treebank to a file, whole or not at all; gzipped where its name ends in .gz."""
    written = sample_conllu(n, seed).encode()
    write_whole(path, [gzip.compress(written, mtime=0) if Path(path).suffix == ".gz" else written])


def _comments(document: int, number: int, *, first: bool, n: int, seed: int) -> list[str]:
    lines = [] if number else [f"# newdoc id = synthetic-{document}"]
    if first:
        lines += [
            "# global.Entity = GRP-etype-infstat-centering-minspan-link-identity",
            f"# synthetic = made by eyeline sample-treebank -n {n} --seed {seed}; nobody wrote these sentences",
        ]
    return [*lines, f"# sent_id = synthetic-{document}-{number + 1}"]
