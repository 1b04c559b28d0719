"""The lowest version of everything that pyproject.toml declares, as constraints for pip: python scripts/lowest.py > lowest.txt

torch stays at the version of constraints.txt: only that one is available everywhere as a small CPU build.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: The extras whose lower bounds are tried too. `dev` is what we work with, not what we promise; the app is tried by `make comes-up`.
EXTRAS = ("gguf", "notebook", "plots", "embed")


def lowest(requirements: list[str]) -> list[str]:
    """name>=1.2 as name==1.2; a requirement without a lower bound is an error, since nothing can be tried then."""
    lines = []
    for requirement in requirements:
        match = re.fullmatch(r"([\w.-]+)>=([\w.]+)", requirement)
        if not match:
            raise SystemExit(f"{requirement} has no lower bound of the form name>=version")
        lines.append(f"{match[1]}=={match[2]}")
    return lines


def main() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = [*project["dependencies"], *(item for extra in EXTRAS for item in project["optional-dependencies"][extra])]
    print(*(line for line in lowest(declared) if not line.startswith("torch==")), sep="\n")
    print(next(line for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines() if line.startswith("torch==")))


if __name__ == "__main__":
    main()
