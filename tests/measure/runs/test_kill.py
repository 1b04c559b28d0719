"""A process killed while it saves leaves the run of before or the new one, never a mixture; two runs of one kind never share a folder."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import eyeline as el
from eyeline.errors import StorageError
from eyeline.measure.runs.run import statuses, writing_run
from eyeline.storage.files import READY, replacing_together
from tests.measure.runs.test_run_parts import made_up

WRITER = """
import sys, itertools
from pathlib import Path
from tests.measure.runs.test_run_parts import made_up
from eyeline.measure.runs.run import writing_run
folder = Path(sys.argv[1])
print("ready", flush=True)
for number in itertools.count(int(sys.argv[2])):
    names = [f"t{i}" for i in range(12)] + ([f"odd{number}"] if number % 2 else [])
    with writing_run(folder, "syntax", overwrite=True):
        made_up("syntax", {name: number for name in names}, model=f"m{number}").save(folder)
"""


def start(program: str, *arguments: object) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path])}
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


@pytest.mark.slow
def test_killed_at_any_moment_the_folder_holds_one_whole_run(tmp_path: Path) -> None:
    made_up("syntax", {f"t{i}": -1 for i in range(12)}, model="m-1").save(tmp_path)
    made_up("probe", {"p": 7}).save(tmp_path)
    for attempt in range(5):
        process = start(WRITER, tmp_path, 1000 * attempt)
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "ready"
        time.sleep(0.05 + random.random() * 0.6)  # noqa: S311 - any moment
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        run = el.runs.open_run(tmp_path)
        model = run.parts["syntax"].facts.model.name
        numbers = {table.columns["x"][0] for table in run.parts["syntax"].tables.values()}
        assert numbers == {int(model.removeprefix("m"))}, "tables of two runs"
        assert run.table("p").columns["x"] == [7]
        assert statuses(tmp_path)["syntax"] in ("killed", "finished")
    made_up("syntax", {"t": 1}).save(tmp_path)
    assert list(el.runs.open_run(tmp_path).tables) == ["t", "p"]


class Killed(BaseException):
    pass


def save_half(run: el.Run, folder: Path, moved: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A save that dies after so many of its new files have been moved to their paths."""
    replace, calls = os.replace, []

    def killed(source: Path, target: Path) -> None:
        if READY in Path(source).parts:
            if len(calls) == moved:
                raise Killed
            calls.append(target)
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", killed)
        with pytest.raises(Killed):
            run.save(folder)


def contents(folder: Path) -> dict[Path, tuple[bytes, int]]:
    """Every file and folder with its bytes and the time of its last change."""
    return {path: (path.read_bytes() if path.is_file() else b"", path.lstat().st_mtime_ns) for path in [folder, *folder.rglob("*")]}


@pytest.mark.parametrize("moved", [0, 1, 2])
def test_a_save_killed_while_files_are_moved_is_read_where_it_is_and_completed_by_the_next_save(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moved: int
) -> None:
    made_up("syntax", {"a": 1, "b": 1}).save(tmp_path)
    save_half(made_up("syntax", {"a": 2, "b": 2}), tmp_path, moved, monkeypatch)
    before = contents(tmp_path)
    run = el.runs.open_run(tmp_path)
    assert {table.columns["x"][0] for table in run.tables.values()} == {2}
    assert statuses(tmp_path) == {"syntax": "finished"}
    assert contents(tmp_path) == before, "opening wrote something"
    made_up("probe", {"p": 3}).save(tmp_path)
    assert not (tmp_path / READY).exists()
    assert {name: table.columns["x"][0] for name, table in el.runs.open_run(tmp_path).tables.items()} == {"a": 2, "b": 2, "p": 3}


def test_a_first_save_killed_half_way_is_read_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_half(made_up("syntax", {"a": 2}), tmp_path / "run", 0, monkeypatch)
    assert not (tmp_path / "run" / "run.json").exists()
    assert el.runs.open_run(tmp_path / "run").table("a").columns["x"] == [2]


