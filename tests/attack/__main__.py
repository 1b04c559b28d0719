"""Run every family of attacks and write the table of docs/trust.md: `make attack`. Exit 1 if any attack did not hold."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from benchmarks.output import made_with

import eyeline as el
from tests.attack.app import attack_app
from tests.attack.claims import attack_claims
from tests.attack.crowds import attack_flood, attack_soak
from tests.attack.damage import attack_files
from tests.attack.disk import attack_disk, attack_new_folders
from tests.attack.drawn import attack_drawn
from tests.attack.family import Family
from tests.attack.identity import attack_identity
from tests.attack.kills import attack_kills
from tests.attack.opening import attack_opening
from tests.attack.queue import attack_queue
from tests.attack.runs import attack_runs
from tests.attack.terminal import attack_terminal
from tests.attack.texts import attack_texts
from tests.attack.visitors import attack_visitors
from tests.attack.widgets import attack_widgets

PAGE = Path(__file__).parents[2] / "docs" / "trust.md"
BEGIN, END = "<!-- attacks -->", "<!-- end of attacks -->"


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=200, help="mutations of each file")
    named = "files, texts, identity, runs, kills, drawn, disk, claims, opening, terminal, app, visitors, queue, widgets, flood or soak"
    options.add_argument("--only", default="", help=f"one room: {named}")
    options.add_argument("--minutes", type=float, default=15, help="how long the soak takes")
    options.add_argument("--no-page", action="store_true", help="leave docs/trust.md as it is")
    given = options.parse_args()
    logging.getLogger("eyeline").setLevel(logging.ERROR)
    logging.getLogger("websockets").setLevel(logging.CRITICAL)  # visitors of the attacks end in every way
    rooms: dict[str, Callable[[Path], list[Family]]] = {
        "files": lambda folder: attack_files(folder, given.count),
        "texts": lambda folder: attack_texts(folder, given.count),
        "identity": attack_identity,
        "runs": lambda folder: attack_runs(folder, max(4, given.count // 10)),
        "kills": lambda folder: attack_kills(folder, max(4, given.count // 40)),
        "drawn": lambda folder: [attack_drawn(folder, max(8, given.count // 5))],
        "disk": lambda folder: [
            attack_disk(folder, max(4, given.count // 10)),
            attack_new_folders(folder / "new", max(4, given.count // 10)),
        ],
        "claims": attack_claims,
        "opening": attack_opening,
        "terminal": attack_terminal,
        "app": attack_app,
        "visitors": attack_visitors,
        "queue": lambda folder: attack_queue(folder, given.count),
        "widgets": attack_widgets,
        "flood": lambda folder: [attack_flood(folder)],
        "soak": lambda folder: [attack_soak(folder, given.minutes)],
    }
    families: list[Family] = []
    start = time.monotonic()
    for name, attack in rooms.items():
        if given.only in ("", name):
            started = time.monotonic()
            with tempfile.TemporaryDirectory() as folder:
                families += attack(Path(folder))
            print(f"{name}: {time.monotonic() - started:.0f} s", flush=True)
    print(table(families))
    for family in families:
        for failure in family.failures[:20]:
            print(f"FAILED  {family.name}: {failure}".encode("ascii", "backslashreplace").decode())
    if not given.only and not given.no_page:
        write(f"{table(families)}\n\n{duration(time.monotonic() - start)}")
    return 1 if any(family.failures for family in families) else 0


def table(families: list[Family]) -> str:
    rows = [f"| {item.name} | {item.rule} | {item.tried:,} | {item.held:,} | {len(item.failures):,} |" for item in families]
    tried, held = sum(item.tried for item in families), sum(item.held for item in families)
    rows.append(f"| **all** | | **{tried:,}** | **{held:,}** | **{tried - held:,}** |")
    return "\n".join(["| attack | holds if it ends in | tried | held | failed |", "|---|---|---:|---:|---:|", *rows])


def duration(seconds: float) -> str:
    """How long all attacks took, where, and on which code."""
    origin = made_with()
    return (
        f"The last run took {seconds / 60:.0f} minutes on {os.cpu_count()} cores, with eyeline {el.__version__}"
        f" (commit {origin['commit']}), {origin['date']}."
    )


def write(text: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
