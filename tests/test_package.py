"""The package as others meet it: quick and inert to import, the same from a wheel, one version everywhere."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

import eyeline as el

ROOT = Path(__file__).parents[1]


def python(code: str, executable: str | Path = sys.executable, **options) -> str:
    done = subprocess.run([executable, "-c", code], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_does_no_work_and_needs_no_torch():
    code = "import sys, eyeline; print([m for m in ('torch', 'transformers', 'numpy', 'rich', 'typer') if m in sys.modules])"
    assert python(code) == "[]"


def test_importing_loads_nothing_beyond_the_standard_library_and_the_lazy_loader():
    """Inert: beside the standard library only the lazy loader and this package's own root are imported."""
    code = "import sys; before = set(sys.modules); import eyeline; print({m.split('.')[0] for m in set(sys.modules) - before})"
    new = set(re.findall(r"'(\w+)'", python(code)))
    assert new - set(sys.stdlib_module_names) == {"eyeline", "lazy_loader"}


def test_the_help_of_the_command_line_imports_nothing_that_only_analyses_and_figures_need():
    code = """
import sys
from eyeline.show.cli.main import app
try:
    app(["--help"])
except SystemExit:
    print([m for m in ("torch", "transformers", "scipy", "plotly", "sklearn", "numpy", "streamlit") if m in sys.modules])
"""
    assert python(code).splitlines()[-1] == "[]"


def test_every_public_name_is_there():
    for name in el.__all__:
        assert getattr(el, name) is not None
    with pytest.raises(AttributeError, match="lod"):
        _ = el.lod


def test_the_top_level_has_few_names_and_each_module_of_further_names_lists_its_own():
    modules = [name for name in el.__all__ if isinstance(getattr(el, name), ModuleType)]
    assert modules == [
        "attributions", "corpora", "figures", "mathematics", "mentions", "models", "probes", "runs", "spaces", "statistics", "traces",
        "training", "treebanks",
    ]  # fmt: skip
    assert len(el.__all__) - len(modules) <= 38  # the last: views of a sentence and of a text, and generation
    for module in modules:
        for name in getattr(el, module).__all__:
            assert getattr(getattr(el, module), name) is not None


