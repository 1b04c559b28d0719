"""Everything that users can observe, written to a folder, so that two commits can be compared on one machine.

    python scripts/golden.py OUT                        write it: names, help, tables, views, files, refusals, pages of the app
    python scripts/golden.py OUT --open BEFORE/saved    the same; the files that are opened again are those of an earlier commit
    python scripts/golden.py OUT --only names views     parts alone
    python scripts/golden.py compare BEFORE AFTER       what differs; exit 1 if anything does
    python scripts/golden.py check OUT                  what differs from the texts that are committed (make golden)
    python scripts/golden.py keep OUT                   commit the texts of this one instead

OUT/texts holds no floats and is the same on every machine (committed in tests/golden/texts); OUT/numbers is compared on one machine only;
OUT/saved holds files as users save them, for later commits to open. Times, versions and ids are left out: `DROPPED` and `SEALS` in
golden_parts/output.py, `IDS` in golden_parts/app.py, and how long a command took in golden_parts/commands.py.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from contextlib import chdir
from pathlib import Path

PARTS = ("names", "help", "views", "runs", "opened", "commands", "refusals", "app")
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
ENVIRONMENT = {
    "PYTHONHASHSEED": "0", "COLUMNS": "120", "TZ": "UTC", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "NO_COLOR": "1", "TERM": "dumb",
    "HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": "/nonexistent", **dict.fromkeys(THREADS, "1"),
}  # fmt: skip


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["compare"] and len(arguments) == 3:
        from golden_parts.compare import compare

        return compare(Path(arguments[1]), Path(arguments[2]))
    if arguments[:1] in (["check"], ["keep"]) and len(arguments) == 2:
        from golden_parts.kept import check, keep

        return check(Path(arguments[1])) if arguments[0] == "check" else keep(Path(arguments[1]))
    if not arguments or arguments[0].startswith("-"):
        print(__doc__)
        return 2
    folder = Path(arguments[0]).resolve()
    only = arguments[arguments.index("--only") + 1 :] if "--only" in arguments else list(PARTS)
    saved = Path(arguments[arguments.index("--open") + 1]).resolve() if "--open" in arguments else folder / "saved"
    write(folder, only, saved)
    return 0


def write(folder: Path, parts: list[str], saved: Path) -> None:
    import torch
    from golden_parts import app, commands, names, opened, refusals, runs, views
    from golden_parts.output import Output

    torch.set_num_threads(1)
    shutil.rmtree(folder, ignore_errors=True)
    output = Output(folder)
    work = output.work / "files"
    work.mkdir(parents=True)
    os.environ["EYELINE_CACHE"] = str(output.work / "traces")
    steps = {
        "names": lambda: names.write(output),
        "help": lambda: commands.write_help(output),
        "views": lambda: views.write(output),
        "runs": lambda: runs.write(output),
        "opened": lambda: (opened.write_unfinished(output), opened.write(output, saved)),
        "commands": lambda: commands.write(output, output.work / "commands"),
        "refusals": lambda: refusals.write(output),
        "app": lambda: app.write(output),
    }
    for part in parts:
        started = time.monotonic()
        (work / part).mkdir()
        with chdir(work / part):
            steps[part]()
        print(f"{part}: {time.monotonic() - started:.0f} s", flush=True)
    shutil.rmtree(output.work)


if __name__ == "__main__":
    if any(os.environ.get(name) != value for name, value in ENVIRONMENT.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **ENVIRONMENT})  # noqa: S606 - itself, with a fixed environment
    sys.exit(main(sys.argv[1:]))
