"""Errors: one install hint, which names no stranger's package; advice for Python and for commands; nothing that steers a terminal."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

import eyeline as el
from eyeline.errors import EyelineError, install_hint

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("README*.md")), ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_the_install_hint_names_the_extras_and_a_clone():
    assert install_hint("app", "plots") == 'From a clone of eyeline: pip install ".[app,plots]"'


def test_the_install_hint_is_written_in_one_place():
    spelled = [
        f"{file.relative_to(ROOT)}: {line.strip()}"
        for file in sorted((ROOT / "src").rglob("*.py"))
        for line in file.read_text(encoding="utf-8").splitlines()
        if re.search(r"pip install|eyeline\[", line) and file.name != "errors.py"
    ]
    assert spelled == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_installs_eyeline_from_the_package_index(page):
    for line in re.findall(r"pip install[^`\n]*", page.read_text(encoding="utf-8")):
        assert "eyeline" not in line, "eyeline is not on PyPI: pip install from a clone"


def test_an_error_shows_control_characters_and_sends_none():
    message = str(EyelineError("x\x1b[31m.txt: no such file.", "a\x07b\u202ec"))
    assert message == "x\\x1b[31m.txt: no such file.\n  a\\x07b\\u202ec"


def test_python_is_never_advised_an_option_of_the_command_line():
    """Options such as --limit stand in errors only as the second part of an `Advice`. Hosts are the command line and the app themselves."""
    package = ROOT / "src" / "eyeline"
    modules = [path for path in sorted(package.rglob("*.py")) if "show" not in path.relative_to(package).parts]
    named = {
        f"{path.relative_to(package)}: {text}" for path in modules for text in options_named(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert named == set()


def test_an_option_outside_of_advice_would_be_seen():
    assert list(options_named(ast.parse('raise TextError("None.", f"Give --limit {n}.")'))) == ["Give --limit "]
    assert list(options_named(ast.parse('raise TextError("None.", Advice("Give limit=1.", "Give --limit 1."))'))) == []


def options_named(tree: ast.AST) -> Iterator[str]:
    """The texts within errors that name an option of a command, unless they are advice for the command line."""
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and (tree.func.id.endswith("Error") or tree.func.id == "FileKind"):
        yield from (text for text in texts_in(tree) if re.search(r"(^|[ (])--[a-z]", text))
        return
    for child in ast.iter_child_nodes(tree):
        yield from options_named(child)


def texts_in(tree: ast.AST) -> Iterator[str]:
    """All strings of an expression, without those of `Advice(python, command)`."""
    if isinstance(tree, ast.Constant) and isinstance(tree.value, str):
        yield tree.value
    if not (isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "Advice"):
        for child in ast.iter_child_nodes(tree):
            yield from texts_in(child)


def test_what_the_app_advises_is_a_message_of_every_language():
    assert [where for where, advice in advised_in_the_app() if not advice.startswith("Message('refusal.advice.")] == []
    assert len(list(advised_in_the_app())) > 10


def advised_in_the_app() -> Iterator[tuple[str, str]]:
    """The third part of every `Advice(python, command, app)` of the package."""
    for path in sorted((ROOT / "src" / "eyeline").rglob("*.py")):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Advice" and len(call.args) > 2:
                yield f"{path.name}:{call.lineno}", ast.unparse(call.args[2])


def test_a_file_of_unknown_kind_and_a_missing_column_advise_in_the_words_of_their_reader(tmp_path):
    (tmp_path / "texts.xyz").write_text("A text.")
    with pytest.raises(EyelineError) as unknown:
        el.corpora.read_corpus(tmp_path / "texts.xyz")
    assert "kind=" in str(unknown.value)
    assert "--kind" not in str(unknown.value)
    assert "--kind" in unknown.value.for_command_line
    (tmp_path / "texts.txt").write_text("A text.")
    with pytest.raises(EyelineError, match="Only tables, datasets and JSON lines have columns") as column:
        el.corpora.read_corpus(tmp_path / "texts.txt", column="text")
    assert "column=" in str(column.value)
    assert "--column" in column.value.for_command_line


@pytest.mark.parametrize("given", ["The cat sat.", None, 3])
def test_a_view_or_figure_of_something_else_says_what_to_give(given):
    expected = {
        "a trace": [el.head_view, el.model_view, el.neuron_view, partial(el.figures.attention_graph, layer=0, head=0)],
        "a space": [el.space_view],
        "a run": [partial(el.figure, name="entropy")],
    }
    for kind, functions in expected.items():
        for function in functions:
            with pytest.raises(EyelineError, match=f"{type(given).__name__} where {kind} was expected"):
                function(given)
