"""What one visitor may keep, seen on the pages: a run beyond the share is refused in words, and old runs make room by the rule shown."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from eyeline.measure.runs.run import FACTS_FILE
from eyeline.show.app.jobs.queue import job_queue
from eyeline.show.app.kit.settings import Limits
from eyeline.show.app.kit.workspace import FILE, Ownership, write_ownership
from eyeline.words import LANGUAGES, Words


def kept_run(workspace: Path, name: str, owner: str = "me", *, size: int = 0, days: float = 0) -> Path:
    """Enough of a run to be counted: so large, and measured so many days ago."""
    folder = workspace / "runs" / name
    folder.mkdir(parents=True)
    (folder / FACTS_FILE).write_text("{}")
    with (folder / "table").open("wb") as file:
        file.truncate(size)
    write_ownership(folder, Ownership(owner))
    then = time.time() - days * 24 * 3600
    os.utime(folder / FILE, (then, then))
    return folder


def press_run(script, limits: Limits, language: str = "en"):
    """The corpus page of the visitor "me" after the analysis was asked for."""
    at = script("corpus", language, limits=limits)
    at.session_state["visitor"] = "me"
    at.run()
    at.number_input(key="corpus-limit").set_value(1).run()
    at.button(key="corpus-run").click().run()
    assert not at.exception
    return at


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_visitor_who_keeps_as_many_runs_as_allowed_is_refused_in_words(script, tmp_path, language):
    for name in ("a", "b"):
        kept_run(tmp_path / "workspace", name)
    at = press_run(script, Limits(runs_each=2), language)
    assert [error.value for error in at.error] == [Words(language)("jobs.too_many_runs", n=2, most=2)]
    assert job_queue().unfinished("me") == []


@pytest.mark.slow
def test_a_visitor_whose_runs_are_too_large_is_refused_and_another_is_not(script, tmp_path):
    kept_run(tmp_path / "workspace", "a", size=7_000_000)
    kept_run(tmp_path / "workspace", "b", "another", size=90_000_000)
    at = press_run(script, Limits(bytes_each=5_000_000))
    assert [error.value for error in at.error] == [Words("en")("jobs.too_many_bytes", n=7, most=5)]
    assert job_queue().unfinished("me") == []
    at = press_run(script, Limits(bytes_each=8_000_000))
    assert not at.error, "the bytes of others do not count"
    job_queue().stop(job_queue().latest("me", "corpus"))


def test_an_expired_run_makes_room_for_another(script, tmp_path):
    old = kept_run(tmp_path / "workspace", "a", days=3)
    at = press_run(script, Limits(runs_each=1, keep_days=2))
    assert not at.error
    assert not old.exists()
    job_queue().stop(job_queue().latest("me", "corpus"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_runs_page_shows_the_rule_and_keeps_to_it(script, tmp_path, language):
    old, new = (kept_run(tmp_path / "workspace", name, days=days) for name, days in (("a", 2.1), ("b", 1.9)))
    at = script("runs", language, limits=Limits(runs_each=7, keep_days=2, bytes_each=3_000_000))
    at.session_state["visitor"] = "me"
    at.run()
    assert (old.exists(), new.exists()) == (False, True)
    rule = Words(language)("runs.rule", n=1, mb="0.0", runs=7, most=3, days=2)
    assert rule in [caption.value for caption in at.caption]


def test_the_documentation_says_the_shares_that_are_in_force():
    limits, text = Limits(), (Path(__file__).parents[4] / "docs" / "app.md").read_text(encoding="utf-8")
    for words in (
        f"{limits.jobs_each} analyses that wait or run, {limits.runs_each} runs, {limits.bytes_each // 10**6} MB",
        f"deleted {limits.keep_days} days after",
        f"after {limits.gone_minutes:g} minutes without an open page",
        f"{limits.characters:,} characters, {limits.tokens} tokens",
    ):
        assert words in text
