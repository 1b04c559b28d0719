"""What a reader has switched off in a view, as interventions: `"L3·H7; L4·H10 2,3>5"` is a head, and in another head two queries
that no longer see a key. `L3·H0-11` are all heads of a layer, `all 2>5` is an edge in every head of every layer."""

from __future__ import annotations

import re
from collections.abc import Sequence

from eyeline.capture.interventions.records import Ablate, Intervention, KnockOut
from eyeline.errors import TraceError
from eyeline.heads import HeadRef

#: The most interventions at once: a link may ask for any number.
MOST_INTERVENTIONS = 500
_EDGE = re.compile(r"(?P<heads>.*?) (?P<queries>\d+(?:,\d+)*)>(?P<keys>\d+(?:,\d+)*)")
_SEVERAL = re.compile(r"(?P<first>.*H\d+)-(?P<last>\d{1,4})")
_ALL = re.compile(r"(?:(?P<stack>encoder|decoder|cross) )?all")


def interventions_of(off: str) -> list[Intervention]:
    """The interventions that the state's `off` names.

    >>> [str(change) for change in interventions_of("L3·H7; L4·H10 2,3>5")]
    ['L3·H7 ablated (zero)', 'keys 5 hidden from queries 2, 3 in L4·H10']
    >>> [str(change) for change in interventions_of("L3·H0-2; all 2>5")]
    ['L3·H0, L3·H1, L3·H2 ablated (zero)', 'keys 5 hidden from queries 2 in all heads']
    """
    parts = [part.strip() for part in off.split(";") if part.strip()]
    if len(parts) > MOST_INTERVENTIONS:
        raise TraceError(f"{len(parts)} things switched off.", f"At most {MOST_INTERVENTIONS} at once.")
    return [_intervention(part) for part in parts]


def _intervention(part: str) -> Intervention:
    try:
        if (edge := _EDGE.fullmatch(part)) is None:
            return Ablate(_heads(part))
        queries, keys = _numbers(edge["queries"]), _numbers(edge["keys"])
        if (every := _ALL.fullmatch(edge["heads"])) is not None:
            return KnockOut(queries, keys, stack=every["stack"] or "")
        return KnockOut(queries, keys, _heads(edge["heads"]))
    except ValueError:
        raise TraceError(f"{part[:40]!r} cannot be switched off.", "Name heads, L3·H7, or edges, L3·H7 2>5, with ; between them.") from None


def _heads(label: str) -> list[HeadRef]:
    """One head, or those from the first to the last of `L3·H0-11`."""
    if (several := _SEVERAL.fullmatch(label)) is None:
        return [HeadRef.parse(label)]
    first = HeadRef.parse(several["first"])
    return [first._replace(head=head) for head in range(first.head, int(several["last"]) + 1)]


def _numbers(text: str) -> Sequence[int]:
    return [int(number) for number in text.split(",")]
