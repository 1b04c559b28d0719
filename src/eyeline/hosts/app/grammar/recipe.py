"""The Grammar page in Python and on the command line."""

from __future__ import annotations

import shlex

from eyeline.hosts.app.grammar.job import GrammarOptions

SAMPLE_FILE = "treebank.conllu"


def python(source: str, file: str, sentences: int | None, options: GrammarOptions) -> str:
    """As Python. sentences: how many made-up sentences are written to the file first; None: the file exists."""
    runs = {
        "syntax": f"el.syntax(model, file, labels={options.labels!r}, min_count={options.min_count}, limit={options.limit})",
        "coreference": f"el.coreference(model, file, limit={options.limit})",
        "probe": f"el.probe(model, file, limit={max(1, options.limit // 2)}, seeds={options.seeds})",
    }
    lines = ["import eyeline as el"]
    lines += [] if sentences is None else ["from eyeline.sample.treebank import write_sample"]
    lines += ["", f"model, file = el.load({source!r}), {file!r}"]
    lines += [] if sentences is None else [f"write_sample(file, {sentences})"]
    lines += ["runs = [", *(f"    {runs[name]}," for name in options.analyses), "]"]
    return "\n".join([*lines, 'runs[0].join(*runs[1:]).save("run")  # tables', 'el.runs.write_report("run")  # figures and report.html'])


def console(source: str, file: str, sentences: int | None, options: GrammarOptions) -> str:
    """As commands, one a line; they share a folder, and its report shows them all."""
    more = {
        "syntax": ["--labels", options.labels, "--min-count", str(options.min_count), "--limit", str(options.limit)],
        "coreference": ["--limit", str(options.limit)],
        "probe": ["--limit", str(max(1, options.limit // 2)), "--seeds", str(options.seeds)],
    }
    lines = [] if sentences is None else [["eyeline", "sample-treebank", "-n", str(sentences), "-o", file]]
    lines += [["eyeline", name, file, "--model", source, *more[name], "-o", "run"] for name in options.analyses]
    return "\n".join(shlex.join(line) for line in lines)
