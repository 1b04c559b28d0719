"""How long a user waits before anything happens: processor seconds of `import eyeline` and `eyeline --help`. Prints JSON.

    python -m benchmarks.cost.start [-o start.json]

The least of five runs of each, Python itself included.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
from pathlib import Path

from benchmarks.output import give

RUNS = 5
CODES = {
    "python alone": "pass",
    "import eyeline": "import eyeline",
    "eyeline --help": "import sys; sys.argv = ['eyeline', '--help']; from eyeline.show.cli.main import main; main()",
}


def processor_seconds(code: str) -> float:
    """User and system seconds of a Python process that runs this code."""

    def spent() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    before = spent()
    subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    return spent() - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--out", type=Path)
    options = parser.parse_args()
    seconds = {name: round(min(processor_seconds(code) for _ in range(RUNS)), 3) for name, code in CODES.items()}
    give({"processor_s": seconds}, options.out)


if __name__ == "__main__":
    main()
