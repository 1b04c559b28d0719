"""The Grammar page in Python and on the command line."""

from __future__ import annotations

import shlex

from eyeline.hosts.app.grammar.job import Wanted

MADE = "treebank.conllu"


def python(place: str, file: str, made: int | None, wanted: Wanted) -> str:
    """As Python; `made`: so many made-up sentences are written to the file first."""
    runs = {
        "syntax": f"el.syntax(model, file, labels={wanted.labels!r}, min_count={wanted.min_count}, limit={wanted.limit})",
        "coreference": f"el.coreference(model, file, limit={wanted.limit})",
        "probe": f"el.probe(model, file, limit={max(1, wanted.limit // 2)}, seeds={wanted.seeds})",
    }
    lines = ["import eyeline as el"]
    lines += [] if made is None else ["from eyeline.sample.treebank import write_sample"]
    lines += ["", f"model, file = el.load({place!r}), {file!r}"]
    lines += [] if made is None else [f"write_sample(file, {made})"]
    lines += ["runs = [", *(f"    {runs[name]}," for name in wanted.analyses), "]"]
    return "\n".join([*lines, 'runs[0].join(*runs[1:]).save("run")  # tables', 'el.write_report("run")  # figures and report.html'])


def console(place: str, file: str, made: int | None, wanted: Wanted) -> str:
    """As commands, one a line; they share a folder, and its report shows them all."""
    more = {
        "syntax": ["--labels", wanted.labels, "--min-count", str(wanted.min_count), "--limit", str(wanted.limit)],
        "coreference": ["--limit", str(wanted.limit)],
        "probe": ["--limit", str(max(1, wanted.limit // 2)), "--seeds", str(wanted.seeds)],
    }
    lines = [] if made is None else [["eyeline", "sample-treebank", "-n", str(made), "-o", file]]
    lines += [["eyeline", name, file, "--model", place, *more[name], "-o", "run"] for name in wanted.analyses]
    return "\n".join(shlex.join(line) for line in lines)
