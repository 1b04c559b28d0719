"""Clauses: active and passive, with auxiliaries, particles, relative and subordinate clauses, in the order in which they are read."""

from __future__ import annotations

from eyeline.sample import words as w
from eyeline.sample.discourse import Discourse, Entity
from eyeline.sample.tree import Node, Phrase, leaf
from eyeline.sample.words import Verb

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
        verb = self.d.pick(w.TAKES_PERSON if to_person else w.TAKES_THING)
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
        verb = self.d.pick(w.WITH_PARTICLE)
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
        verb = self.d.pick(w.WITH_PARTICLE if particle else w.TAKES_PERSON if to_person else w.TAKES_THING)
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
        verb = self.d.pick(w.WITHOUT_OBJECT)
        before = self.d.mention(subject)
        auxiliaries, governor = self._verb(verb, subject)
        to = self._to(verb, governor)
        return Phrase((*before.under(governor, "nsubj"), *auxiliaries, *self._adverb(governor), governor, *to), governor)

    def _giving(self, subject: Entity) -> Phrase:
        verb = self.d.pick(w.GIVING)
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
        state = self.d.pick(w.STATES)
        governor = Node(state, state, "ADJ", "Degree=Pos")
        degree = self.d.pick(w.DEGREES)
        be = leaf("were" if subject.form == "many" else "was", "be", "AUX", governor, "cop", PAST)
        more = (leaf(degree, degree, "ADV", governor, "advmod"),) if self.d.chance(0.6) else ()
        return Phrase((*before.under(governor, "nsubj"), be, *more, governor), governor)

    def _saying(self, subject: Entity) -> Phrase:
        verb = self.d.pick(w.SAYING)
        before = self.d.mention(subject)
        auxiliaries, governor = self._verb(verb, subject, simple=True)
        inner = self._inner(self.d.person() if self.d.chance(0.6) else subject, "copular", "intransitive", "passive", "particle")
        that = (leaf("that", "that", "SCONJ", inner.main_word, "mark"),) if self.d.chance(0.8) else ()
        return Phrase((*before.under(governor, "nsubj"), *auxiliaries, governor, *that, *inner.under(governor, "ccomp")), governor)

    def _wanting(self, subject: Entity) -> Phrase:
        verb = self.d.pick(w.WANTING)
        before = self.d.mention(subject)
        auxiliaries, governor = self._verb(verb, subject, simple=True)
        wanted = self.d.pick(w.WITH_PARTICLE if self.d.chance(0.4) else w.TAKES_THING)
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
        verb = self.d.pick(w.WITHOUT_OBJECT)
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
            verb = w.STANDING if entity.noun.kind == "place" else self.d.pick(w.WITHOUT_OBJECT)
            governor = Node(verb.past, verb.lemma, "VERB", PAST)
            form = "that" if entity.noun.kind == "place" else "who"
            subject = leaf(form, form, "PRON", governor, "nsubj", "PronType=Rel")
            return Phrase((subject, governor, *self._to(verb, governor, entity)), governor)
        form = self.d.pick(["that", "which"])
        that = Node(form, form, "PRON", "PronType=Rel")
        finder = self.d.person()
        before = self.d.mention(finder)
        verb = self.d.pick([verb_form for verb_form in w.TAKES_THING if verb_form.takes in ("thing", entity.noun.kind)])
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
        word = self.d.pick(w.INSIDE) if entity.noun.inside else "near"
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
        word = self.d.pick(w.MANNERS)
        return (leaf(word, word, "ADV", governor, "advmod"),) if self.d.chance(0.22) else ()

    def _time(self, governor: Node) -> tuple[Node, ...]:
        word = self.d.pick(w.TIMES)
        return (leaf(word, word, "ADV", governor, "advmod"),) if self.d.chance(0.25) else ()

    def _owner(self, subject: Entity) -> Entity | None:
        """The owner of a thing: the subject, another person, or nobody."""
        owner = subject if self.d.chance(0.6) else self.d.person(subject)
        return owner if self.d.chance(0.6) and self.d.may_own(owner, subject) else None
