"""The command line: the help of every command, what commands print, and the files that they write."""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import typer

from golden_parts.imports import command_line, commands
from golden_parts.output import SEALS, Output, readable_page, without, wording

TEXTS = "The cat sat on the mat because it was tired.\n\nA dog ran home. It barked at her.\n\nIt rained all day, and nobody came.\n"
#: Small requests, in order: later ones use what earlier ones have written.
REQUESTS: tuple[tuple[str, ...], ...] = (
    ("--version",),
    ("trace", "The cat sat on the mat.", "--pair", "It purred.", "--model", "minilm", "-o", "cat.safetensors"),
    ("trace", "The cat sat.", "--words", "--layers", "0,29", "--model", "smollm2", "--no-cache"),
    ("view", "The cat sat on the mat.", "--model", "minilm", "-o", "cat.html"),
    ("view", "The cat sat on the mat.", "--model", "minilm", "-o", "cat.svg"),
    ("attribute", "The cat sat on the [MASK].", "--method", "norms", "--method", "gradient", "-o", "mask.html"),
    ("analyse", "texts.txt", "--model", "minilm", "-o", "runs/corpus"),
    ("analyse", "texts.txt", "--model", "minilm", "-o", "runs/corpus"),
    ("analyse", "texts.txt", "--model", "minilm", "-o", "runs/part1"),
    ("analyse", "further.txt", "--model", "minilm", "-o", "runs/part2"),
    ("merge", "runs/part1", "runs/part2", "-o", "runs/merged"),
    ("sample-text", "-o", "sample.txt"),
    ("sample-treebank", "-n", "40", "-o", "bank.conllu"),
    ("syntax", "bank.conllu", "--model", "minilm", "--min-count", "10", "-o", "runs/grammar"),
    ("coreference", "bank.conllu", "--model", "minilm", "-o", "runs/grammar"),
    ("probe", "bank.conllu", "--model", "minilm", "--seeds", "1", "--epochs", "2", "--layers", "0", "-o", "runs/grammar"),
    ("parse", "The cat sat.", "--run", "runs/grammar", "--pair", "The:cat"),
    ("space", "texts.txt", "--model", "minilm", "--layers", "0", "--heads", "0,1", "--red", "it → cat", "-o", "runs/space"),
    ("compare", "texts.txt", "--model", "minilm", "--untrained", "--layers", "0", "--no-spaces", "-o", "runs/compare"),
    ("circuit", "--clean", "A cup of [MASK].", "--corrupt", "A kind of [MASK].", "--no-positions", "--method", "eap", "-o", "runs/circuit"),
    ("causes", "texts.txt", "--model", "e5-small-mlm", "--layers", "0", "--limit", "1", "-o", "runs/causes"),
    ("faithfulness", "texts.txt", "--model", "e5-small-sentiment", "--method", "norms", "--limit", "1", "-o", "runs/faithful"),
    ("gallery", "minilm", "--texts", "2", "--sentences", "20", "--min-count", "5", "-o", "gallery"),
    ("models",),
    ("models", "show", "smollm2"),
)


def write_help(output: Output) -> None:
    """The help of every command."""
    group = typer.main.get_command(commands)
    for path in ((), *_paths(group, ())):
        code, printed, errors = request(*path, "--help")
        output.text(f"help/{'-'.join(('eyeline', *path))}.txt", f"exit {code}\n{printed}{errors}")


def _paths(group: Any, above: tuple[str, ...]) -> list[tuple[str, ...]]:
    paths: list[tuple[str, ...]] = []
    for name, command in sorted(getattr(group, "commands", {}).items()):
        paths += [(*above, name), *_paths(command, (*above, name))]
    return paths


def request(*arguments: str) -> tuple[int, str, str]:
    """One command in this process, as the installed script runs it: exit code, what it prints, and what it prints of errors."""
    printed, errors, code = io.StringIO(), io.StringIO(), 0
    before, sys.argv = sys.argv, ["eyeline", *arguments]
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
            command_line()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    finally:
        sys.argv = before
    return code, printed.getvalue(), errors.getvalue()


def write(output: Output, folder: Path) -> None:
    """Small requests in a folder of their own: what each prints, and the files that are there in the end."""
    folder.mkdir(parents=True)
    (folder / "texts.txt").write_text(TEXTS, encoding="utf-8")
    (folder / "further.txt").write_text("Birds sing. So do we.\n", encoding="utf-8")
    with contextlib.chdir(folder):
        for number, arguments in enumerate(REQUESTS):
            code, printed, errors = request(*arguments)
            name = f"{number:02} {arguments[0]}"
            request_text = f"$ eyeline {' '.join(arguments)}\nexit {code}\n"
            output_text = without_times(printed) + without_times(errors)
            output.number(f"commands/{name}.txt", request_text + output_text)
            output.text(f"commands/{name}.txt", request_text + wording(output_text))
    write_files(output, "commands", folder)


def without_times(printed: str) -> str:
    """What a command prints, without how long it took and without lines that a progress bar wrote over."""
    lines = (line.split("\r")[-1].rstrip() for line in printed.split("\n"))
    kept = [line for line in lines if not re.search(r"\d:\d\d:\d\d|━", line)]
    return re.sub(r"\b[\d.]+ (s|seconds)\b", "# s", "\n".join(kept))


def write_files(output: Output, name: str, folder: Path) -> None:
    """The list of a folder's files, and what its JSON files and tables hold, without what varies."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    listed = "".join(f"{path.relative_to(folder).as_posix()}\n" for path in files)
    output.number(f"files/{name}.txt", listed)
    output.text(f"files/{name}.txt", wording(listed))
    for path in files:
        where = f"files/{name}/{path.relative_to(folder).as_posix()}"
        if path.suffix == ".json":
            value = without(json.loads(path.read_text(encoding="utf-8")))
            output.number(where, {key: item for key, item in value.items() if key not in SEALS} if isinstance(value, dict) else value)
        elif path.suffix in (".csv", ".txt", ".conllu", ".svg"):
            output.number(where, path.read_text(encoding="utf-8"))
        elif path.suffix == ".html":
            output.number(where, readable_page(path.read_text(encoding="utf-8")))
