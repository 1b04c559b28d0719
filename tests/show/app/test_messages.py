"""Every word of the app, in every language."""

from __future__ import annotations

import re
import string
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

import eyeline.show.app as app
from eyeline.messages import catalogue as everything
from eyeline.show.app.shell import PAGES
from eyeline.words import LANGUAGES

FOLDER = Path(app.__file__).parent
#: The files with the messages of the app.
OF_THE_APP = {"corpus", "figures", "grammar", "jobs", "learn", "look", "model", "runs", "shell", "space"}
#: Messages that are the same in every language on purpose.
SAME = re.compile(
    r"space\.project_(?:pca|umap|tsne)|learn\.limits\.choice_.*"
    r"|(?:corpus\.provenance|grammar\.provenance_syntax|runs\.called)"  # blanks alone, which are counts with their nouns
)


def catalogue(language: str) -> dict[str, str]:
    """The messages of the app alone: those of figures and reports have tests of their own."""
    return {key: text for key, text in everything(language).items() if key.partition(".")[0] in OF_THE_APP}


#: Blanks that are filled with a share, which ends in a sign that is no letter.
SHARES = ("exact", "aligned", "astray", "near_0", "near_last", "grammar", "grammar_0", "grammar_last", "share")
OTHERS = [language for language in LANGUAGES if language != "en"]


def blanks(text: str) -> list[str]:
    return sorted(name for _, name, _, _ in string.Formatter().parse(text) if name)


def shown(text: str) -> str:
    """What a reader sees of a message: blanks filled, Markdown read as the page reads it, and no code."""
    filled = "".join(
        before + (("98 %" if name in SHARES else "L2·H2") if name else "") for before, name, _, _ in string.Formatter().parse(text)
    )
    return re.sub(r"<code>.*?</code>|<[^>]*>", "", MarkdownIt().render(filled), flags=re.DOTALL)


@pytest.mark.parametrize("language", OTHERS)
def test_no_message_is_missing_or_left_over(language):
    assert catalogue(language).keys() == catalogue("en").keys()


@pytest.mark.parametrize("language", OTHERS)
def test_the_blanks_of_a_message_are_the_same_in_every_language(language):
    differing = {
        key: (blanks(text), blanks(catalogue(language)[key]))
        for key, text in catalogue("en").items()
        if sorted(set(blanks(text))) != sorted(set(blanks(catalogue(language)[key])))
    }
    assert not differing


@pytest.mark.parametrize("language", OTHERS)
def test_no_message_was_left_in_english(language):
    same = [key for key, text in catalogue("en").items() if text == catalogue(language)[key] and not SAME.fullmatch(key)]
    assert not same


@pytest.mark.parametrize(("language", "letters"), [("ja", r"[\u3040-\u30ff\u4e00-\u9fff]"), ("ko", r"[\uac00-\ud7a3]")])
def test_every_message_is_written_in_its_language(language, letters):
    strange = [key for key, text in catalogue(language).items() if not re.search(letters, text) and not SAME.fullmatch(key)]
    assert strange in ([], ["learn.numbered"], ["learn.numbered", "runs.called"])


@pytest.mark.parametrize("language", LANGUAGES)
def test_emphasis_is_read_as_such_and_leaves_no_asterisks(language):
    left = [key for key, text in everything(language).items() if "**" in shown(text)]
    assert left == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_message_is_empty(language):
    assert [key for key, text in catalogue(language).items() if not text] == []


def test_every_message_that_a_page_asks_for_is_there():
    known = everything("en")
    requested = {key for file in FOLDER.rglob("*.py") for key in re.findall(r'say\(\s*"([\w.]+)"', file.read_text())}
    assert len(requested) > 60
    assert requested <= known.keys()
    patterns = {key for file in FOLDER.rglob("*.py") for key in re.findall(r'say\(\s*f"([^"]+)"', file.read_text())}
    for pattern in patterns:
        shape = re.compile(re.sub(r"\\\{.*?\\\}", "[\\\\w.]+", re.escape(pattern)))
        assert any(shape.fullmatch(key) for key in known), pattern


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_has_the_messages_of_the_bar_and_the_heading(page):
    assert {f"{page.name}.{part}" for part in ("name", "title", "about")} <= catalogue("en").keys()
