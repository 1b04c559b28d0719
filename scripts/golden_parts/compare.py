"""What differs between two folders that `golden.py` wrote."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path

#: Lines that are shown of each file, and characters of each line around the first that differs.
SHOWN, AROUND = 5, 60
#: Files in their own forms, with times in them: what they hold is in numbers/opened.
NOT_COMPARED = ("saved", "work")


def compare(before: Path, after: Path) -> int:
    """Print each difference; 1 if there is one."""
    first, second = files_of(before), files_of(after)
    if not first or not second:
        print(f"{before if not first else after}: nothing was written there.")
        return 1
    differ = 0
    for name in sorted({*first, *second}):
        if name not in first or name not in second:
            print(f"{name}: only {'before' if name in first else 'after'}")
            differ += 1
        elif first[name].read_bytes() != second[name].read_bytes():
            print(f"{name}:")
            show(first[name].read_text(encoding="utf-8").split("\n"), second[name].read_text(encoding="utf-8").split("\n"))
            differ += 1
    print(f"{differ} of {len({*first, *second})} files differ." if differ else f"No difference in {len(first)} files.")
    return int(differ > 0)


def files_of(folder: Path) -> dict[str, Path]:
    every = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: path for name, path in every.items() if name.split("/")[0] not in NOT_COMPARED}


def show(before: list[str], after: list[str]) -> None:
    """The first lines that differ, each around its first character that does."""
    pairs = [(number, *lines) for number, lines in enumerate(zip_longest(before, after, fillvalue=""), start=1) if lines[0] != lines[1]]
    for number, old, new in pairs[:SHOWN]:
        start = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
        part = slice(max(0, start - AROUND), start + AROUND)
        print(f"  line {number}\n  - {old[part]}\n  + {new[part]}")
    if len(pairs) > SHOWN:
        print(f"  … {len(pairs) - SHOWN} further lines")
