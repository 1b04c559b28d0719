"""A run of any kinds on the page: where heads look, grammar, a space, two models compared."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from eyeline.hosts.app.corpus.run_view import show_run
from eyeline.hosts.app.grammar.run_view import FIGURES as GRAMMAR
from eyeline.hosts.app.grammar.run_view import show_grammar
from eyeline.hosts.app.messages import Say
from eyeline.hosts.app.sharing.cache import Cache
from eyeline.hosts.app.space.comparison_view import show_comparison
from eyeline.hosts.app.space.run_view import show_space
from eyeline.results.facts import CircuitOptions
from eyeline.results.folder import FACTS_FILE
from eyeline.results.run import Run, open_run

_RUNS = Cache(16)


def open_cached(folder: Path) -> Run:
    """A finished run, read once, and again after it was rewritten."""
    about = folder / FACTS_FILE
    return _RUNS.get((str(folder), about.stat().st_mtime_ns if about.is_file() else 0), lambda: open_run(folder), lambda _: 1)


def show_parts(say: Say, run: Run, folder: Path) -> None:
    """Every part of a run, those of grammar together, and what was left out of it."""
    parts = run.parts
    for part in parts.values():
        if part.facts.kind in GRAMMAR:
            for left, why in part.facts.left_out.items():
                st.warning(say("grammar.left_out", name=say(f"grammar.analysis_{left}")), icon=":material/info:")
                st.code(say.translated(why), language=None, wrap_lines=True)
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


def run_label(say: Say, run: Run, when: str) -> str:
    """A run in a list: when, which model, how much of what."""
    kind, part = next(iter(run.parts.items()))
    facts = part.facts
    counts, named = facts.counts, {"when": when, "model": facts.model.name, "corpus": facts.corpus.name}
    if kind == "compare":
        return say(
            "space.called_compare",
            **named,
            other=facts.other.name if facts.other is not None else "",
            n=say.count("texts", counts["texts"]),
        )
    if kind == "circuit":
        options = facts.options_as(CircuitOptions)
        return say("runs.called_circuit", **named, answer=options.answer, against=options.against)
    if kind == "space":
        return say("space.called", **named, n=say.count("texts", counts["texts"]))
    if kind == "coreference":
        return say("grammar.called_coreference", **named, n=say.count("mentions", counts["mentions"]))
    if kind in GRAMMAR:
        return say("grammar.called", **named, n=say.count("sentences", counts["sentences"]))
    return say("runs.called", **named, texts=say.count("texts", counts["texts"]))
