"""The words of the built-in treebank. Made up by us; nothing of it was taken from a text."""

from __future__ import annotations

from dataclasses import dataclass


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
