"""An option is declared once: what is added to a record is found in the signature, the command, the recipe and the facts.

In the forms of the app: tests/show/app/test_forms.py.
"""

from __future__ import annotations

import importlib
import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import typer
from scripts.generate import ANALYSES, with_options
from typer.testing import CliRunner

from eyeline.errors import TraceError
from eyeline.kinds import RUNS, named
from eyeline.measure.runs.facts import CorpusFacts, ModelFacts, facts_to_json
from eyeline.measure.runs.options import Options, arguments_of, as_command, as_python, chosen, given_options, option
from eyeline.measure.space.options import SpaceOptions
from eyeline.measure.statistics.options import AnalyseOptions
from eyeline.show.cli import options as cli
from eyeline.storage.records import from_json, to_json

EVERY = {function: (path, record) for path, (function, record) in ANALYSES.items()}
#: Where a command is, and its name where that is not the name of the Python function.
MODULES = {
    "analyse": "corpus",
    "syntax": "grammar",
    "probe": "probes",
    "circuit": "causes",
    "attribute": "causes",
    "measure_heads": "gallery",
}
COMMANDS = {"measure_heads": "gallery"}


def with_one_more(record: type[Any]) -> type[Any]:
    @dataclass(frozen=True)
    class More(record):
        sharpness: int = option(3, "How sharp it is.", about="how sharp it is, in steps", least=1, message="space.dims")

    More.__name__ = record.__name__
    return More


@pytest.mark.parametrize("function", EVERY)
def test_an_option_that_is_added_to_a_record_is_in_the_python_signature_and_its_docstring(function: str) -> None:
    path, record = EVERY[function]
    text = with_options(path, function, with_one_more(record))
    module = path.removeprefix("src/").removesuffix(".py").replace("/", ".")
    namespace: dict[str, Any] = {"__name__": importlib.import_module(module).__name__}
    exec(compile(text, path, "exec"), namespace)  # noqa: S102 - our own file
    assert inspect.signature(namespace[function]).parameters["sharpness"].default == 3
    (line,) = [line for line in namespace[function].__doc__.splitlines() if line.strip().startswith("sharpness ")]
    assert line.endswith("  how sharp it is, in steps")


@pytest.mark.parametrize("function", EVERY)
def test_an_option_that_is_added_to_a_record_is_in_the_command(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module(f"eyeline.show.cli.{MODULES.get(function, function)}")
    _, record = EVERY[function]
    monkeypatch.setattr(module, record.__name__, with_one_more(record))
    app = typer.Typer()
    app.command()(cli.with_options(getattr(module, COMMANDS.get(function, function))))
    assert "--sharpness" in CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).output


@pytest.mark.parametrize("function", EVERY)
def test_an_option_that_is_added_to_a_record_is_in_the_recipe(function: str) -> None:
    record = with_one_more(EVERY[function][1])
    assert (as_python(record()), as_command(record())) == ("", []), "what is the default is left out"
    assert as_python(record(sharpness=5)) == "sharpness=5"
    assert as_command(record(sharpness=5)) == ["--sharpness", "5"]


@pytest.mark.parametrize("kind", RUNS)
def test_an_option_that_is_added_to_a_record_is_in_the_facts_of_a_run(kind: str) -> None:
    facts = named(RUNS[kind].facts)
    record = with_one_more(get_type_hints(facts)["options"])
    options = record(sharpness=5)
    written = facts_to_json(facts(ModelFacts("m"), CorpusFacts("c"), options))
    assert written["kind"] == kind
    assert written["options"]["sharpness"] == 5
    assert from_json(record, written["options"]) == options
    assert from_json(record, to_json(get_type_hints(facts)["options"]())).sharpness == 3, "a file from before has the default"


@pytest.mark.parametrize("function", EVERY)
def test_the_arguments_of_a_call_are_its_options(function: str) -> None:
    path, _ = EVERY[function]
    module = importlib.import_module(path.removeprefix("src/").removesuffix(".py").replace("/", "."))
    parameters = inspect.signature(getattr(module, function)).parameters
    for name, argument in arguments_of(EVERY[function][1]).items():
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
        assert parameters[name].default == argument.default


def call(record: type[Options], **given: Any) -> Any:
    return chosen(record, given_options(record()) | given)


def test_what_is_left_open_follows_from_the_options_before_it() -> None:
    gauges = {of: (call(SpaceOptions, of=of).project, call(SpaceOptions, of=of).gauge) for of in ("queries-keys", "values", "shared")}
    assert gauges == {"queries-keys": ("fitted", "lifted"), "values": ("pca", "none"), "shared": ("pca", "ring")}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"dims": 4}, "Choices: 2, 3"),
        ({"dims": "2"}, "Needed: int"),
        ({"dims": True}, "Needed: int"),
        ({"shared_scale": 1}, "Needed: bool"),
        ({"of": "value"}, "Did you mean values"),
        ({"of": None}, "Needed: str"),
        ({"layers": "0,5"}, r"such as layers=\[0, 5\]"),
        ({"heads": 3}, r"such as heads=\[0, 5\]"),
        ({"seed": -1}, "A seed of -1"),
        ({"distance": "cosine"}, "gauge='searched'"),
    ],
)
def test_a_value_that_an_option_does_not_take_is_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(TraceError, match=says):
        call(SpaceOptions, **given)


def test_numbers_of_other_libraries_and_lists_of_them_are_taken() -> None:
    import numpy as np

    options = call(SpaceOptions, dims=np.int64(3), layers=np.array([0, 1]), heads={1})
    assert (options.dims, options.layers, options.heads) == (3, (0, 1), (1,))
    assert [type(number) for number in (options.dims, *options.layers)] == [int, int, int]


def test_layers_of_a_run_are_read_by_stack_and_as_a_list() -> None:
    for layers in ((0, 1), {"encoder": (0,)}):
        assert from_json(AnalyseOptions, to_json(AnalyseOptions(layers=layers))).layers == layers


def test_a_recipe_writes_switches_and_lists_as_each_side_takes_them() -> None:
    options = SpaceOptions(shared_scale=True, background=False, layers=(0, 5))
    assert as_python(options) == "shared_scale=True, background=False, layers=(0, 5)"
    assert as_command(options) == ["--shared-scale", "--no-background", "--layers", "0,5"]


def test_no_command_repeats_an_option_of_a_record() -> None:
    folder = Path(cli.__file__).parent
    helps = {argument.option.help for _, record in EVERY.values() for argument in arguments_of(record).values()}
    for path in folder.glob("*.py"):
        if path.name != "options.py":
            assert not [text for text in helps if len(text) > 25 and text in path.read_text(encoding="utf-8")], path.name
