"""Small PNG files without an image library."""

from __future__ import annotations

import struct
import zlib

import numpy as np

INDEXED, RGB = 3, 2  # colour types of the format


def png_bytes(pixels: np.ndarray, palette: np.ndarray | None = None) -> bytes:
    """pixels: [row, column, 3] bytes, red, green and blue; or [row, column] indices into a palette [colour, 3]."""
    rows = np.pad(pixels.reshape(len(pixels), -1), ((0, 0), (1, 0)))  # each row begins with its filter: none
    header = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, RGB if palette is None else INDEXED, 0, 0, 0)
    colours = b"" if palette is None else _chunk(b"PLTE", palette.tobytes())
    return (
        b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + colours + _chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)) + _chunk(b"IEND", b"")
    )


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
