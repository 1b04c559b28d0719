"""Pages of the reference: every public name with its docstring, and every command with its options."""

from __future__ import annotations

import ast
import inspect
from functools import cache
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).parents[2] / "src" / "eyeline"
INDEX = """# Reference

The pages of this section are written from the docstrings when the site is built, so they say what the code says.

- [eyeline](eyeline.md): the names of `import eyeline as el`. `el.load` opens a model, `model.trace` records attention, the four views
  show it, and one function for each analysis measures it.
- Modules with more: [attributions](eyeline.attributions.md), [corpora](eyeline.corpora.md), [figures](eyeline.figures.md),
  [mathematics](eyeline.mathematics.md), [mentions](eyeline.mentions.md), [models](eyeline.models.md), [probes](eyeline.probes.md),
  [runs](eyeline.runs.md), [spaces](eyeline.spaces.md), [statistics](eyeline.statistics.md), [traces](eyeline.traces.md),
  [treebanks](eyeline.treebanks.md).
- [The command line](command-line.md): every command and its options.
- [The format of a view](../view-format.md): what Python writes and the front end reads; the keys of a view's state.
- [Which models open](../models.md), [what a word is](../words.md), [what you can rely on](../trust.md), [the glossary](../glossary.md) and
  [what was asked for and where it is](../project/coverage.md).

Names that are not on these pages may change without notice. [How versions are counted](../project/changes.md).
"""
#: The module of the top level.
TOP = "eyeline"


@cache
def pages() -> dict[str, str]:
    """The path of each page in the site → its text."""
    written = {f"reference/{module}.md": _page(module, names) for module, names in public_names().items()}
    return {"reference/index.md": INDEX, **written, "reference/command-line.md": commands()}


@cache
def public_names() -> dict[str, dict[str, str]]:
    """Module → public name → where it is defined, as the table of public names and the modules beside it say."""
    top = _imported(SOURCE / "__init__.pyi")
    modules = [name for name, path in top.items() if path == f"eyeline.{name}"]
    named = {TOP: {name: path for name, path in top.items() if name not in modules and not name.startswith("_")}}
    return named | {f"{TOP}.{name}": _public_names_of(name) for name in modules}


def _public_names_of(module: str) -> dict[str, str]:
    """The public names of a module, those in its `__all__`, or of a package that has a table of them."""
    table = SOURCE / module / "__init__.pyi"
    if table.exists():
        return _imported(table, f"{TOP}.{module}")
    path = SOURCE / f"{module}.py"
    imported = _imported(path)
    return {name: imported.get(name, f"{TOP}.{module}.{name}") for name in _listed(path)}


def _listed(path: Path) -> list[str]:
    """The names in the `__all__` of a file of this package."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    raise ValueError(f"{path} has no __all__.")


def _imported(path: Path, package: str = TOP) -> dict[str, str]:
    """Name → its module and name, of every import in a file of this package."""
    names: dict[str, str] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            module = ".".join(part for part in (package if node.level else "", node.module or "") if part)
            names |= {alias.asname or alias.name: f"{module}.{alias.name}" for alias in node.names if module != "__future__"}
    return names


def _page(module: str, names: dict[str, str]) -> str:
    about = "The names of `import eyeline as el`." if module == TOP else ast.get_docstring(ast.parse(_text(module))) or ""
    entries = [f"::: {path}\n" for _, path in sorted(names.items(), key=_order)]
    return "\n".join([f"# {module}\n", about + "\n", *entries])


def _text(module: str) -> str:
    path = SOURCE / module.removeprefix("eyeline.")
    return (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text(encoding="utf-8")


def _order(item: tuple[str, str]) -> tuple[bool, str]:
    """Functions first, then classes."""
    return item[0][0].isupper(), item[0]


def commands() -> str:
    """Every command of the command line with its options, as the program itself says them."""
    from typer.main import get_command

    from eyeline.show.cli.main import app

    parts = ["# The command line", "`eyeline COMMAND --help` says the same in a terminal."]
    for name, command in sorted(_commands_of(get_command(app)).items()):
        arguments = " ".join(str(parameter.name).upper() for parameter in command.params if parameter.param_type_name == "argument")
        options = [parameter for parameter in command.params if parameter.param_type_name == "option" and not parameter.hidden]
        parts += [f"## `eyeline {name}`", inspect.cleandoc(command.help or ""), f"```text\neyeline {name} {arguments} [OPTIONS]\n```"]
        rows = [f"| `{', '.join([*option.opts, *option.secondary_opts])}` | {_cell(option.help)} |" for option in options]
        if rows:
            parts.append("\n".join(["| option | |", "|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def _commands_of(group: Any, before: str = "") -> dict[str, Any]:
    """Name → command, those of groups by both names."""
    named: dict[str, Any] = {}
    for name, command in group.commands.items():
        if not command.hidden:
            named |= _commands_of(command, f"{before}{name} ") if hasattr(command, "commands") else {before + name: command}
    return named


def _cell(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|")
