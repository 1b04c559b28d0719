"""The Japanese and Korean words are those of docs/glossary.md: one idea, one word."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "eyeline"
HANGUL = re.compile(r"[가-힣]")


def glossary() -> list[list[str]]:
    """The rows of the table: English, Japanese, Korean, and the words that are not used."""
    lines = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return rows[2:]


def messages(language: str) -> dict[str, str]:
    """Every message of a language by file and key."""
    files = [*(SOURCE / "words" / language).glob("*.toml")]
    assert len(files) > 10
    return {f"{file.name}: {key}": value for file in files for key, value in _flat(tomllib.loads(file.read_text(encoding="utf-8")))}


def _flat(table: dict[str, object], prefix: str = "") -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for key, value in table.items():
        pairs += _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else [(f"{prefix}{key}", str(value))]
    return pairs


@pytest.mark.parametrize("language", ["ja", "ko"])
def test_no_message_uses_a_word_that_the_glossary_replaced(language):
    banned = [word for row in glossary() for word in row[3].split(", ") if word and bool(HANGUL.search(word)) == (language == "ko")]
    assert len(banned) > 8
    used = [f"{where}: {word}" for where, text in messages(language).items() for word in banned if word in text]
    assert used == []


@pytest.mark.parametrize(("language", "column"), [("ja", 1), ("ko", 2)])
def test_every_word_of_the_glossary_is_one_that_the_app_uses(language, column):
    everything = " ".join(messages(language).values())
    unused = [word for row in glossary() for word in row[column].split(", ") if word not in everything]
    assert unused == []


def test_korean_counters_follow_their_number_without_a_space():
    wrong = [where for where, text in messages("ko").items() if re.search(r"\{n\} 개|\{n\}개의 |\{n\}(토큰|글|단어|문장)", text)]
    assert wrong == []


def test_japanese_explanations_are_polite():
    """A message of two or more sentences ends each of them politely."""
    plain = re.compile(r"(?:である|だ|する|なる|ある|いる|強い|ない)。")
    wrong = [where for where, text in messages("ja").items() if text.count("。") > 1 and plain.search(text)]
    assert wrong == []
