"""The Space page in Python and on the command line."""

from __future__ import annotations

import shlex

from eyeline.hosts.app.recipe import CorpusFile, console_opening, python_opening
from eyeline.hosts.app.space.job import SpaceRequest


def python(source: str, file: CorpusFile, options: SpaceRequest) -> str:
    """As Python. source: what `el.load` takes."""
    gauge = "" if options.gauge is None else f", gauge={options.gauge!r}"
    if options.gauge == "searched":
        gauge += f", distance={options.distance!r}, correlate={options.correlate!r}"
    of = "" if options.of == "queries-keys" else f"of={options.of!r}, "
    how = f"{of}project={options.project!r}{gauge}, dims={options.dims}, limit={options.limit}, max_tokens={options.max_tokens}"
    return "\n".join(
        (
            *python_opening(file),
            f"space = el.space(el.load({source!r}), el.corpora.read_corpus({file.name!r}), {how})",
            'space.run().save("run")  # tables',
            'el.runs.write_report("run")  # figures and report.html',
            'el.space_view(space).save("space.html")',
        )
    )


def console(source: str, file: CorpusFile, options: SpaceRequest) -> str:
    """As commands."""
    words = ["eyeline", "space", file.name, "--model", source, "--project", options.project]
    words += [] if options.of == "queries-keys" else ["--of", options.of]
    words += [] if options.gauge is None else ["--gauge", options.gauge]
    words += [] if options.gauge != "searched" else ["--distance", options.distance, "--correlate", options.correlate]
    return "\n".join([*console_opening(file), shlex.join([*words, "--dims", str(options.dims), *_size(options), "-o", "run"])])


def compare_python(source: str, other: str | None, file: CorpusFile, options: SpaceRequest) -> str:
    """As Python. other: None stands for an untrained copy of the first model."""
    untrained = ["from eyeline.models.reinitialise import reinitialised"] if other is None else []
    size = f"limit={options.limit}, max_tokens={options.max_tokens}"
    second = "reinitialised(first)" if other is None else f"el.load({other!r})"
    return "\n".join(
        (
            *python_opening(file, *untrained),
            f"first = el.load({source!r})",
            f"second = {second}",
            f"comparison = el.compare(first, second, el.corpora.read_corpus({file.name!r}), {size})",
            'comparison.save("run")  # tables and spaces',
            'el.runs.write_report("run")  # figures and report.html',
            'el.space_view(*comparison.spaces).save("compare.html")',
        )
    )


def compare_console(source: str, other: str | None, file: CorpusFile, options: SpaceRequest) -> str:
    """As commands. other: None stands for an untrained copy of the first model."""
    second = ["--untrained"] if other is None else ["--with", other]
    words = ["eyeline", "compare", file.name, "--model", source, *second, *_size(options), "-o", "run"]
    return "\n".join([*console_opening(file), shlex.join(words)])


def _size(options: SpaceRequest) -> list[str]:
    return ["--limit", str(options.limit), "--max-tokens", str(options.max_tokens)]
