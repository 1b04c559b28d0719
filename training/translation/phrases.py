"""Made-up English sentences with their French and Japanese translations, and which word translates which.

A sentence is built from parts. A part knows its words in three languages, so that the alignment of a translation is exact, whatever
the order of its words: *black cat* is *chat noir*, and 黒い 猫. Words without a partner (は, を, s') have none.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

Language = Literal["fr", "ja"]
LANGUAGES: tuple[Language, ...] = ("fr", "ja")
VOWELS = "aeiouéê"

#: English → French (masculine, feminine or plain), gender, Japanese.
PEOPLE = {
    "cat": ("chat", "m", "猫"), "dog": ("chien", "m", "犬"), "horse": ("cheval", "m", "馬"), "mouse": ("souris", "f", "ねずみ"),
    "girl": ("fille", "f", "女の子"), "boy": ("garçon", "m", "男の子"), "woman": ("femme", "f", "女性"),
    "teacher": ("professeur", "m", "先生"),
    "doctor": ("médecin", "m", "医者"), "hen": ("poule", "f", "鶏"), "cow": ("vache", "f", "牛"), "king": ("roi", "m", "王様"),
}  # fmt: skip
THINGS = {
    "mat": ("tapis", "m", "マット"), "chair": ("chaise", "f", "椅子"), "table": ("table", "f", "テーブル"), "bed": ("lit", "m", "ベッド"),
    "house": ("maison", "f", "家"), "car": ("voiture", "f", "車"), "box": ("boîte", "f", "箱"), "bench": ("banc", "m", "ベンチ"),
}  # fmt: skip
FOOD = {"bread": ("pain", "m", "パン"), "fish": ("poisson", "m", "魚"), "soup": ("soupe", "f", "スープ"), "cake": ("gâteau", "m", "ケーキ")}
TEXTS = {"book": ("livre", "m", "本"), "letter": ("lettre", "f", "手紙"), "newspaper": ("journal", "m", "新聞")}
#: English → French masculine, feminine, before the noun or after it; Japanese before a noun, and at the end of a sentence.
ADJECTIVES = {
    "black": ("noir", "noire", "after", ("黒い",), ("黒い", "です")),
    "white": ("blanc", "blanche", "after", ("白い",), ("白い", "です")),
    "red": ("rouge", "rouge", "after", ("赤い",), ("赤い", "です")),
    "green": ("vert", "verte", "after", ("緑", "の"), ("緑", "です")),
    "small": ("petit", "petite", "before", ("小さい",), ("小さい", "です")),
    "big": ("grand", "grande", "before", ("大きい",), ("大きい", "です")),
}
#: Subject → French, its auxiliary (avoir), Japanese, and its form of a verb in VERBS.
PRONOUNS = {
    "I": ("je", "ai", "私", 0), "you": ("tu", "as", "あなた", 1), "he": ("il", "a", "彼", 2), "she": ("elle", "a", "彼女", 2),
    "we": ("nous", "avons", "私たち", 3), "they": ("ils", "ont", "彼ら", 4),
}  # fmt: skip
#: Object → its subject, French, Japanese.
OBJECTS = {
    "me": ("I", "me", "私"), "you": ("you", "te", "あなた"), "him": ("he", "le", "彼"), "her": ("she", "la", "彼女"),
    "us": ("we", "nous", "私たち"), "them": ("they", "les", "彼ら"),
}  # fmt: skip
#: In the present: English, French by person, Japanese.
VERBS = {
    "love": (("aime", "aimes", "aime", "aimons", "aiment"), "愛しています"),
    "see": (("vois", "vois", "voit", "voyons", "voient"), "見ています"),
    "know": (("connais", "connais", "connaît", "connaissons", "connaissent"), "知っています"),
    "seek": (("cherche", "cherches", "cherche", "cherchons", "cherchent"), "探しています"),
    "help": (("aide", "aides", "aide", "aidons", "aident"), "手伝っています"),
}
#: In the past: English, French participle, Japanese, what it is done to.
PAST = {
    "ate": ("mangé", "食べました", FOOD),
    "read": ("lu", "読みました", TEXTS),
    "saw": ("vu", "見ました", PEOPLE | THINGS | FOOD | TEXTS),
    "bought": ("acheté", "買いました", THINGS | FOOD | TEXTS),
    "found": ("trouvé", "見つけました", PEOPLE | THINGS | FOOD | TEXTS),
    "washed": ("lavé", "洗いました", PEOPLE | THINGS),
}
SPOTS = {"on": ("sur", "上"), "under": ("sous", "下"), "behind": ("derrière", "後ろ")}
TIMES = {"yesterday": ("hier", "昨日"), "today": ("aujourd'hui", "今日")}

#: A word of a translation, and the index of the English word that it translates, or None.
Aligned = tuple[str, int | None]


@dataclass(frozen=True)
class Phrase:
    """A sentence in three languages. aligned: for each word of a translation the English word that it translates, or None."""

    english: tuple[str, ...]
    french: tuple[Aligned, ...]
    japanese: tuple[Aligned, ...]

    def target(self, language: Language) -> tuple[Aligned, ...]:
        return self.french if language == "fr" else self.japanese


class Builder:
    """The English words so far; `add` returns the index of a word."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.english = rng, list[str]()

    def add(self, word: str) -> int:
        self.english.append(word)
        return len(self.english) - 1

    def pick(self, words: dict[str, tuple[str, str, str]]) -> str:
        return self.rng.choice(list(words))

    def noun_phrase(self, nouns: dict[str, tuple[str, str, str]]) -> tuple[list[Aligned], list[Aligned], str]:
        """The French and the Japanese words of *the black cat*, and its gender in French."""
        determiner = self.rng.choice(["the", "the", "the", "a", "my"])
        noun = self.pick(nouns)
        french, gender, japanese = nouns[noun]
        first = self.add(determiner)
        article = {"the": ("le", "la"), "a": ("un", "une"), "my": ("mon", "ma")}[determiner][gender == "f"]
        fr: list[Aligned] = [(article, first)]
        ja: list[Aligned] = [("私", first), ("の", None)] if determiner == "my" else []
        before: list[Aligned] = []
        after: list[Aligned] = []
        if self.rng.random() < 0.45:
            adjective = self.rng.choice(list(ADJECTIVES))
            male, female, side, attribute, _ = ADJECTIVES[adjective]
            index = self.add(adjective)
            (before if side == "before" else after).append((female if gender == "f" else male, index))
            ja += [(attribute[0], index), *((word, None) for word in attribute[1:])]
        index = self.add(noun)
        return [*fr, *before, (french, index), *after], [*ja, (japanese, index)], gender


