"""Runs of every engine that are killed while they add up sums, and resumed: the bytes of a run that was not killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import psutil

from eyeline.measure.statistics.loop import FILE, STATE, Position
from eyeline.storage.records import from_json
from eyeline.storage.sealed import read_sealed
from tests.attack.family import Family
from tests.measure.engines.small_run import TEXTS, saved_model

ENGINES = {"local": (), "processes": ("--engine", "processes", "--workers", "2"), "ray": ("--engine", "ray", "--workers", "2")}

#: Seconds after which nothing of a killed run may be left: workers end at once, two agents of Ray notice after a minute.
GONE_WITHIN = 180


def attack_kills(folder: Path, count: int) -> list[Family]:
    """Runs in this process, in others and in a Ray cluster, killed where their sums are half added up or half written."""
    there = [engine for engine in ENGINES if engine != "ray" or find_spec("ray") is not None]
    return [attack_engine(folder / engine, engine, count if engine == "local" else max(3, count // 4)) for engine in there]


def attack_engine(folder: Path, engine: str, count: int, seed: int = 0) -> Family:
    """So many kills, at steps that are drawn from those after the first sums were written."""
    family = Family(f"{engine}: runs killed where sums are added up or written, then resumed", "the bytes of a run that was not killed")
    runs = Runs(folder, engine)
    whole = runs.run("whole")
    last = int(whole.stdout.split()[-1])
    first = runs.steps_of_a_shard + 1  # the sums of the first shard are on the disk
    expected = runs.bytes_of("whole")
    draw = random.Random(seed)  # noqa: S311 - a seeded choice, not a secret
    for step in sorted(draw.sample(range(first, last - 1), min(count, last - 1 - first))):

        def attack(step: int = step) -> str | None:
            return runs.kill_and_resume(step, expected)

        family.check(f"step {step} of {last}", attack)
    if engine != "local":
        family.check("the processes of the killed runs", runs.left)
    return family


class Runs:
    """Runs of `eyeline analyse` with one engine over one corpus, each in a folder of its own."""

    analyses = ("average_attention", "entropy", "distances")

    def __init__(self, folder: Path, engine: str) -> None:
        folder.mkdir(parents=True)
        self.folder, self.engine = folder, engine
        self.model, self.corpus = saved_model(folder / "model"), folder / "texts.txt"
        self.corpus.write_text("\n".join(TEXTS) + "\n")
        self.steps_of_a_shard = 2 + (0 if engine == "local" else len(self.analyses))
        self.processes: list[psutil.Process] = []  # of the runs that were killed

    def run(self, name: str, *options: str, kill_at: int = 0) -> subprocess.CompletedProcess[str]:
        """`eyeline analyse`; anything but its normal end, or the kill that was asked for, is an error."""
        chosen = [word for analysis in self.analyses for word in ("--only", analysis)]
        command = ["analyse", self.corpus, "--model", self.model, *chosen, "-o", self.folder / name, *ENGINES[self.engine], *options]
        root = str(Path(__file__).parents[2])
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([root, *sys.path]), "OMP_NUM_THREADS": "1"}
        started = [sys.executable, "-m", "tests.attack.killed_command", str(kill_at), *map(str, command)]
        done = subprocess.run(started, capture_output=True, text=True, check=False, env=environment)
        if done.returncode != (-signal.SIGKILL if kill_at else 0):
            raise RuntimeError(f"the command ended with {done.returncode}: {done.stderr[-2000:]}")
        return done

    def kill_and_resume(self, step: int, expected: dict[str, bytes]) -> str | None:
        """What is wrong with a run that was killed at this step and resumed; None: nothing."""
        name = f"killed{step}"
        killed = self.run(name, kill_at=step)
        position = position_of(self.folder / name)  # an error where no sums were there
        if position.complete or not 0 < position.counts["documents"] < len(TEXTS):
            return f"the kill did not come in the middle: {position}"
        started = next(line.split()[1:] for line in killed.stdout.splitlines() if line.startswith("processes"))
        self.processes += [psutil.Process(pid) for pid in map(int, started) if psutil.pid_exists(pid)]
        self.run(name, "--resume")
        result = self.bytes_of(name)
        other = sorted(file for file in expected.keys() | result.keys() if expected.get(file) != result.get(file))
        return f"other bytes: {', '.join(other)}" if other else None

    def left(self) -> str | None:
        """Which processes of the killed runs are left; None: none."""
        _, alive = psutil.wait_procs(self.processes, timeout=GONE_WITHIN)
        return f"{alive}" if alive else None

    def bytes_of(self, name: str) -> dict[str, bytes]:
        """The tables and the sums of a run, as they lie on the disk."""
        folder = self.folder / name
        return {path.name: path.read_bytes() for path in (*(folder / "tables").iterdir(), folder / FILE)}


def position_of(folder: Path) -> Position:
    """How far the sums in this folder are."""
    position: Position = from_json(Position, read_sealed(folder / FILE, STATE).header["position"])
    return position
