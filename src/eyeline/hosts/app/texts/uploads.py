"""An uploaded file of limited size, read by the library. Its error messages are shown without paths of the server."""

from __future__ import annotations

import gzip
import io
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from eyeline.errors import TextError
from eyeline.hosts.app.messages import Say
from eyeline.hosts.app.settings import current
from eyeline.hosts.app.sharing.turns import TURNS
from eyeline.storage.names import is_plain_name

#: An unpacked file may be this many times as large as an upload.
MOST_GROWTH = 4
PIECE = 1 << 20


def received(say: Say, upload: Any, endings: Sequence[str], called: str) -> tuple[str, bytes]:
    """The name and bytes of an uploaded file; refused if too large or of another kind. called: used where its name is not valid."""
    name, data, most = str(upload.name), bytes(upload.getvalue()), current().limits.upload
    if len(data) > most:
        raise TextError(say("corpus.too_large", n=f"{len(data):,}", most=f"{most:,}"))
    ending = next((ending for ending in sorted(endings, key=len, reverse=True) if name.lower().endswith(f".{ending}")), None)
    if ending is None:
        shown = name.rsplit(".", 1)[-1][:20]
        raise TextError(say("grammar.bad_ending", ending=shown, known=say.listed(f".{known}" for known in endings)))
    if ending.endswith("gz") and unpacked_size(data, MOST_GROWTH * most) > MOST_GROWTH * most:
        raise TextError(say("grammar.too_large_unpacked", most=f"{MOST_GROWTH * most:,}"))
    return (name if is_plain_name(name) else f"{called}.{ending}"), data


def unpacked_size(data: bytes, most: int) -> int:
    """How many bytes a gzipped file would grow to, counted up to a little over `most`. A damaged file is left to its reader.

    >>> unpacked_size(gzip.compress(bytes(5000)) + bytes(100) + gzip.compress(bytes(500)), 10_000)  # zeros between members are passed over
    5500
    """
    size = 0
    with suppress(OSError, EOFError, zlib.error), gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        while size <= most and (piece := file.read(PIECE)):
            size += len(piece)
    return size


@contextmanager
def as_file(name: str, data: bytes) -> Iterator[Path]:
    """The bytes as a temporary file; errors about it show the visitor's name for the file. Pages of others are drawn while it is read."""
    with TURNS.given_up(), tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        try:
            yield path
        except TextError as error:
            raise TextError(error.for_app.replace(str(path), name)) from error
