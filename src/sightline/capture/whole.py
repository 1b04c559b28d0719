"""Files written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from sightline.errors import StorageError


def write_whole(path: str | Path, parts: Iterable[bytes]) -> None:
    """Write beside the file and move into place, so that a full disk leaves what was there before."""
    path = Path(path)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        try:
            with beside.open("xb") as file:
                for part in parts:
                    file.write(part)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError(f"{path} cannot be written: {reason}.", "Nothing was changed. Choose another place, or make room.") from error
