"""The committed bundle is what the sources give, twice the same, and small."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from .conftest import ROOT

BUNDLE = ROOT / "src/eyeline/views/static/eyeline.js"
NOTE = ROOT / "docs/attention-is-not-importance.md"
ADDRESS = r"https?://[\w./-]+"


def test_rebuilding_gives_the_committed_bundle(tmp_path):
    node = shutil.which("node")
    if node is None or not (ROOT / "frontend/node_modules").is_dir():
        pytest.skip("the front end's tools are not installed: npm ci in frontend/")
    for name in ("once.js", "twice.js"):
        subprocess.run([node, "build.mjs", str(tmp_path / name)], cwd=ROOT / "frontend", check=True, capture_output=True)
        assert (tmp_path / name).read_bytes() == BUNDLE.read_bytes(), "npm run build in frontend/, and commit the result"


def test_the_bundle_is_small_and_loads_nothing():
    code = BUNDLE.read_text(encoding="utf-8")
    assert len(code.encode()) <= 160_000
    assert not re.search(r"\bimport\s*\(|\bfetch\s*\(|XMLHttpRequest|WebSocket|importScripts", code)
    linked = set(re.findall(ADDRESS, NOTE.read_text(encoding="utf-8")))  # what a reader may click on, in the page behind the quiet line
    assert set(re.findall(ADDRESS, code)) == {"http://www.w3.org/2000/svg", *linked}


def test_the_page_behind_the_quiet_line_is_the_documentations():
    code = BUNDLE.read_text(encoding="utf-8")
    for line in NOTE.read_text(encoding="utf-8").splitlines():
        if line.isascii() and not {"`", "\\"} & set(line):  # the bundle spells other characters in its own way
            assert line in code, "docs/attention-is-not-importance.md changed: npm run build in frontend/, and commit the result"


def test_the_lock_file_names_no_registry():
    assert '"resolved"' not in (ROOT / "frontend/package-lock.json").read_text(encoding="utf-8")
