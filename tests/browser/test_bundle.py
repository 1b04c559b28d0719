"""The committed files of the front end are what the sources give, twice the same, and small."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from eyeline.kinds import VIEWS
from eyeline.look.views.page import built, code_of
from tests.browser.conftest import ROOT

STATIC = ROOT / "src/eyeline/look/views/static"
FILES = sorted(path.name for path in STATIC.glob("*.js"))
NOTE = ROOT / "docs/attention-is-not-importance.md"
ADDRESS = r"https?://[\w./-]+"
#: Bytes.
CORE_LIMIT, FURTHER_LIMIT = 160_000, 60_000


def test_rebuilding_gives_the_committed_files(tmp_path):
    node = shutil.which("node")
    if node is None or not (ROOT / "frontend/node_modules").is_dir():
        pytest.skip("the front end's tools are not installed: npm ci in frontend/")
    for folder in (tmp_path / "once", tmp_path / "twice"):
        subprocess.run([node, "build.mjs", str(folder)], cwd=ROOT / "frontend", check=True, capture_output=True)
        assert sorted(path.name for path in folder.iterdir()) == FILES
        for name in FILES:
            assert (folder / name).read_bytes() == (STATIC / name).read_bytes(), f"{name}: make frontend, and commit the result"


def test_the_core_and_each_further_view_are_small():
    assert (STATIC / "core.js").stat().st_size <= CORE_LIMIT
    for name in FILES:
        if name != "core.js":
            assert (STATIC / name).stat().st_size <= FURTHER_LIMIT, name


def test_a_page_carries_only_the_code_of_the_view_it_shows():
    for kind in VIEWS.values():
        page = code_of(kind.name, "page")
        for name in sorted({name for each in VIEWS.values() for name in each.code}):
            assert (built(name) in page) == (name in kind.code), (kind, name)


@pytest.mark.parametrize("name", FILES)
def test_no_file_loads_anything(name):
    text = (STATIC / name).read_text(encoding="utf-8")
    assert not re.search(r"\bimport\s*\(|\bfetch\s*\(|XMLHttpRequest|WebSocket|importScripts", text)
    linked = set(re.findall(ADDRESS, NOTE.read_text(encoding="utf-8")))  # what a reader may click on, in the note's page
    assert set(re.findall(ADDRESS, text)) <= {"http://www.w3.org/2000/svg", *linked}


@pytest.mark.parametrize("name", FILES)
def test_no_file_can_end_the_script_element_that_holds_it(name):
    assert not re.search(r"</script|<!--|sourceMappingURL", (STATIC / name).read_text(encoding="utf-8"), re.IGNORECASE)


def test_the_page_behind_the_note_is_the_documentations():
    text = (STATIC / "core.js").read_text(encoding="utf-8")
    for line in NOTE.read_text(encoding="utf-8").splitlines():
        if line.isascii() and not {"`", "\\"} & set(line):  # the built file spells other characters in its own way
            assert line in text, "docs/attention-is-not-importance.md changed: make frontend, and commit the result"


def test_the_lock_file_names_no_registry():
    assert '"resolved"' not in (ROOT / "frontend/package-lock.json").read_text(encoding="utf-8")
