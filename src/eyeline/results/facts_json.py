"""The facts of a run as JSON, in the form of today and in the form that versions before 0.2 wrote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eyeline.results.facts import OPTIONS, RunFacts
from eyeline.storage.records import from_json, to_json

#: The form of run.json. Files without one are of the first form.
FORMAT = 2


def facts_to_json(facts: RunFacts) -> dict[str, Any]:
    """Facts as run.json holds them, the kind first."""
    return {"kind": facts.kind, **to_json(facts)}


def facts_from_json(data: Any, *, form: int = FORMAT) -> RunFacts:
    """Facts from run.json. What is missing, unknown or of a wrong type is a ValueError."""
    if not isinstance(data, Mapping):
        raise ValueError(f"the facts are {type(data).__name__}, not a mapping")
    kind = data.get("kind", "analyse" if form == 1 else None)
    if not isinstance(kind, str) or kind not in OPTIONS:
        raise ValueError(f"a run of kind {kind!r}")
    data = _upgraded(data) if form == 1 else data
    options = from_json(OPTIONS[kind], data.get("options"), "options")
    facts: RunFacts = from_json(RunFacts, {**data, "options": {}}, "facts")
    return RunFacts(**{**vars(facts), "options": options})


def _upgraded(data: Mapping[str, Any]) -> dict[str, Any]:
    """The first form in the form of today: `seconds` was a number in some kinds, `notes` was two things, checks stood side by side."""
    facts = dict(data)
    facts.setdefault("options", {})
    seconds = facts.get("seconds", {})
    facts["seconds"] = seconds if isinstance(seconds, Mapping) else {"all": seconds}
    notes = facts.pop("notes", {})
    if isinstance(notes, Mapping):
        maps = {
            name: note["stress"]
            for name, note in notes.items()
            if isinstance(note, Mapping) and "stress" in note and name[:8] == "head_map"
        }
        facts["stress"] = maps
        facts["dropped"] = {name: note for name, note in notes.items() if name not in maps}
    check = facts.get("gauge_check")
    if isinstance(check, Mapping):
        known = ("largest_difference", "within", "holds")
        facts["gauge_check"] = {name: check[name] for name in known if name in check}
        facts["gauge_check"]["stacks"] = {name: value for name, value in check.items() if name not in known}
    return facts
