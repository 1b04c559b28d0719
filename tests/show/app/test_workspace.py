"""Nothing outside the workspace can be read or written, whatever is typed."""

from __future__ import annotations

import os

import pytest

from eyeline.errors import ModelError, StorageError
from eyeline.show.app.kit.models import choices, model_source
from eyeline.show.app.kit.settings import Settings
from eyeline.show.app.kit.workspace import Workspace

BAD = ["..", "../x", "a/../../x", "/etc", "/etc/passwd", "~", "~/x", "a/b", "a\\b", "", ".", ".hidden", "a\0b", "x" * 500, "C:\\x", "a\nb"]


@pytest.fixture
def workspace(tmp_path):
    for folder in ("w/models", "w/runs", "outside"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "outside" / "config.json").write_text("{}")
    (tmp_path / "outside" / "run.json").write_text("{}")
    return Workspace(tmp_path / "w")


@pytest.mark.parametrize("name", BAD)
def test_a_name_that_leads_elsewhere_is_refused(workspace, name):
    with pytest.raises(StorageError, match="not a name inside the workspace"):
        workspace.inside("runs", name)


def test_a_link_that_leads_outside_is_neither_listed_nor_opened(workspace, tmp_path):
    (workspace.root / "models" / "out").symlink_to(tmp_path / "outside")
    (workspace.root / "runs" / "out").symlink_to(tmp_path / "outside")
    assert workspace.models() == {}
    assert workspace.runs() == {}
    with pytest.raises(StorageError):
        workspace.inside("runs", "out")


def test_a_workspace_whose_folders_are_links_outside_is_empty(tmp_path):
    (tmp_path / "w").mkdir()
    (tmp_path / "outside" / "x").mkdir(parents=True)
    (tmp_path / "outside" / "x" / "run.json").write_text("{}")
    (tmp_path / "w" / "runs").symlink_to(tmp_path / "outside")
    assert Workspace(tmp_path / "w").runs() == {}


def test_a_model_whose_weights_are_a_link_outside_is_not_offered(workspace, tmp_path):
    model = workspace.root / "models" / "half"
    model.mkdir()
    (model / "config.json").write_text("{}")
    assert list(workspace.models()) == ["half"]
    (model / "model.safetensors").symlink_to(tmp_path / "outside" / "config.json")
    assert workspace.models() == {}
    assert not workspace.whole(model)


def test_models_and_runs_are_found_by_name(workspace):
    (workspace.root / "models" / "mine").mkdir()
    (workspace.root / "models" / "mine" / "config.json").write_text("{}")
    (workspace.root / "runs" / "unfinished").mkdir()
    (workspace.root / "runs" / "done").mkdir()
    (workspace.root / "runs" / "done" / "run.json").write_text("{}")
    assert list(workspace.models()) == ["mine"]
    assert list(workspace.runs()) == ["done"]


def test_runs_get_names_that_cannot_be_guessed(workspace):
    names = {workspace.new_run().name for _ in range(20)}
    assert len(names) == 20
    assert all(len(name.rsplit("-", 1)[1]) == 16 for name in names)


@pytest.mark.parametrize("name", [*BAD, "no-such-model", "src/eyeline", "google-bert/bert-base-uncased"])
def test_a_visitor_cannot_name_a_path_or_a_hub_model(workspace, name):
    with pytest.raises(ModelError):
        model_source(name, Settings(workspace.root))


def test_hub_models_are_allowed_when_the_app_says_so_but_folders_beside_it_are_not(workspace, tmp_path, monkeypatch):
    settings = Settings(workspace.root, allow_hub=True)
    assert model_source("google-bert/bert-base-uncased", settings) == "google-bert/bert-base-uncased"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "org" / "model").mkdir(parents=True)
    for name in ("org/model", "../outside", "outside", "org/.."):
        with pytest.raises(ModelError):
            model_source(name, settings)


def test_the_apps_own_model_comes_first_and_may_lie_anywhere(workspace, tmp_path):
    settings = Settings(workspace.root, model=str(tmp_path / "outside"))
    assert next(iter(choices(settings).items())) == ("outside", str(tmp_path / "outside"))
    assert model_source("outside", settings) == str(tmp_path / "outside")


def test_what_a_killed_app_left_half_written_is_swept_and_nothing_else(workspace, tmp_path):
    runs = workspace.root / "runs"
    left, fresh = ".2026-01-01-0123456789abcdef", ".2026-01-02-0123456789abcdef"
    for name in (left, fresh, ".mine", "2026-01-01-0123456789abcdef"):
        (runs / name).mkdir()
        (runs / name / "run.json").write_text("{}")
        if name != fresh:
            os.utime(runs / name, (0, 0))
    (runs / ".2026-01-03-0123456789abcdef").symlink_to(tmp_path / "outside")
    workspace.sweep()
    assert not (runs / left).exists()
    assert sorted(path.name for path in runs.iterdir()) == [fresh, ".2026-01-03-0123456789abcdef", ".mine", "2026-01-01-0123456789abcdef"]
    assert (tmp_path / "outside" / "run.json").is_file()
