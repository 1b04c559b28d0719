"""The Corpus page in Python and on the command line."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from eyeline.analyses.corpus.statistics.catalogue import STATISTICS
from eyeline.hosts.app.recipe import CorpusFile, console_opening, python_opening


def python(source: str, file: CorpusFile, only: Sequence[str], limit: int, pairs: bool = False) -> str:
    """As Python. source: what `el.load` takes."""
    statistics = ", ".join(f"el.statistics.{STATISTICS[name].__name__}()" for name in only)
    reading = "pairs" if pairs else "window"
    return "\n".join(
        (
            *python_opening(file),
            f"run = el.analyse(el.load({source!r}), el.corpora.read_corpus({file.name!r}), [{statistics}], limit={limit}, {reading}=True)",
            'run.save("run")  # tables',
            'el.runs.write_report("run")  # figures and report.html',
        )
    )


def console(source: str, file: CorpusFile, only: Sequence[str], limit: int, pairs: bool = False) -> str:
    """As commands."""
    chosen = [word for name in only for word in ("--only", name)]
    words = [
        "eyeline",
        "analyse",
        file.name,
        "--model",
        source,
        *chosen,
        "--limit",
        str(limit),
        "--pairs" if pairs else "--window",
        "-o",
        "run",
    ]
    return "\n".join([*console_opening(file), shlex.join(words)])