def test_a_save_that_fails_before_all_is_written_changes_nothing(tmp_path: Path) -> None:
    made_up("syntax", {"a": 1}).save(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    def half() -> None:
        with replacing_together(tmp_path, "run.json") as new:
            (new / "run.json").write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        half()
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_files_made_ready_by_somebody_else_never_lead_out_of_the_folder(tmp_path: Path) -> None:
    outside, run = tmp_path / "outside", tmp_path / "run"
    outside.mkdir()
    (run / READY / "tables").mkdir(parents=True)
    (run / READY / "tables" / "x.csv").write_text("a\n1\n")
    (run / "tables").symlink_to(outside)
    with pytest.raises(StorageError, match="leads out of its folder"):
        made_up("syntax", {"x": 1}).save(run)
    assert not list(outside.iterdir())


def test_new_files_behind_a_link_are_neither_read_nor_moved(tmp_path: Path) -> None:
    """Opening such a folder once moved the files of the other folder into the run."""
    outside, run = tmp_path / "outside", tmp_path / "run"
    made_up("syntax", {"x": 1}).save(run)
    made_up("syntax", {"x": 2}).save(outside)
    (run / READY).symlink_to(outside)
    before = contents(tmp_path)
    assert el.runs.open_run(run).table("x").columns["x"] == [1]
    with pytest.raises(StorageError, match="is not a folder that eyeline wrote"):
        made_up("syntax", {"x": 3}).save(run)
    assert {path: bytes_ for path, (bytes_, _) in contents(tmp_path).items()} == {path: bytes_ for path, (bytes_, _) in before.items()}


@pytest.mark.parametrize("name", ["run.json", "tables", "tables/x.csv"])
def test_a_link_that_leads_out_of_a_run_is_not_followed(tmp_path: Path, name: str) -> None:
    outside, run = tmp_path / "outside", tmp_path / "run"
    made_up("syntax", {"x": 1}).save(run)
    outside.mkdir()
    (run / name).rename(outside / "moved")
    (run / name).symlink_to(outside / "moved")
    with pytest.raises(StorageError, match="leads out of its folder"):
        el.open(run)


def test_a_link_to_a_run_and_links_within_a_run_are_followed(tmp_path: Path) -> None:
    made_up("syntax", {"x": 1}).save(tmp_path / "run")
    (tmp_path / "run" / "tables").rename(tmp_path / "run" / "kept")
    (tmp_path / "run" / "tables").symlink_to("kept")
    (tmp_path / "link").symlink_to(tmp_path / "run")
    assert el.runs.open_run(tmp_path / "link").table("x").columns["x"] == [1]


def test_a_second_run_of_a_kind_is_refused_and_of_another_kind_is_not(tmp_path: Path) -> None:
    with writing_run(tmp_path, "syntax"):
        assert statuses(tmp_path) == {"syntax": "running"}
        with pytest.raises(StorageError, match="another run of syntax is writing here"), writing_run(tmp_path, "syntax", overwrite=True):
            pytest.fail("two runs at once")
        with writing_run(tmp_path, "probe"):
            made_up("probe", {"p": 1}).save(tmp_path)
        made_up("syntax", {"s": 1}).save(tmp_path)
    assert statuses(tmp_path) == {"syntax": "finished", "probe": "finished"}


def test_an_error_is_a_failed_run_and_an_interruption_a_killed_one(tmp_path: Path) -> None:
    for error, status in ((ValueError, "failed"), (KeyboardInterrupt, "killed")):
        with pytest.raises(error), writing_run(tmp_path, "syntax"):
            raise error
        assert statuses(tmp_path) == {"syntax": status}
    with pytest.raises(StorageError, match=r"not a finished run \(syntax was stopped\)"):
        el.open(tmp_path)
    with writing_run(tmp_path, "syntax"), pytest.raises(StorageError, match=r"not a finished run \(syntax is running\)"):
        el.open(tmp_path)


COMMAND = """
import sys
import eyeline.models.load as loading
from tests.laws.statistics import tiny_model
loading.load = lambda *_, **__: tiny_model()
from eyeline.show.cli.main import main
sys.argv = ["eyeline", *sys.argv[1:]]
main()
"""


@pytest.mark.slow
def test_on_the_command_line_the_second_run_exits_2(tmp_path: Path) -> None:
    el.treebanks.write_sample(tmp_path / "x.conllu", 4)
    with writing_run(tmp_path / "run", "syntax"):
        process = start(COMMAND, "syntax", tmp_path / "x.conllu", "-o", tmp_path / "run", "--min-count", 1)
        _, errors = process.communicate(timeout=200)
    assert process.returncode == 2
    assert "another run of syntax is writing here" in errors
    assert "Traceback" not in errors
