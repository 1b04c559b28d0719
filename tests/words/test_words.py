"""The words of figures, views and reports: complete in every language, and counted with their grammar."""

from __future__ import annotations

import string

import pytest

from eyeline import HeadRef
from eyeline.measure.heads.profile import Notable
from eyeline.measure.heads.roles import Role
from eyeline.messages import catalogue
from eyeline.words import LANGUAGES, Words

#: The files with the messages of the app, which have tests of their own.
OF_THE_APP = {"corpus", "figures", "grammar", "jobs", "learn", "look", "runs", "shell", "space"}


def messages_of(language: str) -> dict[str, str]:
    return {key: text for key, text in catalogue(language).items() if key.partition(".")[0] not in OF_THE_APP}


ENGLISH = messages_of("en")
OTHERS = [language for language in LANGUAGES if language != "en"]
#: Names and symbols that are the same in every language.
SAME = {"names.target.cls", "names.behaviour.cls", "figure.label.percent", "figure.coreference.group", "figure.probe_weights.hover"} | {
    f"names.project.{name}" for name in ("pca", "umap", "tsne")
} | {
    "names.gauge.attentionviz", "figure.coreference_example.hover", "figure.label.in_stack", "figure.probe_weights.panel",
    "figure.circuit.hover", "names.quantity.globenc", "names.quantity.alti", "names.quantity.decompx",
    "view.drawn_globenc", "view.drawn_alti", "view.drawn_decompx", "view.png", "paper.kind.sep",
    "paper.column.interval", "role.short.cls", "role.short.sep", "role.short.none",
}  # fmt: skip


def blanks(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("language", OTHERS)
def test_every_message_exists_in_every_language(language: str) -> None:
    assert messages_of(language).keys() == ENGLISH.keys()


@pytest.mark.parametrize("language", OTHERS)
def test_a_message_has_the_same_blanks_in_every_language(language: str) -> None:
    assert {key for key, text in ENGLISH.items() if blanks(text) != blanks(Words(language)(key))} == set()


@pytest.mark.parametrize("language", OTHERS)
def test_no_message_is_left_in_english(language: str) -> None:
    assert {key for key, text in ENGLISH.items() if Words(language)(key) == text} <= SAME


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_message_is_empty(language: str) -> None:
    """Except the English page behind the views' note, which the front end carries."""
    assert [key for key, text in Words(language).messages.items() if not text] == (["view.note_page"] if language == "en" else [])


def test_a_count_of_one_is_singular() -> None:
    assert [Words().count("mentions", n) for n in (0, 1, 2)] == ["0 mentions", "1 mention", "2 mentions"]
    assert Words("ko").count("texts", 8) == "글 8개"


def test_names_of_models_are_joined_with_the_spaces_of_the_language() -> None:
    joined = [Words(language)("report.and").join(["minilm", "e5-small"]) for language in LANGUAGES]
    assert joined == ["minilm and e5-small", "minilm と e5-small", "minilm, e5-small"]


@pytest.mark.parametrize(("language", "between"), [("en", "; "), ("ja", "；"), ("ko", "; ")])
def test_the_reasons_why_a_head_is_worth_a_look_are_joined_with_the_semicolon_of_the_language(language: str, between: str) -> None:
    reasons = (Role("previous", 0.9), Role("next", 0.9))
    words = Words(language)
    assert Notable(HeadRef("", 2, 2), reasons).why(words) == between.join(reason.text(words) for reason in reasons)


def test_counts_of_what_was_left_out_have_their_grammar() -> None:
    def scored(n: int, total: int) -> str:
        return Words()(f"report.left_out.scored.{'one' if n == 1 else 'many'}", n=n, total=Words().count("mentions", total))

    assert scored(1, 2) == "1 of 2 mentions is scored."
    assert scored(2, 3) == "2 of 3 mentions are scored."
    assert scored(1, 1) == "1 of 1 mention is scored."


def test_a_name_without_a_message_is_shown_as_it_is() -> None:
    assert Words("ja").name("target", "animal") == "animal"
