"""What a run did not use of its corpus, in words: nothing is dropped in silence."""

from __future__ import annotations

from eyeline.results.run import Run

#: What is counted → how it is said.
SAID = {"too_long": "were too long", "unreadable": "could not be tokenised word for word", "no_tree": "are no trees"}


def left_out(run: Run) -> list[str]:
    """What a run of one kind left out, counted; of sentences, the first of each kind by its name (`run.about["notes"]` has them all).

    >>> left_out(Run({"counts": {"given": 9, "sentences": 8, "no_tree": 1}, "notes": {"no_tree": {"s3": "two roots, words 1 and 2."}}}, {}))
    ['1 of 9 sentences are no trees and are not in these numbers. The first: s3, two roots, words 1 and 2.']
    """
    counts, notes = run.about["counts"], run.about.get("notes", {})
    total = f"{counts.get('documents', counts.get('given', 0)):,} {'sentences' if 'sentences' in counts else 'documents'}"
    found = []
    for what, said in SAID.items():
        if counts.get(what):
            first = "".join(f" The first: {name}, {why.splitlines()[0]}" for name, why in list(notes.get(what, {}).items())[:1])
            found.append(f"{counts[what]:,} of {total} {said} and are not in these numbers.{first}")
    return found
