"""Sentences that say which parts of its corpus a run did not use, and why."""

from __future__ import annotations

from eyeline.results.run import Run
from eyeline.words import Words

#: Counts of texts that were left out, each with a message for one and for many.
DROPPED = ("too_long", "unreadable", "no_tree", "broke")
#: Counts of mentions and sentences of a coreference corpus.
MENTIONS = ("mentions_first", "mentions_apart", "mentions_outside", "long_sentences", "unreadable_sentences")
ENGLISH = Words()


def left_out(run: Run, words: Words = ENGLISH) -> list[str]:
    """What a run of one kind left out, counted; of sentences, the first of each kind by its name (`run.facts.dropped` has them all):
    '1 of 9 sentences is not a tree and is not in these numbers. The first: s3, two roots, words 1 and 2.'"""
    counts, dropped = run.facts.counts, run.facts.dropped
    unit = "sentences" if "sentences" in counts else "documents"
    total = words.count(unit, counts.get("documents", counts.get("given", 0)))
    lines = []
    for name in DROPPED:
        if counts.get(name):
            line = _counted(words, name, counts[name], total=total)
            for item, why in list(dropped.get(name, {}).items())[:1]:
                line += f" {words('report.left_out.first', name=item, reason=words.translated((why.splitlines() or [''])[0]))}"
            lines.append(line)
    if "mentions_marked" in counts:
        scored = _counted(words, "scored", counts["mentions"], total=words.count("mentions", counts["mentions_marked"]))
        lines.append(" ".join([scored, *(_counted(words, name, counts[name]) for name in MENTIONS if counts.get(name))]))
    return lines


def _counted(words: Words, name: str, n: int, **values: str) -> str:
    return words(f"report.left_out.{name}.{'one' if n == 1 else 'many'}", n=f"{n:,}", **values)
