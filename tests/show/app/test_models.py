"""Every run of a page does little work for models: with many visitors, pages run often."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import streamlit as st

import eyeline as el
from eyeline.show.app.kit import models
from eyeline.show.app.kit.models import choices, is_open
from eyeline.show.app.kit.settings import Settings
from eyeline.show.app.kit.workspace import Workspace
from tests.models.families import BY_NAME, tiny_tokenizer
from tests.show.app.test_pages import errors, typed


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


def test_a_model_whose_files_change_is_opened_again_and_nothing_that_it_gave_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "models" / "tiny"
    hf = BY_NAME["bert"].model()
    hf.save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    monkeypatch.setattr(models, "current", lambda: Settings(workspace=tmp_path, model="minilm"))
    first = models.trace_of("tiny", "the cat sat", None)
    assert models.trace_of("tiny", "the cat sat", None) is first
    assert len(list((tmp_path / models.KEPT).rglob("*.safetensors"))) == 1
    facts = (folder / "model.safetensors").stat()
    hf.encoder.layer[0].attention.self.query.weight.data.mul_(5)
    hf.save_pretrained(folder)
    os.utime(folder / "model.safetensors", ns=(facts.st_atime_ns, facts.st_mtime_ns))
    second = models.trace_of("tiny", "the cat sat", None)
    assert np.array_equal(second.weights, el.wrap(hf, tiny_tokenizer()).trace("the cat sat").weights)
    assert not np.array_equal(second.weights, first.weights)
