"""The tables of a run: each statistic's own, those that need several statistics, and notices of what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from eyeline.analyses.corpus.statistic import Statistic
from eyeline.analyses.corpus.statistics.head_map import head_map
from eyeline.analyses.corpus.statistics.rank_agreement import rank_agreement
from eyeline.analyses.prepare import unknown_tokens
from eyeline.results.table import Table
from eyeline.words import Words


def summarise(statistics: Sequence[Statistic], seed: int) -> tuple[dict[str, Table], dict[str, float]]:
    """Tables by name, and the stress of each head map."""
    tables: dict[str, Table] = {}
    stress: dict[str, float] = {}
    for statistic in statistics:
        tables |= statistic.result()
    for name in [name for name in tables if name.split("_")[0] == "distances" and len(tables[name])]:
        stack = name.removeprefix("distances").lstrip("_")
        layout = f"head_map_{stack}" if stack else "head_map"
        tables[layout], stress[layout] = head_map(tables[name], tables, seed, stack)
    if "causes" in tables and len(tables["causes"]):
        tables["causes_agreement"] = rank_agreement(tables)
    return tables, stress


def notices(counts: Counter[str], statistics: Sequence[Statistic]) -> list[str]:
    """Notices of what is not in the numbers, besides whole documents."""
    words = Words()
    messages = [
        words("notice.wrong_length", n=f"{n:,}", texts=f"{counts['texts']:,}", analysis=statistic.name)
        for statistic in statistics
        if (n := statistic.n_left_out())
    ]
    if counts["no_pair"]:
        messages.append(words("notice.no_pair", n=f"{counts['no_pair']:,}", documents=f"{counts['paired_documents']:,}"))
    if counts["unreadable_pieces"]:
        messages.append(words("notice.unreadable_pieces", n=f"{counts['unreadable_pieces']:,}"))
    if counts["dropped"]:
        messages.append(words("notice.dropped_tokens", n=f"{counts['dropped']:,}"))
    return [*messages, *unknown_tokens(counts)]
