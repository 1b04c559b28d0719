"""Names that come from a file or a visitor, made into paths. Every such name goes through here."""

from __future__ import annotations

import os
from pathlib import Path

from eyeline.errors import StorageError

#: Longer names do not fit into most file systems once an ending is added.
LONGEST = 120
#: Separators, drive letters and what Windows does not allow in a name.
REFUSED = frozenset('/\\:*?"<>|~')


def is_plain_name(name: object) -> bool:
    """Whether a name is that of a file directly in a folder: no separators, no drive, no `..`, not hidden, no control characters.

    >>> [is_plain_name(name) for name in ("entropy", "..", "a/b", "/etc", "C:x", ".hidden", "a\\0b", "", 3)]
    [True, False, False, False, False, False, False, False, False]
    """
    return (
        isinstance(name, str)
        and 0 < len(name) <= LONGEST
        and name.isprintable()
        and name == name.strip()
        and name[0] != "."
        and not REFUSED & set(name)
    )


def path_in(folder: Path, name: object, ending: str = "") -> Path:
    """The path of a name directly in a folder; a name that could lead anywhere else is refused.

    >>> path_in(Path("run/tables"), "entropy", ".csv").as_posix()
    'run/tables/entropy.csv'
    >>> path_in(Path("run/tables"), "../../secret", ".csv")
    Traceback (most recent call last):
    eyeline.errors.StorageError: '../../secret' is no name for a file in a folder.
      Names have no slashes, colons, control characters or leading dots, and at most 120 characters.
    """
    if not is_plain_name(name):
        raise StorageError(
            f"{str(name)[:80]!r} is no name for a file in a folder.",
            f"Names have no slashes, colons, control characters or leading dots, and at most {LONGEST} characters.",
        )
    return folder / f"{name}{ending}"


def as_path(given: object) -> Path:
    """What a person gave as the path of a file or folder; anything else than a string or a path is refused.

    >>> as_path(5)
    Traceback (most recent call last):
    eyeline.errors.StorageError: A path given as int.
      Give a string or a pathlib.Path.
    """
    if not isinstance(given, str | os.PathLike) or not isinstance(os.fspath(given), str):
        raise StorageError(f"A path given as {type(given).__name__}.", "Give a string or a pathlib.Path.")
    return Path(given)
