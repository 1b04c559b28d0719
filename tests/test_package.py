"""The package as others meet it: quick and inert to import, the same from a wheel, one version everywhere."""

from __future__ import annotations

import json
import os
import re
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


def test_every_public_name_is_there():
    for name in el.__all__:
        assert getattr(el, name) is not None
    with pytest.raises(AttributeError, match="lod"):
        _ = el.lod


def test_the_top_level_has_few_names_and_each_module_of_further_names_lists_its_own():
    modules = [name for name in el.__all__ if isinstance(getattr(el, name), ModuleType)]
    assert modules == ["attributions", "corpora", "figures", "mentions", "probes", "runs", "statistics", "traces", "treebanks"]
    assert len(el.__all__) - len(modules) <= 30  # Ray is the last: where a run is computed is an argument of most analyses
    for module in modules:
        for name in getattr(el, module).__all__:
            assert getattr(getattr(el, module), name) is not None


def test_the_version_is_written_in_one_place():
    assert re.fullmatch(r"\d+\.\d+\.\d+", el.__version__)
    assert 'dynamic = ["version"]' in (ROOT / "pyproject.toml").read_text()
    assert f"## {el.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_source_distribution_holds_what_the_repository_has():
    """Every path that it names is there, and every folder of the repository is named."""
    named = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert [path for path in named if not (ROOT / path).exists()] == []
    git = ["git", "ls-files"]
    tracked = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    folders = {path.split("/")[0] for path in tracked if "/" in path and not path.startswith(".")}
    assert folders <= set(named)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(folder.glob("*.whl"))


def test_a_wheel_carries_its_types_and_the_table_of_public_names(wheel):
    with zipfile.ZipFile(wheel) as file:
        assert {"eyeline/py.typed", "eyeline/__init__.pyi"} <= set(file.namelist())


@pytest.mark.slow
def test_a_wheel_in_an_empty_environment_works_the_same(wheel, tmp_path):
    """The wheel is installed alone into a new environment; its dependencies come from this one, our source tree does not."""
    home = tmp_path / "env"
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
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    code = """
import json, eyeline as el
trace = el.load("minilm").trace("The cat sat on the mat.", "It purred.")
print(json.dumps([el.__file__, trace.weights.shape, float(trace.weights.sum())]))
"""
    file, shape, total = json.loads(python(code, executable, env=environment, cwd=tmp_path))
    assert str(home) in file
    assert shape == [6, 12, 14, 14]
    assert total == pytest.approx(6 * 12 * 14, abs=0.01)
    command = [home / "bin" / "eyeline", "trace", "The cat sat.", "--model", "minilm", "--no-cache"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert "6 layers x 12 heads" in done.stdout
