"""Many visitors at once, each with a text of its own: were all served, and did anybody see another's text?"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tests.show.app.browser.socket_visitor import SocketVisitor

#: One word a visitor, none of which the app says of itself.
LIST = """
    violin rabbit glacier lantern cathedral umbrella eagle saxophone volcano bakery
    orchard submarine cactus wizard blizzard canoe harvest falcon trumpet meadow
    tornado puppet desert penguin castle turtle balloon guitar hurricane piano
    monastery lizard avalanche trombone vineyard spider lighthouse dragon pirate squirrel
    ginger hammer dolphin marble cotton copper ladder mirror tunnel candle
    basket saddle whistle feather pepper violet velvet compass drum honey
"""
WORDS = LIST.split()
#: 30 tokens for a BERT, with the two that it adds.
TEXT = "Nobody but me should ever read what I write here about my own {} and the long way that it took through the cold sea last year."


@dataclass(frozen=True)
class Visit:
    """opened, answered: seconds until the first page and the answer to one's own text were sent. foreign: others' words that were seen."""

    word: str
    opened: float
    answered: float
    served: bool
    foreign: tuple[str, ...]


def crowd(url: str, words: Sequence[str], text: str = TEXT) -> list[Visit]:
    """As many visitors as words. All open the first page at once; when all have it, all send their texts at once."""
    together = threading.Barrier(len(words), timeout=300)
    with ThreadPoolExecutor(len(words)) as threads:
        return list(threads.map(lambda word: visit(url, word, words, together, text), words))


def visit(url: str, word: str, words: Sequence[str], together: threading.Barrier, text: str = TEXT) -> Visit:
    with SocketVisitor(url, patience=300) as me:
        together.wait()
        opened = me.open()
        together.wait()
        answered = me.submit("", "look-show", **{"look-text": text.format(word)})
        together.wait()  # what was received is searched when all have been answered: the searching takes the app's cores
        shown = [element for element in me.kinds("bidi_component") if word.encode() in element.SerializeToString()]
        served = bool(shown) and not me.kinds("exception") and not me.kinds("alert")
        return Visit(word, opened, answered, served, tuple(other for other in words if other != word and me.was_sent(other)))
