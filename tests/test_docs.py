"""The examples in the documentation run, as written: in this process, each in a folder of its own."""

from __future__ import annotations

import ast
import re
import shlex
import sys
from pathlib import Path

import pytest
from scripts.documentation.reference import public_names

from eyeline.show.cli import main as cli
from tests.project.coverage_page import PAGE as COVERAGE

pytestmark = pytest.mark.usefixtures("quick_pictures", "quick_probes")

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [*sorted(ROOT.glob("README*.md")), ROOT / "AGENTS.md", *sorted((ROOT / "docs").rglob("*.md"))]
OTHERS = [ROOT / name for name in ("SECURITY.md", "llms.txt", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md")]


#: Blocks that train probes, fit spaces or measure causes are slow, and so are those of the longer pages. Calls and commands of these kinds
#: have quick tests of their own.
SLOW = re.compile(r"\b(eyeline |el\.)(probe|space|compare|causes|circuit|faithfulness|syntax|coreference)\b")


def blocks(language: str) -> list:
    """Every block of this language, named by its page and its index there. A block that another page has too runs once."""
    blocks, seen = [], set()
    for page in sorted(PAGES, key=lambda page: (is_translated(page), page != README)):
        for index, block in enumerate(re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)):
            code = without_language(ast.dump(ast.parse(block)) if language == "python" else re.sub(r"\s+#.*", "", block))
            if code in seen:
                continue
            seen.add(code)
            slow = is_translated(page) or SLOW.search(block) or page.parent.name in ("how-to", "mathematics")
            if page == COVERAGE or (slow and page == README):
                continue  # test_coverage.py runs the block of the one, test_package.py those of the other, from the wheel
            marks = [pytest.mark.slow] if slow else [pytest.mark.quick_only] if page == README else []
            blocks.append(pytest.param(block, id=f"{page.relative_to(ROOT)}-{index}", marks=marks))
    return blocks


def without_language(code: str) -> str:
    """Japanese and Korean pages choose their own language: the same code, which runs once."""
    return re.sub(r"--language \w+|Constant\(value='(?:ja|ko)'\)", "LANGUAGE", code)


def is_translated(page: Path) -> bool:
    return re.search(r"\b(ja|ko)\b", str(page.relative_to(ROOT))) is not None


@pytest.mark.parametrize("block", blocks("python"))
def test_python_examples_run(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "<documentation>", "exec"), {"__name__": "__main__"})  # noqa: S102 - our own text


@pytest.mark.parametrize("block", blocks("console"))
def test_console_examples_run(block, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    commands = [line[2:] for line in block.splitlines() if line.startswith("$ eyeline ")]
    assert commands, "a console block without an eyeline command tests nothing"
    for command in commands:
        monkeypatch.setattr(sys, "argv", shlex.split(command, comments=True))
        try:
            cli.main()
        except SystemExit as stop:
            assert not stop.code, f"{command}\n{capfd.readouterr().err}"


def test_examples_and_recipes_import_public_modules_alone():
    """What is taught keeps its address when a file of the package moves."""
    adapters = {"eyeline.bertviz", "eyeline.bertviz.neuron_view", "eyeline.bertviz.transformers_neuron_view", "eyeline.circuitsvis"}
    taught = [*PAGES, *(ROOT / "notebooks").glob("*.ipynb"), *(ROOT / "scripts" / "notebook_cells").glob("*.py")]
    texts = [page.read_text(encoding="utf-8") for page in taught]
    texts += strings_of(ROOT / "src" / "eyeline" / "show" / "app")
    imported = {module for text in texts for module in re.findall(r"\b(?:from|import) (eyeline(?:\.\w+)*)", text)}
    assert {"eyeline", "eyeline.corpora", "eyeline.mathematics", "eyeline.models"} <= imported
    assert imported <= {*public_names(), *adapters}


def strings_of(folder: Path) -> list[str]:
    """Every string in the code of a folder."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in folder.rglob("*.py")]
    return [node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]


@pytest.mark.parametrize("page", [*PAGES, *OTHERS], ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert not missing


def test_links_to_a_heading_find_it():
    pages = [*PAGES, *(page for page in OTHERS if page.suffix == ".md")]
    missing = []
    for page in pages:
        for target, heading in re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", page.read_text()):
            linked = page.parent / target if target else page
            if linked.suffix == ".md" and heading not in headings(linked):
                missing.append(f"{page.relative_to(ROOT)}: {target}#{heading}")
    assert not missing


def headings(page: Path) -> set[str]:
    """The headings of a page, as GitHub writes them in a link."""
    prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^#+ (.*)$", prose, re.MULTILINE)}


@pytest.mark.parametrize("language", ["ja", "ko"])
def test_a_translated_readme_has_every_block_and_picture_of_the_readme(language):
    readme, translated = (ROOT / name for name in ("README.md", f"README.{language}.md"))
    assert code(translated, language) == code(readme)
    assert pictures(translated) == pictures(readme)


def code(page: Path, language: str = "") -> list[str]:
    """Every block of code without its comments, and without the choice of the page's own language."""
    blocks = re.findall(r"^```(?:sh|python|console)\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    return [re.sub(rf' --language {language}\b|, "{language}"|\s+#.*', "", block) for block in blocks]


def pictures(page: Path) -> list[str]:
    return re.findall(r"!\[[^]]*\]\(([^)]+)\)", page.read_text())
