"""How long a user waits before anything happens: processor seconds of `import eyeline` and `eyeline --help`, the least of several runs.

python -m benchmarks.cost.start      (five runs of each)
"""

from __future__ import annotations

import resource
import subprocess
import sys

RUNS = 5
CODES = {
    "python alone": "pass",
    "import eyeline": "import eyeline",
    "eyeline --help": "import sys; sys.argv = ['eyeline', '--help']; from eyeline.hosts.cli.main import main; main()",
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
    for name, code in CODES.items():
        print(f"{name}: {min(processor_seconds(code) for _ in range(RUNS)):.3f} s")


if __name__ == "__main__":
    main()
