"""What ARCHITECTURE.md says to touch to add a thing, checked on the things that exist: they have these parts and no other."""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from pathlib import Path

import grimp
import pytest

from eyeline.analyses.corpus.statistics.catalogue import STATISTICS
from eyeline.hosts.app.messages import LANGUAGES
from eyeline.hosts.app.pages import PAGES
from eyeline.hosts.cli.main import GROUPS
from eyeline.plots.figures import FIGURES
from eyeline.views.data import KINDS

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "eyeline"
TABLE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").split("## To add X, touch Y")[1].split("\n## ")[0]


@pytest.fixture(scope="module")
def imports() -> grimp.ImportGraph:
    return grimp.build_graph("eyeline", exclude_type_checking_imports=True, cache_dir=None)


def toml(path: Path) -> dict[str, object]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def test_the_table_has_the_rows_that_are_checked_here():
    rows = [row.split("|")[1].strip() for row in TABLE.splitlines() if row.startswith("| a")]
    assert {"a figure", "a corpus statistic", "a view", "a page of the app", "a command", "a corpus format"} <= set(rows)


def test_a_figure_is_a_module_with_its_record_and_words_in_every_language():
    modules = {Path(inspect.getfile(inspect.unwrap(figure.draw))).relative_to(PACKAGE).parts[0] for figure in FIGURES.values()}
    assert modules == {"plots"}
    for language in LANGUAGES:
        words = toml(PACKAGE / "words" / language / "figure.toml")
        assert [name for name in FIGURES if name not in words] == []


def test_a_figure_that_nothing_else_builds_on_is_named_only_in_the_list_of_figures(imports):
    for module in ("plots.causes.pruning", "plots.corpus.importance", "plots.compare", "plots.probes.probes_learning"):
        assert imports.find_modules_that_directly_import(f"eyeline.{module}") == {"eyeline.plots.figures"}


def test_a_corpus_statistic_is_a_class_in_its_folder_and_a_line_of_the_catalogue(imports):
    for statistic in STATISTICS.values():
        assert statistic.__module__.startswith("eyeline.analyses.corpus.statistics.")
    importers = imports.find_modules_that_directly_import("eyeline.analyses.corpus.statistics.importance")  # no other analysis builds on it
    assert importers == {"eyeline.analyses.corpus.statistics.catalogue", "eyeline.statistics"}


def test_a_view_has_a_module_a_folder_in_the_front_end_and_a_line_in_the_registry():
    registry = (ROOT / "frontend" / "src" / "registry.ts").read_text(encoding="utf-8")
    bundles = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "frontend" / "src" / "views").glob("*/*.ts"))
    for kind in KINDS:
        assert (PACKAGE / "views" / f"{kind}.py").is_file()
        assert (ROOT / "frontend" / "src" / "views" / kind / "view.ts").is_file()
        assert f"{kind}View" in registry + bundles


def test_a_page_of_the_app_is_a_folder_a_line_and_messages(imports):
    folders = {path.parent.name for path in (PACKAGE / "hosts" / "app").glob("*/page.py")}
    assert {page.name for page in PAGES} == folders
    for page in PAGES:
        assert imports.find_modules_that_directly_import(f"eyeline.hosts.app.{page.name}.page") == set()
        for language in LANGUAGES:
            assert {"name", "title", "about"} <= set(toml(PACKAGE / "hosts" / "app" / "messages" / language / f"{page.name}.toml"))


def test_a_command_is_a_function_of_a_module_and_a_line_in_main(imports):
    for commands in GROUPS.values():
        for command in commands:
            assert inspect.unwrap(command).__module__.startswith("eyeline.hosts.cli.")
    for module in ("view", "grammar", "probe", "parse"):
        assert imports.find_modules_that_directly_import(f"eyeline.hosts.cli.{module}") == {"eyeline.hosts.cli.main"}


def test_a_corpus_or_coreference_format_is_known_only_to_its_reader(imports):
    for module in ("corpora.plain_text", "corpora.json_lines", "coreference.conll2012", "coreference.json_lines"):
        room = module.split(".")[0]
        assert imports.find_modules_that_directly_import(f"eyeline.text.{module}") == {f"eyeline.text.{room}.read"}


def test_every_name_in_the_table_is_defined_in_the_file_beside_it():
    """`READERS` of `text/coreference/read.py` and the like."""
    pairs = re.findall(r"`([A-Z_]+|[a-z_]+)` (?:of|in) `([\w/]+\.py)`", TABLE)
    assert len(pairs) > 3
    missing = [(name, path) for name, path in pairs if name not in defined(PACKAGE / path)]
    assert missing == []


def defined(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
            case ast.Assign(targets=targets):
                names.update(target.id for target in targets if isinstance(target, ast.Name))
    return names
