"""The gallery's folder: plain pages that hold together, from file://, in every language."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import eyeline as el
from eyeline.measure.heads.profile import ExampleLook, profiles
from eyeline.measure.heads.roles import Role
from eyeline.show.gallery.pages import ModelPages, examples, model_page, write_gallery
from eyeline.words import LANGUAGES, Words
from tests.show.gallery.tiny import HEADS, LAYERS, measured


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gallery")
    measured().save(folder / "tiny" / "run")
    write_gallery(folder, {"tiny": "a small <b>BERT</b>"})
    return folder


def test_every_head_has_a_page_and_every_link_leads_somewhere(folder):
    assert len(list((folder / "tiny").glob("L*H*.html"))) == LAYERS * HEADS
    for page in folder.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r'(?:href|src)="([^"]+)"', text):
            path, _, name = target.partition("#")
            assert (page.parent / path).exists(), f"{page}: {target}"
            assert not name or f'id="{name}"' in (page.parent / path).read_text(encoding="utf-8")


def test_scripts_and_data_are_there_once_for_a_model_and_a_page_of_a_head_is_small(folder):
    pages = list((folder / "tiny").glob("L*H*.html"))
    assert max(page.stat().st_size for page in pages) < 12_000
    assert [path.name for path in sorted(folder.rglob("*.js"))] == ["eyeline.js", "gallery.js", "examples.js"]


def test_what_a_model_is_called_cannot_become_markup(folder):
    assert "a small &lt;b&gt;BERT&lt;/b&gt;" in (folder / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("weight", "distant", "sentences"),
    [
        (0.9, True, "From “the” to “sat”: 0.900."),
        (0.9, False, "From “the” to “sat”, its strongest look here: 0.900."),
        (0.05, False, "No single look stands out here."),
    ],
)
def test_a_page_says_one_thing_of_where_a_head_looks_in_a_text(weight, distant, sentences):
    query, key = 1, 3
    profile = replace(profiles(measured().run)[0], examples=(ExampleLook(0, query, key, weight, distant),))
    page = "".join(examples(profile, measured(), Words("en")))
    assert f"<p>{sentences}</p>" in page
    assert ("[1]" in page) == distant  # the query is locked where its look at a distant word stands out; else all lines are drawn


@pytest.mark.parametrize("language", sorted(set(LANGUAGES) - {"en"}))
def test_the_pages_are_in_the_language_that_is_asked_for(language, tmp_path):
    measured().save(tmp_path / "tiny" / "run")
    write_gallery(tmp_path, language=language)
    page = (tmp_path / "tiny" / "L0H0.html").read_text(encoding="utf-8")
    assert f'<html lang="{language}">' in page
    assert "When it is switched off" not in page
    assert '"labels"' in (tmp_path / "tiny" / "examples.js").read_text(encoding="utf-8")[:400]


def test_a_folder_without_measurements_and_an_unknown_language_are_refused(tmp_path):
    with pytest.raises(el.EyelineError, match="no measured model"):
        write_gallery(tmp_path)
    with pytest.raises(el.EyelineError, match="'fr'"):
        write_gallery(tmp_path, language="fr")


@pytest.mark.browser
def test_the_map_of_twelve_heads_is_seen_whole_whatever_relations_they_find(folder: Path, tmp_path: Path, browser: Any):
    profile, role = profiles(measured().run)[0], Role("dependency", 90, 20, "compound:prt")
    heads = [replace(profile, head=profile.head._replace(head=head), roles=(role,)) for head in range(12)]
    shutil.copy(folder / "style.css", tmp_path)
    file = tmp_path / "tiny" / "index.html"
    file.parent.mkdir()
    file.write_text("".join(model_page(ModelPages("tiny", "", measured(), heads), Words())), encoding="utf-8")
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(file.as_uri())
    hidden = page.evaluate("(() => { const wide = document.querySelector('.wide'); return wide.scrollWidth - wide.clientWidth; })()")
    cut = page.evaluate("[...document.querySelectorAll('.map a')].filter((cell) => cell.scrollWidth > cell.clientWidth).length")
    page.close()
    assert (hidden, cut) == (0, 0)


@pytest.mark.browser
def test_a_page_from_a_disk_draws_its_head_and_asks_for_nothing_outside_the_folder(folder: Path, browser: Any):
    page = browser.new_page()
    requests: list[str] = []
    errors: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((folder / "tiny" / "index.html").as_uri())
    page.get_by_role("link", name=re.compile("^L1·H2:")).click()
    page.wait_for_selector("[data-example][data-drawn]", state="attached")
    assert page.locator("h1").inner_text() == "L1·H2 · tiny"
    state = page.evaluate("document.querySelector('[data-example]').eyeline.state()")
    assert (state["layer"], state["heads"]) == (1, [2])
    page.get_by_role("link", name="all heads of tiny").click()
    page.wait_for_url("**/index.html#L1H2")
    page.close()
    assert errors == []
    assert all(address.startswith((folder.as_uri(), "blob:")) for address in requests)
