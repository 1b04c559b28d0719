"""The examples in the documentation run, as written: in this process, each in a folder of its own."""

from __future__ import annotations

import ast
import re
import shlex
import sys
from pathlib import Path

import pytest

from eyeline.hosts.cli import main as cli

pytestmark = pytest.mark.usefixtures("quick_pictures")

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("README*.md")), ROOT / "AGENTS.md", *sorted((ROOT / "docs").rglob("*.md"))]
OTHERS = [ROOT / name for name in ("SECURITY.md", "llms.txt", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md")]


#: Blocks that train probes, fit spaces or measure causes are slow, and so are those of the longer pages. Calls and commands of these kinds
#: have quick tests of their own.
SLOW = re.compile(r"\b(eyeline |el\.)(probe|space|compare|causes|circuit|faithfulness|syntax|coreference)\b")


def blocks(language: str) -> list:
    """Every block of this language, named by its page and its index there. A translation that differs in comments alone runs once."""
    blocks, seen = [], set()
    for page in sorted(PAGES, key=is_translated):
        for index, block in enumerate(re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)):
            code = ast.dump(ast.parse(block)) if language == "python" else re.sub(r"\s+#.*", "", block)
            if is_translated(page) and code in seen:
                continue
            seen.add(code)
            slow = is_translated(page) or SLOW.search(block) or page.parent.name in ("how-to", "mathematics")
            if slow and page == ROOT / "README.md":
                continue  # test_package.py runs every block of this page, from the wheel
            blocks.append(pytest.param(block, id=f"{page.relative_to(ROOT)}-{index}", marks=[pytest.mark.slow] if slow else []))
    return blocks


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