def test_the_version_is_written_in_one_place():
    assert re.fullmatch(r"\d+\.\d+\.\d+(rc\d+)?", el.__version__)
    assert 'dynamic = ["version"]' in (ROOT / "pyproject.toml").read_text()
    assert f"## {el.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    assert f"version: {el.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_source_distribution_holds_what_the_repository_has():
    """Every path that it names is there, and every folder of the repository but that of the scripts that train our models is named."""
    named = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert [path for path in named if not (ROOT / path).exists()] == []
    git = ["git", "ls-files"]
    tracked = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    folders = {path.split("/")[0] for path in tracked if "/" in path and not path.startswith(".")}
    assert folders - set(named) == {"training"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return built("wheel", tmp_path_factory.mktemp("wheel"))


def built(kind: str, folder: Path) -> Path:
    """The wheel or the sdist of this source tree."""
    command = [sys.executable, "-m", "build", f"--{kind}", "--no-isolation", "--outdir", folder, ROOT]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(path for path in folder.iterdir() if path.name.startswith("eyeline-"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A new environment with the wheel alone; its dependencies come from this one, our source tree does not."""
    home = tmp_path_factory.mktemp("empty") / "env"
    venv.create(home, with_pip=True, symlinks=True)
    executable = home / "bin" / "python"
    done = subprocess.run([executable, "-m", "pip", "install", "--no-deps", "-q", wheel], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    site = python("import sysconfig; print(sysconfig.get_path('purelib'))")
    other = python("import sysconfig; print(sysconfig.get_path('purelib'))", executable)
    lines = [site, *(line for file in Path(site).glob("*.pth") if "eyeline" not in file.name for line in file.read_text().splitlines())]
    editable = [line for line in lines if str(ROOT / "src") in line]
    assert not editable, "this environment's path would lead back to the source tree"
    Path(other, "dependencies.pth").write_text(site + "\n")
    return home


def clean_environment(home: Path) -> dict[str, str]:
    """The environment of a person whose first environment on the path is this one."""
    without = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {**without, "PATH": f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}"}


def test_a_wheel_has_less_than_six_mebibytes(wheel):
    assert wheel.stat().st_size < 6 << 20  # two updates of e5-small are 3.6 of them, the ready sentences half a one


@pytest.mark.slow
def test_the_wheel_and_the_source_distribution_pass_the_check_of_twine(wheel, tmp_path):
    command = [sys.executable, "-m", "twine", "check", "--strict", wheel, built("sdist", tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("PASSED") == 2


def test_a_wheel_carries_its_types_and_the_table_of_public_names(wheel):
    with zipfile.ZipFile(wheel) as file:
        assert {"eyeline/py.typed", "eyeline/__init__.pyi"} <= set(file.namelist())


@pytest.mark.slow
def test_the_command_of_a_wheel_in_an_empty_environment_works_the_same(installed):
    command = [installed / "bin" / "eyeline", "trace", "The cat sat.", "--model", "minilm", "--no-cache"]
    done = subprocess.run(command, capture_output=True, text=True, env=clean_environment(installed), check=False)
    assert done.returncode == 0, done.stderr
    assert "6 layers x 12 heads" in done.stdout


README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(python|console)\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
#: Traces a text, then runs blocks of code, each in a folder of its own, and writes what went wrong in each. One process, so that torch is
#: imported once; pictures of spaces are fitted in a few steps and probes trained for two epochs, as in the tests of the other pages.
RUN_BLOCKS = """
import json, os, shlex, sys, traceback
from importlib.metadata import entry_points
from pathlib import Path

import eyeline
from short_fits import short_fits, short_trainings

trace = eyeline.load("minilm").trace("The cat sat on the mat.", "It purred.")
short = [short_fits(), short_trainings()]  # a name keeps them: what nobody holds ends
for context in short:
    context.__enter__()

(script,) = entry_points(group="console_scripts", name="eyeline")
command_line, blocks, errors, top = script.load(), json.loads(Path("blocks.json").read_text()), [], Path.cwd()
for number, (language, block) in enumerate(blocks):
    folder = top / str(number)
    folder.mkdir()
    os.chdir(folder)
    try:
        if language == "python":
            exec(compile(block, "<README>", "exec"), {"__name__": "__main__"})
        else:
            for line in [line for line in block.splitlines() if line.startswith("$ ")]:
                sys.argv = shlex.split(line.removeprefix("$ "), comments=True)
                assert sys.argv[0] == "eyeline", line
                try:
                    command_line()
                except SystemExit as stop:
                    assert not stop.code, f"{line}: exit status {stop.code}"
        errors.append("")
    except BaseException:
        errors.append(traceback.format_exc())
traced = [trace.weights.shape, float(trace.weights.sum())]
(top / "done.json").write_text(json.dumps([eyeline.__file__, traced, errors]))
"""


@pytest.fixture(scope="module")
def run_from_the_wheel(installed, tmp_path_factory):
    """The shape and the sum of a trace; and of each block of README: what went wrong, or an empty string."""
    folder = tmp_path_factory.mktemp("readme")
    (folder / "blocks.json").write_text(json.dumps(BLOCKS))
    shutil.copy(ROOT / "tests" / "measure" / "space" / "short_fits.py", folder)
    python(RUN_BLOCKS, installed / "bin" / "python", env=clean_environment(installed), cwd=folder)
    file, traced, errors = json.loads((folder / "done.json").read_text())
    assert str(installed) in file
    return traced, errors


@pytest.mark.slow
def test_a_wheel_in_an_empty_environment_works_the_same(run_from_the_wheel):
    (shape, total), _ = run_from_the_wheel
    assert shape == [6, 12, 14, 14]
    assert total == pytest.approx(6 * 12 * 14, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_the_blocks_of_the_readme_run_from_the_wheel_as_they_are_written(number, run_from_the_wheel):
    _, errors = run_from_the_wheel
    assert errors[number] == ""


def test_the_container_starts_the_app_with_options_that_it_has():
    """No container is built here: each file that is named must exist, and the command must be one that the app takes."""
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    command = json.loads(re.search(r"^CMD (\[.*\])$", lines, re.MULTILINE)[1])
    assert command[:2] == ["eyeline", "app"]
    options = {part for part in command if part.startswith("--")}
    help_text = subprocess.run([sys.executable, "-m", "eyeline", "app", "--help"], capture_output=True, text=True, check=True).stdout
    assert {option for option in options if option not in help_text} == set()
    space = (ROOT / "deploy" / "huggingface" / "README.md").read_text(encoding="utf-8")
    port = re.search(r"^app_port: (\d+)$", space, re.MULTILINE)[1]
    assert f"EXPOSE {port}" in lines
    assert command[command.index("--port") + 1] == port
    assert "sdk: docker" in space
    extras = set(re.search(r'"\.\[(.+?)\]"', lines)[1].split(","))
    assert extras <= set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    assert (ROOT / "scripts" / "install-models").exists()
    assert "scripts/install-models" in lines
