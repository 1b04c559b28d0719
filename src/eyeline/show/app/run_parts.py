"""A run of any kinds on the page: where heads look, grammar, a space, two models compared."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from eyeline.measure.causes.options import CircuitFacts
from eyeline.measure.compare.options import CompareFacts
from eyeline.measure.runs.run import FACTS_FILE, Run, open_run
from eyeline.show.app.compare_run import show_comparison
from eyeline.show.app.corpus_run import show_run
from eyeline.show.app.grammar_run import FIGURES as GRAMMAR
from eyeline.show.app.grammar_run import show_grammar
from eyeline.show.app.kit.sharing import Cache
from eyeline.show.app.space_run import show_space
from eyeline.words import Words

_RUNS = Cache(16)


def open_cached(folder: Path) -> Run:
    """A finished run, read once, and again after it was rewritten."""
    about = folder / FACTS_FILE
    return _RUNS.get((str(folder), about.stat().st_mtime_ns if about.is_file() else 0), lambda: open_run(folder), lambda _: 1)


def show_folder(say: Words, folder: Path) -> None:
    """Every part of the finished run in a folder."""
    show_parts(say, open_cached(folder), folder)


def show_parts(say: Words, run: Run, folder: Path) -> None:
    """Every part of a run, those of grammar together, and what was left out of it."""
    parts = run.parts
    for part in parts.values():
        if part.facts.kind in GRAMMAR:
            for left, why in part.facts.left_out.items():
                st.warning(say("grammar.left_out", name=say(f"grammar.analysis_{left}")), icon=":material/info:")
                st.code(say.of(why), language=None, wrap_lines=True)
    if "analyse" in parts:
        show_run(say, parts["analyse"], folder)
    grammar = {kind: part for kind, part in parts.items() if kind in GRAMMAR}
    if grammar:
        show_grammar(say, grammar, folder)
    if "space" in parts:
        show_space(say, parts["space"], folder)
    if "compare" in parts:
        show_comparison(say, parts["compare"], folder)
    if "circuit" in parts:
        show_run(say, parts["circuit"], folder)


def run_label(say: Words, run: Run, when: str) -> str:
    """A run in a list: when, which model, how much of what."""
    kind, part = next(iter(run.parts.items()))
    facts = part.facts
    counts, named = facts.counts, {"when": when, "model": facts.model.name, "corpus": facts.corpus.name}
    if kind == "compare":
        return say(
            "space.called_compare",
            **named,
            other=facts.of_kind(CompareFacts).options.other,
            n=say.count("texts", counts["texts"]),
        )
    if kind == "circuit":
        options = facts.of_kind(CircuitFacts).options
        return say("runs.called_circuit", **named, answer=options.answer, against=options.against)
    if kind == "space":
        return say("space.called", **named, n=say.count("texts", counts["texts"]))
    if kind == "coreference":
        return say("grammar.called_coreference", **named, n=say.count("mentions", counts["mentions"]))
    if kind in GRAMMAR:
        return say("grammar.called", **named, n=say.count("sentences", counts["sentences"]))
    return say("runs.called", **named, texts=say.count("texts", counts["texts"]))
