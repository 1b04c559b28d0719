"""Try every family once and write one line for each: python -m tests.families.survey FILE"""

from __future__ import annotations

import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

from tests.families.calls import outcomes
from tests.families.small_models import FAMILY_NAMES, CannotBuildError, small_model


def line(name: str) -> str:
    try:
        hf = small_model(name)
    except CannotBuildError as reason:
        return f"not built\t{name}\t{reason}"
    with tempfile.TemporaryDirectory() as folder:
        seen = outcomes(hf, name, Path(folder))
    raw = [outcome for outcome in seen if outcome.is_raw]
    if not raw:
        refused = [str(outcome) for outcome in seen if outcome.error]
        return f"passed\t{name}\t{'; '.join(refused)}"
    where = traceback.extract_tb(raw[0].error.__traceback__) if raw[0].error else []
    last = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in where][-6:]
    return f"RAW\t{name}\t{'; '.join(map(str, raw))}\t[{' > '.join(last)}]"


def main(path: str, names: list[str]) -> None:
    warnings.simplefilter("ignore")
    with Path(path).open("w", encoding="utf-8") as out:
        for name in names or FAMILY_NAMES:
            start = time.monotonic()
            out.write(f"{line(name)}\t{time.monotonic() - start:.1f} s\n")
            out.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
