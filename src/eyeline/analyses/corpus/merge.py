"""Runs over the parts of a corpus, merged into the run over all of it: made on several machines, say, or on several days."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eyeline.analyses.corpus.state import check_same, load_state
from eyeline.analyses.corpus.statistic import Statistic
from eyeline.analyses.corpus.statistics.catalogue import STATISTICS
from eyeline.analyses.corpus.summary import notices, summarise
from eyeline.errors import StorageError, TraceError
from eyeline.results.run import Run, open_parts


def merge_runs(folders: Sequence[str | Path]) -> Run:
    """The run that the texts of all these runs together give: their sums are added, and the tables made of them anew.

    folders   finished runs of `eyeline analyse`, of one model with the same options and analyses, each of another part of the corpus
    """
    if isinstance(folders, str | Path) or len(folders) < 2:
        raise TraceError(f"Runs to merge: {folders!r}.", "Give the folders of at least two.")
    runs, statistics = zip(*(_open(Path(folder)) for folder in folders), strict=True)
    for folder, run in zip(folders, runs, strict=True):
        _check_alike(Path(folder), run, Path(folders[0]), runs[0])
    corpora = [run.about["corpus"] for run in runs]
    if len({corpus["sha256"] for corpus in corpora}) < len(corpora):
        raise TraceError(f"The same corpus twice: {', '.join(corpus['name'] for corpus in corpora)}.", "Its texts would count twice.")
    whole = [one.fresh() for one in statistics[0]]
    for part in statistics:
        for one, other in zip(whole, part, strict=True):
            one.merge(other)
    counts = sum((Counter(run.about["counts"]) for run in runs), Counter[str]())
    tables, notes = summarise(whole, runs[0].about["options"]["seed"])
    seconds = sum(run.about["seconds"] for run in runs)
    about = {
        **runs[0].about,
        "corpus": _together(corpora),
        "counts": dict(counts),
        "notices": notices(counts, whole),
        "notes": notes,
        "streamed": all(run.about["streamed"] for run in runs),
        "seconds": round(seconds, 3),
        "tokens_per_second": round(counts["tokens"] / max(seconds, 1e-9), 1),
    }
    return Run(about, tables, next((run.example for run in runs if run.example is not None), None))


def _open(folder: Path) -> tuple[Run, list[Statistic]]:
    """A finished run and its sums."""
    run = next((part for part in open_parts(folder) if part.about["kind"] == "analyse"), None)
    if run is None:
        raise StorageError(f"{folder} holds no run of `eyeline analyse`.", "Give folders that it wrote.")
    found = load_state(folder, [STATISTICS[name](**options) for name, options in run.about["statistics"].items()])
    if found is None or not found[1]["complete"]:
        raise StorageError(f"{folder} holds no sums of a finished run.", "Sums are written where the run is made: -o FOLDER (folder=…).")
    check_same(folder, found[1], run.about)
    return run, found[0]


def _check_alike(folder: Path, run: Run, other_folder: Path, other: Run) -> None:
    for what in ("model", "options", "statistics"):
        if run.about[what] != other.about[what]:
            raise TraceError(
                f"{folder} and {other_folder} are runs of different {what if what != 'model' else 'models'}.",
                f"{folder}: {json.dumps(run.about[what])}",
                f"{other_folder}: {json.dumps(other.about[what])}",
                "Merge runs of one model with the same options and analyses.",
            )


def _together(corpora: Sequence[dict[str, Any]]) -> dict[str, Any]:
    digest = hashlib.sha256(" ".join(corpus["sha256"] for corpus in corpora).encode()).hexdigest()
    return {
        "name": " + ".join(corpus["name"] for corpus in corpora),
        "sha256": digest,
        "documents": sum(corpus["documents"] for corpus in corpora),
        "unit": " or ".join(dict.fromkeys(corpus["unit"] for corpus in corpora)),
        "parts": list(corpora),
    }
