"""What a trace says of itself beside its arrays, and keeps in its file."""

from __future__ import annotations

from typing import Any, TypedDict

#: `trace.about`. Every entry may be missing: traces of arrays have none, files of earlier versions not all.
#:
#: model, revision, class   the model by name, its commit (None where it has none) and its class
#: dtype, tokens            of its weights; how many tokens the text has
#: weights                  the fingerprint of its weights
#: eyeline                  the version that recorded it
#: notices                  what a reader should know, a sentence each
#: interventions            how the model was changed for this pass, a sentence each
#: quantity                 what the numbers are, where they are not attention (`Quantity.to_json`)
TraceFacts = TypedDict(
    "TraceFacts",
    {
        "model": str,
        "revision": str | None,
        "class": str,
        "dtype": str,
        "tokens": int,
        "weights": str,
        "eyeline": str,
        "notices": list[str],
        "interventions": list[str],
        "quantity": dict[str, Any],
    },
    total=False,
)