def elided(words: list[Aligned]) -> tuple[Aligned, ...]:
    """je, me, te, le and la lose their vowel before another."""
    short = {"je": "j'", "me": "m'", "te": "t'", "le": "l'", "la": "l'", "se": "s'"}
    following = [*(word for word, _ in words[1:]), ""]
    return tuple((short[word] if word in short and after[:1] in tuple(VOWELS) else word, source)
                 for (word, source), after in zip(words, following, strict=True))  # fmt: skip


def subject(build: Builder, pronoun: float) -> tuple[list[Aligned], list[Aligned], str, int, str]:
    """French, Japanese, auxiliary, person and gender of a subject."""
    if build.rng.random() < pronoun:
        word = build.rng.choice(list(PRONOUNS))
        french, auxiliary, japanese, person = PRONOUNS[word]
        index = build.add(word)
        return [(french, index)], [(japanese, index)], auxiliary, person, word
    fr, ja, gender = build.noun_phrase(PEOPLE)
    return fr, ja, "a", 2, gender


def present(build: Builder) -> Phrase:
    """I love you. The teacher knows the small girl."""
    fr, ja, _, person, who = subject(build, 0.6)
    verb = build.rng.choice(list(VERBS))
    forms, japanese = VERBS[verb]
    index = build.add(verb + "s" * (person == 2))
    verbs: list[Aligned] = [(forms[person], index)]
    if build.rng.random() < 0.6:
        choices = [name for name, (same, *_) in OBJECTS.items() if same != who and not (same in ("I", "we") and who in ("I", "we"))]
        name = build.rng.choice(choices)
        _, french, object_ja = OBJECTS[name]
        source = build.add(name)
        middle, fr_end, ja_object = [(french, source)], list[Aligned](), [(object_ja, source)]
    else:
        middle = []
        fr_end, ja_object, _ = build.noun_phrase(PEOPLE)
    return phrase(build, [*fr, *middle, *verbs, *fr_end], [*ja, ("は", None), *ja_object, ("を", None), (japanese, index)])


def past(build: Builder) -> Phrase:
    """The girl ate the bread yesterday."""
    fr, ja, auxiliary, _, _ = subject(build, 0.4)
    verb = build.rng.choice(list(PAST))
    participle, japanese, objects = PAST[verb]
    index = build.add(verb)
    fr_object, ja_object, _ = build.noun_phrase(objects)
    fr_time, ja_time = when(build)
    fr = [*fr, (auxiliary, index), (participle, index), *fr_object, *fr_time]
    return phrase(build, fr, [*ja_time, *ja, ("は", None), *ja_object, ("を", None), (japanese, index)])


def spot(build: Builder) -> Phrase:
    """The cat sat on the mat."""
    fr, ja, gender = build.noun_phrase(PEOPLE)
    verb = build.rng.choice(["sat", "slept"])
    index = build.add(verb)
    where = build.rng.choice(list(SPOTS))
    source = build.add(where)
    fr_thing, ja_thing, _ = build.noun_phrase(THINGS)
    fr_time, ja_time = when(build)
    done: list[Aligned] = [("a", index), ("dormi", index)]
    if verb == "sat":
        done = [("s'", None), ("est", index), ("assise" if gender == "f" else "assis", index)]
    french, japanese = SPOTS[where]
    particle, end = ("に", "座りました") if verb == "sat" else ("で", "眠りました")
    ja_words = [*ja_time, *ja, ("は", None), *ja_thing, ("の", None), (japanese, source), (particle, None), (end, index)]
    return phrase(build, [*fr, *done, (french, source), *fr_thing, *fr_time], ja_words)


def state(build: Builder) -> Phrase:
    """The cat is black."""
    fr, ja, gender = build.noun_phrase(PEOPLE | THINGS)
    verb = build.add("is")
    adjective = build.rng.choice(list(ADJECTIVES))
    index = build.add(adjective)
    male, female, _, _, (word, end) = ADJECTIVES[adjective]
    ja_words = [*ja, ("は", None), (word, index), (end, verb)]
    return phrase(build, [*fr, ("est", verb), (female if gender == "f" else male, index)], ja_words)


def when(build: Builder) -> tuple[list[Aligned], list[Aligned]]:
    """Sometimes *yesterday*: last in French, first in Japanese."""
    if build.rng.random() > 0.3:
        return [], []
    name = build.rng.choice(list(TIMES))
    index = build.add(name)
    return [(TIMES[name][0], index)], [(TIMES[name][1], index)]


def phrase(build: Builder, french: list[Aligned], japanese: list[Aligned]) -> Phrase:
    return Phrase(tuple(build.english), elided(french), tuple(japanese))


def made_up(rng: random.Random) -> Phrase:
    """One sentence of any kind."""
    return rng.choice([present, present, past, spot, state])(Builder(rng))
