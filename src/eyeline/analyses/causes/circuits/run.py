"""`el.circuit`: the heads that carry an answer, and the connections between them, from two texts that differ in it."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Literal

from eyeline.analyses.causes.circuits.contrast import contrast
from eyeline.analyses.causes.circuits.edges import STEPS, edge_scores, edge_table
from eyeline.analyses.causes.circuits.patching import Patched, patch_heads
from eyeline.analyses.progress import ReportProgress, Steps
from eyeline.analyses.provenance import corpus_facts, provenance
from eyeline.analyses.tables import head_table
from eyeline.models.model import Model, check_model
from eyeline.results.facts import CircuitOptions
from eyeline.results.run import Run
from eyeline.results.table import Table
from eyeline.text.corpora.corpus import Corpus
from eyeline.text.tokenized import TokenizedText


def circuit(
    model: Model,
    clean: str,
    corrupt: str,
    *,
    answer: str | int | None = None,
    against: str | int | None = None,
    method: Literal["eap", "eap-ig"] = "eap-ig",
    steps: int = STEPS,
    positions: bool = True,
    progress: ReportProgress | None = None,
) -> Run:
    """Which heads carry the answer, and which head feeds which.

    clean, corrupt     two texts with the same number of tokens, which differ in what the answer depends on
    answer, against    the answer that belongs to each: a token, or a label of a classifier; the model's own choices unless given.
                       The metric is logit(answer) − logit(against)
    method             how edges are scored: "eap", or "eap-ig" with `steps` inputs between the two texts
    positions          also patch every head at every token: heads × tokens passes

    Tables: `patching` (a head patched from the clean text into the corrupt one: the share of the answer that comes back),
    `patching_positions` (the same at one token), `circuit` (edges by estimate, strongest first).
    """
    check_model(model)
    started = time.monotonic()
    reports = Steps(progress, 2)
    pair = contrast(model, clean, corrupt, answer, against)
    edges = edge_scores(pair, method, steps, reports.begin("edges"))
    patched = patch_heads(pair, positions=positions, report=reports.begin("patching"))
    tables = {"patching": _heads(patched), "circuit": edge_table(edges)}
    if patched.positions is not None:
        tables["patching_positions"] = _positions(patched, pair.corrupt_text.text)
    seconds = time.monotonic() - started
    options = CircuitOptions(
        clean, corrupt, pair.clean_text.answer.name, pair.corrupt_text.answer.name, method, steps, pair.clean, pair.corrupt
    )
    facts = replace(
        provenance(model, corpus_facts(Corpus.of([clean, corrupt])), options),
        counts={"texts": 2, "tokens": 2 * len(pair.clean_text.text)},
        seconds={"all": round(seconds, 3)},
    )
    return Run(facts, tables, model.trace(clean, keep={"weights"}))


def _heads(patched: Patched) -> Table:
    records = [(*name, float(share)) for name, share in zip(patched.names, patched.heads, strict=True)]
    return head_table(records, ("restored",))


def _positions(patched: Patched, text: TokenizedText) -> Table:
    if patched.positions is None:
        return Table({})
    records = [
        (*name, position, text.tokens[position], float(share))
        for name, shares in zip(patched.names, patched.positions, strict=True)
        for position, share in enumerate(shares)
    ]
    return head_table(records, ("position", "token", "restored"))
