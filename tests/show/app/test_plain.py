"""What a visitor reads of an error: names of files, never the folders of the machine that the app runs on."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from eyeline.show.app.kit.page import without_paths
from eyeline.show.app.kit.settings import Settings, current, use


@pytest.fixture
def workspace(tmp_path):
    before = current()
    (tmp_path / "real").mkdir()
    (tmp_path / "my-space").symlink_to(tmp_path / "real")
    use(Settings(tmp_path / "my-space"))
    yield tmp_path / "my-space"
    use(before)


def test_paths_in_the_workspace_begin_with_its_name_also_through_a_link(workspace):
    for root in (workspace, workspace.resolve()):
        assert without_paths(f"{root}/runs/a/run.json is damaged.") == "my-space/runs/a/run.json is damaged."
        assert without_paths(f"Nothing in {root}.") == "Nothing in my-space."


def test_of_any_other_path_only_the_name_is_left(workspace):
    for folder in (tempfile.gettempdir(), str(Path.home()), "/opt/python/lib", "/srv/models/secret", f"{workspace}-of-another"):
        text = without_paths(f"Cannot read '{folder}/inner/x.txt': no such file ({folder}/y.txt).")
        assert text == "Cannot read '…/x.txt': no such file (…/y.txt)."
    assert without_paths(r"C:\Users\Me\x.txt is a file.") == "…/x.txt is a file."


@pytest.mark.parametrize(
    "text", ["and/or", "1/2/3", "https://a.example/b/c", "L3·H7 → x", "google-bert/bert-base-uncased", "p(a | b) / c", "a\n/\nb", ""]
)
def test_what_is_no_path_stays(workspace, text):
    assert without_paths(text) == text


ADVICE = {"en": "Shorten the text.", "ja": "文章を短くしてください。", "ko": "글을 줄이세요."}


@pytest.mark.parametrize("language", ADVICE)
def test_a_visitor_is_advised_what_to_do_on_the_page_in_their_language(language):
    def page(language: str) -> None:
        from eyeline.errors import Advice, TextError
        from eyeline.messages import Message
        from eyeline.show.app.kit.page import refuse
        from eyeline.words import Words

        advice = Advice("Pass truncate=True.", "Add --truncate.", Message("refusal.advice.shorten"))
        too_long = TextError(Message("refusal.too_long", n="600", most="512"), advice)
        refuse(Words(language), "look.failed", too_long)

    shown = AppTest.from_function(page, args=(language,)).run()
    seen, what_to_do = shown.code[0].value.splitlines()
    assert ("600" in seen, "512" in seen) == (True, True)
    assert what_to_do.strip() == ADVICE[language]
