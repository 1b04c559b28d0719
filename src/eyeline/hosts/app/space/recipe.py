"""The Space page in Python and on the command line."""

from __future__ import annotations

import shlex

from eyeline.hosts.app.look.recipe import File, begun_console, begun_python
from eyeline.hosts.app.space.job import Wanted

#: The folder that the command line's second model is written to, where it is the first one before training.
UNTRAINED = "untrained"


def python(place: str, file: File, wanted: Wanted) -> str:
    gauge = "" if wanted.gauge is None else f", gauge={wanted.gauge!r}"
    how = f"project={wanted.project!r}{gauge}, dims={wanted.dims}, limit={wanted.limit}, max_tokens={wanted.max_tokens}"
    return "\n".join(
        (
            *begun_python(file),
            f"space = el.space(el.load({place!r}), el.corpora.read_corpus({file[0]!r}), {how})",
            'space.run().save("run")  # tables',
            'el.write_report("run")  # figures and report.html',
            'el.space_view(space).save("space.html")',
        )
    )


def console(place: str, file: File, wanted: Wanted) -> str:
    words = ["eyeline", "space", file[0], "--model", place, "--project", wanted.project]
    words += [] if wanted.gauge is None else ["--gauge", wanted.gauge]
    return "\n".join([*begun_console(file), shlex.join([*words, "--dims", str(wanted.dims), *_much(wanted), "-o", "run"])])


def compare_python(place: str, other: str | None, file: File, wanted: Wanted) -> str:
    """other: None stands for the first model before training."""
    untrained = ["from eyeline.models.reinitialise import reinitialised"] if other is None else []
    second = "reinitialised(first)" if other is None else f"el.load({other!r})"
    return "\n".join(
        (
            *begun_python(file, *untrained),
            f"first = el.load({place!r})",
            f"second = {second}",
            f"found = el.compare(first, second, el.corpora.read_corpus({file[0]!r}), limit={wanted.limit}, max_tokens={wanted.max_tokens})",
            'found.save("run")  # tables and spaces',
            'el.write_report("run")  # figures and report.html',
            'el.space_view(*found.spaces).save("compare.html")',
        )
    )


def compare_console(place: str, other: str | None, file: File, wanted: Wanted) -> str:
    lines = begun_console(file)
    if other is None:
        code = (
            "import eyeline as el; from eyeline.models.reinitialise import reinitialised; "
            f"m = reinitialised(el.load({place!r})); m.hf.save_pretrained({UNTRAINED!r}); m.tokenizer.save_pretrained({UNTRAINED!r})"
        )
        lines.append(shlex.join(["python", "-c", code]))
    lines.append(shlex.join(["eyeline", "compare", file[0], "--model", place, "--with", other or UNTRAINED, *_much(wanted), "-o", "run"]))
    return "\n".join(lines)


def _much(wanted: Wanted) -> list[str]:
    return ["--limit", str(wanted.limit), "--max-tokens", str(wanted.max_tokens)]
