"""What a run did not use of its corpus, in sentences: nothing is dropped without a word."""

from __future__ import annotations

from eyeline.results.run import Run

#: The count → what is true of these sentences or documents.
REASONS = {"too_long": "were too long", "unreadable": "could not be tokenised word for word", "no_tree": "are no trees"}


def left_out(run: Run) -> list[str]:
    """What a run of one kind left out, counted; of sentences, the first of each kind by its name (`run.facts.dropped` has them all):
    '1 of 9 sentences are no trees and are not in these numbers. The first: s3, two roots, words 1 and 2.'"""
    counts, dropped = run.facts.counts, run.facts.dropped
    total = f"{counts.get('documents', counts.get('given', 0)):,} {'sentences' if 'sentences' in counts else 'documents'}"
    lines = []
    for name, reason in REASONS.items():
        if counts.get(name):
            first = "".join(f" The first: {item}, {(why.splitlines() or [''])[0]}" for item, why in list(dropped.get(name, {}).items())[:1])
            lines.append(f"{counts[name]:,} of {total} {reason} and are not in these numbers.{first}")
    return lines
