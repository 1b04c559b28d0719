"""What a reader has switched off in a view, as interventions: `"L3·H7; L4·H10 2,3>5"` is a head, and in another head two queries
that no longer see a key."""

from __future__ import annotations

import re
from collections.abc import Sequence

from eyeline.capture.interventions.records import Ablate, Intervention, KnockOut
from eyeline.errors import TraceError
from eyeline.heads import HeadRef

#: More than this is not carried out: a link may be made up.
MOST = 500
_EDGE = re.compile(r"(?P<head>.*?H\d+) (?P<queries>\d+(?:,\d+)*)>(?P<keys>\d+(?:,\d+)*)")


def interventions_of(off: str) -> list[Intervention]:
    """The interventions that the state's `off` names.

    >>> [str(change) for change in interventions_of("L3·H7; L4·H10 2,3>5")]
    ['L3·H7 ablated (zero)', 'keys 5 hidden from queries 2, 3 in L4·H10']
    """
    parts = [part.strip() for part in off.split(";") if part.strip()]
    if len(parts) > MOST:
        raise TraceError(f"{len(parts)} things switched off.", f"At most {MOST} at once.")
    return [_intervention(part) for part in parts]


def _intervention(part: str) -> Intervention:
    try:
        if (edge := _EDGE.fullmatch(part)) is None:
            return Ablate([HeadRef.parse(part)])
        return KnockOut(_numbers(edge["queries"]), _numbers(edge["keys"]), [HeadRef.parse(edge["head"])])
    except ValueError:
        raise TraceError(f"{part[:40]!r} cannot be switched off.", "Name heads, L3·H7, or edges, L3·H7 2>5, with ; between them.") from None


def _numbers(text: str) -> Sequence[int]:
    return [int(number) for number in text.split(",")]
