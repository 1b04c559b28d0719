"""Every run of a page does little work for models: with many visitors, pages run often."""

from __future__ import annotations

from pathlib import Path

import pytest
import streamlit as st

from eyeline.hosts.app import models
from eyeline.hosts.app.models import choices, is_open
from eyeline.hosts.app.settings import Settings
from eyeline.hosts.app.workspace import Workspace
from tests.hosts.app.test_pages import errors, typed


def test_a_workspace_is_searched_for_models_once_and_again_when_a_folder_is_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    searched = []
    search = Workspace.models
    monkeypatch.setattr(Workspace, "models", lambda self: searched.append(self) or search(self))
    monkeypatch.setattr(models, "LOOK_AGAIN", 10**9)
    settings = Settings(workspace=tmp_path, model="minilm")
    assert "new" not in choices(settings)
    assert "new" not in choices(settings)
    assert len(searched) == 1
    (tmp_path / "models" / "new").mkdir(parents=True)
    (tmp_path / "models" / "new" / "config.json").write_text("{}")
    assert choices(settings)["new"] == str(tmp_path / "models" / "new")


def test_a_page_whose_model_is_open_starts_no_spinner(script, monkeypatch: pytest.MonkeyPatch):
    at = script().run()
    assert is_open(at.session_state["looking"].model)

    def no_spinner(*arguments: object, **options: object) -> None:
        raise AssertionError("a spinner starts a thread")

    monkeypatch.setattr(st, "spinner", no_spinner)
    typed(at, "A bird sang.")
    assert errors(at) == []
