"""Files that were written when the project was called sightline. Only this module knows the old name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import platformdirs

OLD_NAME = "sightline"


def old_metadata(metadata: Mapping[str, str]) -> tuple[str, str | None] | None:
    """The header of a safetensors file written under the old name, and the checksum of that header (run states had none); else None."""
    if OLD_NAME not in metadata:
        return None
    return metadata[OLD_NAME], metadata.get(f"{OLD_NAME}-crc32")


def old_cache_path(*names: str) -> Path:
    """A folder of the cache that was used under the old name."""
    return platformdirs.user_cache_path(OLD_NAME).joinpath(*names)
