"""The page is one inert file: nothing fetched, nothing in the data runs, written whole or not at all."""

from __future__ import annotations

import base64
import errno
import json
import os
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import eyeline as el
from eyeline.errors import StorageError
from eyeline.look.views.page import inert
from eyeline.look.views.view import View
from eyeline.storage import files
from eyeline.words import LANGUAGES, Words
from tests.look.views.front_end import use_small_front_end

ODD = [
    "</script>",
    "<script>alert(1)</script>",
    "<!--",
    "<img src=x onerror=alert(1)>",
    "\"'`",
    "😀",
    "\u2028",
    "\u2029",
    "猫",
    "שלום",
    "\x00",
    "\ud83d",
]


@pytest.fixture(autouse=True)
def _front_end(monkeypatch: pytest.MonkeyPatch) -> None:
    use_small_front_end(monkeypatch)


def view(tokens: list[str], model: str = "tiny") -> View:
    n = len(tokens)
    return el.head_view(el.Trace.from_arrays(np.full((1, 1, n, n), 1 / n), tokens, model=model))


class Elements(HTMLParser):
    """The elements of a page with their attributes, and what the scripts and the title hold."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attributes)))
        self.texts.append("")

    def handle_data(self, data: str) -> None:
        self.texts[-1:] = [self.texts[-1] + data] if self.texts else []

    def scripts(self) -> list[str]:
        return [text for (tag, _), text in zip(self.elements, self.texts, strict=True) if tag == "script"]


def data_of(page: str) -> dict[str, object]:
    return json.loads(Elements(page).scripts()[0])  # type: ignore[no-any-return]


def test_odd_tokens_arrive_as_they_are() -> None:
    assert data_of(view(ODD).html().encode("utf-8", "surrogatepass").decode("utf-8", "surrogatepass"))["spec"]["texts"][0]["tokens"] == ODD  # type: ignore[index]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(st.characters(), min_size=1), min_size=1, max_size=3), st.text(st.characters()))
def test_no_text_can_leave_its_script(tokens: list[str], model: str) -> None:
    page = view(tokens, model).html()
    assert [tag for tag, _ in Elements(page).elements].count("script") == 2
    assert data_of(page)["spec"]["texts"][0]["tokens"] == tokens  # type: ignore[index]


def test_the_models_name_cannot_break_the_title() -> None:
    elements = Elements(view(["a"], model="</title><script>alert(1)</script>").html())
    assert [tag for tag, _ in elements.elements].count("script") == 2


def test_nothing_in_the_page_would_be_fetched() -> None:
    page = view(["https://example.org/x.js"]).html()
    for tag, attributes in Elements(page).elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "audio", "video", "source")
        assert not {"src", "href", "srcset", "data", "poster", "action"} & set(attributes)
    assert not re.search(r"@import|url\(", page)


def test_the_policy_allows_no_request() -> None:
    policy = next(a["content"] for tag, a in Elements(view(["a"]).html()).elements if a.get("http-equiv") == "Content-Security-Policy")
    rules = dict(rule.strip().split(" ", 1) for rule in str(policy).split(";"))
    assert rules["default-src"] == "'none'"
    assert "connect-src" not in rules  # falls back to none
    assert not re.search(r"http|\*|'self'", str(policy))


def test_the_policy_stands_before_every_script() -> None:
    page = view(["a"]).html()
    assert page.index("Content-Security-Policy") < page.index("<script")


def test_a_reader_without_scripts_is_told_why_nothing_shows() -> None:
    assert "JavaScript" in view(["a"]).html().split("<noscript>")[1].split("</noscript>")[0]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_tab_and_the_line_for_readers_without_scripts_are_in_the_language_of_the_page(language: str) -> None:
    page = replace(view(["a"], model="{tiny}"), language=language).html()
    words = Words(language)
    assert f"<title>{words('page.title.head', model='{tiny}')}</title>" in page
    assert f"<noscript>{words('page.no_script')}</noscript>" in page
    assert ("head view" in page) is (language == "en")


def test_the_arrays_of_the_first_drawing_stand_before_the_code_and_the_others_behind_it() -> None:
    trace = el.Trace.from_arrays(np.full((3, 1, 2, 2), 0.5), ["a", "b"])
    shown, _, others = Elements(el.head_view(trace, layer=1).html()).scripts()
    assert list(json.loads(shown)["arrays"]) == ["encoder.1.weights"]
    assert list(json.loads(others)) == ["encoder.0.weights", "encoder.2.weights"]
    combined, _, others = Elements(el.head_view(trace, layer=1, combine="mean", combine_layers=[0]).html()).scripts()
    assert list(json.loads(combined)["arrays"]) == ["encoder.0.weights", "encoder.1.weights"]
    assert list(json.loads(others)) == ["encoder.2.weights"]


def test_the_arrays_of_a_view_that_shows_all_layers_all_stand_before_the_code() -> None:
    every, code = Elements(el.model_view(el.Trace.from_arrays(np.full((3, 1, 2, 2), 0.5), ["a", "b"])).html()).scripts()
    assert len(json.loads(every)["arrays"]) == 3
    assert "mount" in code


def test_the_theme_asked_for_colours_the_page_before_anything_is_drawn() -> None:
    assert '<html lang="en" data-theme="dark">' in view(["a"]).starting(theme="dark").html()


def test_arrays_travel_as_base64_of_their_bytes() -> None:
    shown = view(["a", "b"])
    entry = data_of(shown.html())["arrays"]["encoder.0.weights"]  # type: ignore[index]
    assert base64.b64decode(entry.pop("data")) == shown.arrays["encoder.0.weights"].data
    assert entry == {"dtype": "sqrt8", "shape": [1, 2, 2], "levels": 255, "fine_from": 2}


def test_save_writes_the_page(tmp_path: Path) -> None:
    view(["a"]).save(tmp_path / "x.html")
    assert (tmp_path / "x.html").read_text(encoding="utf-8") == view(["a"]).html()
    assert [path.name for path in tmp_path.iterdir()] == ["x.html"]


def test_a_full_disk_leaves_the_old_page_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.html").write_text("old")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(StorageError, match="No space left on device"):
        view(["a"]).save(tmp_path / "x.html")
    assert [path.name for path in tmp_path.iterdir()] == ["x.html"]
    assert (tmp_path / "x.html").read_text() == "old"


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="nowhere"):
        view(["a"]).save(tmp_path / "nowhere" / "x.html")


def test_an_unknown_ending_is_refused_with_the_choices(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=re.escape(".html, .svg, .pdf")):
        view(["a"]).save(tmp_path / "x.docx")


def test_a_view_with_one_head_is_saved_as_a_drawing(tmp_path: Path) -> None:
    view(["猫"]).save(tmp_path / "x.svg")
    assert "猫" in (tmp_path / "x.svg").read_text(encoding="utf-8")


def test_a_view_with_several_heads_is_one_drawing(tmp_path: Path) -> None:
    several = el.head_view(el.Trace.from_arrays(np.full((1, 3, 2, 2), 0.5), ["a", "b"]))
    several.save(tmp_path / "x.svg")
    drawn = (tmp_path / "x.svg").read_text(encoding="utf-8")
    assert "layer 0, 3 heads" in drawn
    assert len(re.findall(r"M[\d.]+ [\d.]+C", drawn)) == 3 * 4
    several.starting(heads=[1]).save(tmp_path / "x.svg")
    assert "L0·H1" in (tmp_path / "x.svg").read_text(encoding="utf-8")


def test_numbers_that_json_does_not_know_are_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        inert(float("nan"))
