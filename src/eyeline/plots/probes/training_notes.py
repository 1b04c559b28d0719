"""Notes on trained probes for the reader: what they were trained on, how ROOT is read, when training ended."""

from __future__ import annotations

import math

from eyeline.plots.probes.probes import label_of
from eyeline.results.facts import ProbeOptions
from eyeline.results.run import Run
from eyeline.words import Words

ENGLISH = Words()
ONE_HALF = "one half of "


def training_notes(run: Run, words: Words = ENGLISH) -> list[str]:
    """The notes of a run of probes; nothing of other runs, nor of runs from before these facts were kept."""
    train, vectors = run.facts.train, run.facts.words
    if train is None or vectors is None or train.held_out is None:
        return []
    counts, epochs = train.counts, run.facts.options_as(ProbeOptions).epochs
    corpus = train.name
    if corpus.startswith(ONE_HALF):
        corpus = words("count.one_half", corpus=corpus.removeprefix(ONE_HALF))
    root = words("report.training.root_tokens", n=train.special_tokens) if train.special_tokens else words("report.training.root_constant")
    lines = [
        words(
            "report.training.trained", sentences=words.count("sentences", counts["sentences"]), corpus=corpus,
            left_out=f"{counts['too_long'] + counts['unreadable']:,}", no_tree=f"{counts['no_tree']:,}",
            again=f"{train.seen_again:,}", tests=words.count("sentences", run.facts.counts["sentences"]),
        ),
        words(
            "report.training.words", source=words.name("vectors", vectors.source), dims=vectors.dims,
            covered=f"{100 * vectors.covered:.1f}", root=root,
        ),
    ]  # fmt: skip
    if not train.held_out:
        return [*lines, words("report.training.one_sentence", epochs=f"{epochs:,}")]
    held_out = words.count("sentences", train.held_out)
    lines.append(words("report.training.held_out", held_out=held_out, gain=f"{100 * train.gain:g}", patience=train.patience))
    rows = list(run.table("probes").rows())
    unfinished = [label_of(words, str(row["probe"])) for row in rows if not math.isnan(share := float(row["converged"])) and share < 1]
    if unfinished:
        lines.append(words("report.training.unfinished", epochs=f"{epochs:,}", probes=words.joined(unfinished)))
    return lines
