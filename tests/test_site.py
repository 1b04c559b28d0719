"""The site of the documentation: built without a warning, complete, asks nobody for anything, and can be searched from disk."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest
from scripts.documentation import docstrings, formulas, links, navigation, reference, tutorials

import eyeline as el

ROOT = Path(__file__).parents[1]


def test_a_link_out_of_docs_leads_to_the_sites_page_or_names_the_file():
    text = "[built](../ARCHITECTURE.md#flow), [code](../src/eyeline/heads.py), `[no](link.md)`, ![picture](pictures/head.png)"
    assert links.for_site(text, "trust.md") == (
        "[built](project/architecture.md#flow), code (`src/eyeline/heads.py`), `[no](link.md)`, ![picture](pictures/head.png)"
    )
    assert links.for_site("([`names.py`](../src/eyeline/heads.py)) and `[no](link.md)`", "trust.md") == (
        "(`src/eyeline/heads.py`) and `[no](link.md)`"
    )
    assert links.for_site("[results](../docs/results.md)", "project/benchmarks.md") == "[results](../results.md)"
    assert links.for_site("[lesson](../../notebooks/lesson.ja.ipynb)", "how-to/space.md") == "[lesson](../tutorials/lesson.ja.md)"


def test_a_formula_becomes_mathml():
    drawn = formulas.as_mathml(r'<p><span class="arithmatex">\(a_{ij} &lt; 1\)</span></p>')
    assert drawn.startswith("<p><math")
    assert "arithmatex" not in drawn


def test_no_formula_keeps_a_command_that_the_converter_does_not_know():
    for page in sorted((ROOT / "docs").rglob("*.md")):
        text = re.sub(r"(^```.*?^```$|`[^`\n]+`)", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        for formula in [part[0] or part[1] for part in re.findall(r"\$\$(.+?)\$\$|\$([^$\n]+)\$", text)]:
            drawn = formulas.as_mathml(f'<span class="arithmatex">\\({html.escape(formula)}\\)</span>')
            assert "\\" not in drawn, (page.name, formula)


def test_the_site_brings_a_font_for_formulas():
    assert formulas.font()[:4] == b"\x00\x01\x00\x00"  # TrueType
    assert formulas.FONT in (ROOT / "docs" / "site.css").read_text(encoding="utf-8")


def test_columns_of_a_docstring_become_a_list_and_examples_code():
    text = "Fold.\n\nlimit   so many\n        documents\nseed    for the draw\n\n>>> 1 + 1\n2"
    assert docstrings.as_markdown(text) == "Fold.\n\n- `limit`: so many documents\n- `seed`: for the draw\n\n```python\n>>> 1 + 1\n2\n```"


def test_a_page_that_nobody_listed_is_in_the_table_of_contents(tmp_path):
    for name in ("index.md", "how-to/a.md", "how-to/b.md", "new/c.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("# Title\n")
    nav = navigation.complete([{"Home": "index.md"}, {"How to": ["how-to/a.md", {"More": []}]}], tmp_path, ["how-to/made.md"])
    assert nav == [{"Home": "index.md"}, {"How to": ["how-to/a.md", "how-to/b.md", "how-to/made.md", {"More": []}]}, {"New": ["new/c.md"]}]


def test_the_reference_names_every_public_name():
    names = reference.public_names()
    modules = {name.removeprefix("eyeline.") for name in names} - {"eyeline"}
    assert set(names["eyeline"]) | modules == {name for name in dir(el) if not name.startswith("_")}
    for module in modules:
        assert set(names[f"eyeline.{module}"]) == set(getattr(el, module).__all__)
    commands = reference.commands()
    assert all(f"## `eyeline {name}`" in commands for name in ("view", "analyse", "space", "models get", "app"))


def test_every_notebook_is_a_tutorial_with_its_pictures():
    pages = tutorials.pages()
    assert {f"tutorials/{path.stem}.md" for path in (ROOT / "notebooks").glob("*.ipynb")} | {"tutorials/index.md"} == set(pages)
    shown = {f"tutorials/{target}" for text in pages.values() for target in re.findall(r"!\[[^\]]*\]\(([^)]+\.png)\)", str(text))}
    assert shown == set(tutorials.pictures())


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    environment = os.environ | {"PYTHONPATH": paths, "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_loads_nothing_from_elsewhere(site):
    pages = sorted(site.rglob("*.html"))
    assert {path.relative_to(site).as_posix() for path in pages} >= {
        "index.html",
        "ja/start.html",
        "reference/eyeline.html",
        "results.html",
    }
    for page in pages:
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|iframe|source)[^>]*\ssrc=\"?(https?:[^\" >]+)", text)
        loaded += re.findall(r"<link[^>]*rel=\"?(?:stylesheet|icon|preconnect)[^>]*href=\"?(https?:[^\" >]+)", text)
        assert loaded == [], page
        assert "arithmatex" not in text, page


@pytest.mark.slow
def test_every_link_of_the_built_site_leads_to_a_page_or_a_file_of_it(site):
    broken = []
    for page in sorted(site.rglob("*.html")):
        if page.name == "404.html":  # its links begin at the root of a server
            continue
        for target in re.findall(r"(?:href|src)=\"([^\"#?]+)", page.read_text(encoding="utf-8")):
            file = page.parent / unquote(html.unescape(target))
            if not re.match(r"[a-z]+:", target) and not (file / "index.html" if file.is_dir() else file).exists():
                broken.append((page.relative_to(site).as_posix(), target))
    assert broken == []


@pytest.mark.slow
@pytest.mark.browser
def test_the_site_is_searched_from_disk_in_three_languages(site, browser):
    page = browser.new_page()
    requests = []
    page.on("request", lambda request: requests.append(request.url))
    for words in ("entropy", "アテンション", "어텐션"):
        page.goto(f"{(site / 'index.html').as_uri()}?q={words}")  # the page searches for what its address asks
        page.locator(".md-search-result__item").first.wait_for(timeout=60_000)
    page.close()
    assert [address for address in requests if address.startswith("http")] == []


@pytest.mark.slow
@pytest.mark.browser
def test_no_page_is_wider_than_a_phone(site, browser):
    page = browser.new_page(viewport={"width": 390, "height": 844})
    wide = {}
    for path in sorted(site.rglob("*.html")):
        page.goto(path.as_uri())
        too_wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        if too_wide > 0:
            wide[path.relative_to(site).as_posix()] = too_wide
    page.close()
    assert wide == {}
