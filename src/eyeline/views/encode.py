"""Arrays as the front end reads them: small, and exact enough for the numbers that are shown. See docs/view-format.md."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

#: Above this many keys a weight takes 200 steps instead of 255: a 144 x 512 x 512 page stays under 25 MB.
LONG = 256
#: Up to this many keys every weight has its second byte: such a page is small anyway.
SHORT = 64
#: Weights encoded at once: many small heads together, as one call of NumPy costs more than a small head; a large head alone.
SLAB = 2**16
#: The largest error of a weight: right to three decimals; or about the best of two bytes, where the numbers beside it must agree with it.
NEAR_ENOUGH, NEAREST = 0.0005, 0.00002
#: Written for minus infinity in a bias: the drawing code cannot use an infinite number.
LOWEST = -60_000.0


@dataclass(frozen=True)
class Encoded:
    """One array for the front end: `data` is a zlib stream, the other fields say how to read it."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes
    levels: int | None = None
    fine_from: int | None = None

    def header(self) -> dict[str, Any]:
        """Everything but `data`, ready for JSON."""
        header: dict[str, Any] = {"dtype": self.dtype, "shape": list(self.shape)}
        if self.levels is not None:
            header["levels"] = self.levels
        if self.fine_from is not None:
            header["fine_from"] = self.fine_from
        return header

    def decode(self) -> np.ndarray:
        """The values that a reader of the view sees, as float32."""
        raw = zlib.decompress(self.data)
        size = math.prod(self.shape)
        if self.dtype == "bits":
            bits = np.unpackbits(np.frombuffer(raw, dtype=np.uint8), count=size, bitorder="little")
            return bits.reshape(self.shape).astype(np.float32)
        if self.dtype == "uint8":
            return np.frombuffer(raw, dtype=np.uint8).reshape(self.shape).astype(np.float32)
        if self.dtype == "uint16":
            high, low = np.frombuffer(raw, dtype=np.uint8).reshape(2, -1).astype(np.float32)
            return (high * 256 + low).reshape(self.shape)
        if self.dtype == "float32":
            return np.frombuffer(raw, dtype="<f4").reshape(self.shape).astype(np.float32)
        steps = np.frombuffer(raw, dtype=np.uint8, count=size)
        root = steps.astype(np.float32)
        if self.fine_from is not None:
            fine = steps >= self.fine_from
            root[fine] += (np.frombuffer(raw, dtype=np.uint8, offset=size).astype(np.float32) - 127.5) / 256
        return np.square(root / (self.levels or 255)).reshape(self.shape)


def encode_weights(weights: np.ndarray, *, levels: int | None = None, near: float | None = None) -> Encoded:
    """Attention weights as bytes on a square-root scale, with a second byte for the large ones.

        b = round(√a · levels)        |a − (b / levels)²| ≤ (b + ¼) / levels²

    weights: [head, query, key], between 0 and 1 (nan, a fully masked row, becomes 0). The first byte alone is within 0.005 of
    the true weight; weights whose first byte could be `near` off carry a second one. `near` is 0.0005, so that every weight is right to
    three decimals, and 0.00002 for short texts.
    Heads are encoded a few at a time, so that the whole array is not copied.

    >>> encode_weights(np.array([[[0.25, 0.75], [1.0, 0.0]]])).decode().round(3)
    array([[[0.25, 0.75],
            [1.  , 0.  ]]], dtype=float32)
    """
    levels = levels or (255 if weights.shape[-1] <= LONG else 200)
    near = near or (NEAREST if weights.shape[-1] <= SHORT else NEAR_ENOUGH)
    fine_from = first_coarse_step(levels, near)
    # The bytes are noise with runs of zeros: run-length matching gives 4 % less than deflate's default search, in a seventh of its time.
    deflate = zlib.compressobj(6, zlib.DEFLATED, 15, 9, zlib.Z_RLE)
    parts, tails = [], []
    at_once = max(1, SLAB // max(1, weights[0].size if len(weights) else 0))
    for start in range(0, len(weights), at_once):  # [head, query, key]
        root = np.nan_to_num(np.asarray(weights[start : start + at_once], dtype=np.float32), copy=True)
        np.sqrt(np.clip(root, 0, 1, out=root), out=root)
        root *= levels
        steps = np.rint(root).astype(np.uint8)
        parts.append(deflate.compress(steps.tobytes()))
        fine = steps >= fine_from
        rest = root[fine] - steps[fine]  # from −½ to ½
        tails.append(np.clip(np.rint(rest * 256 + 127.5), 0, 255).astype(np.uint8))
    parts += [deflate.compress(tail.tobytes()) for tail in tails]
    parts.append(deflate.flush())
    return Encoded("sqrt8", weights.shape, b"".join(parts), levels, fine_from)


def first_coarse_step(levels: int, near: float = NEAR_ENOUGH) -> int:
    """The first byte whose weight could be `near` or more away from the true one, so that it needs a second byte.

    >>> first_coarse_step(255), first_coarse_step(200)
    (33, 20)
    """
    return math.ceil(near * levels**2 - 0.25)


def encode_vectors(array: np.ndarray) -> Encoded:
    """Queries, keys or a bias as single floats: with half ones the products that are shown would not add up to the score beside them."""
    finite = np.nan_to_num(np.asarray(array, dtype=np.float32), neginf=LOWEST, posinf=-LOWEST)
    return Encoded("float32", array.shape, zlib.compress(finite.astype("<f4").tobytes(), 1))


def encode_mask(mask: np.ndarray) -> Encoded:
    """mask: [query, key], True where a query may look.

    >>> encode_mask(np.array([[True, False], [True, True]])).decode()
    array([[1., 0.],
           [1., 1.]], dtype=float32)
    """
    return Encoded("bits", mask.shape, zlib.compress(np.packbits(np.asarray(mask, dtype=bool), bitorder="little").tobytes(), 6))


def encode_fractions(fractions: np.ndarray) -> Encoded:
    """Numbers from 0 to 1 as 16 bits, the high bytes before the low ones: right to 0.000008. So ordered, they compress better.

    >>> encode_fractions(np.array([0.0, 0.5, 1.0])).decode()
    array([    0., 32768., 65535.], dtype=float32)
    """
    return encode_words(np.rint(np.clip(fractions, 0, 1) * 65535))


def encode_words(numbers: np.ndarray) -> Encoded:
    """Whole numbers from 0 to 65,535."""
    words = np.asarray(numbers).astype(np.uint16)
    planes = np.stack([words >> 8, words & 255]).astype(np.uint8)
    return Encoded("uint16", words.shape, zlib.compress(planes.tobytes(), 6))


def encode_bytes(values: np.ndarray) -> Encoded:
    """Bytes as they are, or numbers from 0 to 1 as bytes.

    >>> encode_bytes(np.array([0.0, 0.5, 1.0])).decode()
    array([  0., 128., 255.], dtype=float32)
    """
    steps = values if values.dtype == np.uint8 else np.rint(np.clip(values, 0, 1) * 255).astype(np.uint8)
    return Encoded("uint8", steps.shape, zlib.compress(np.ascontiguousarray(steps).tobytes(), 6))


def encode_positions(positions: np.ndarray) -> Encoded:
    """Positions in a text, in one byte where all of them fit.

    >>> encode_positions(np.array([3, 255])).dtype, encode_positions(np.array([3, 256])).dtype
    ('uint8', 'uint16')
    """
    return encode_bytes(positions.astype(np.uint8)) if positions.size == 0 or int(positions.max()) < 256 else encode_words(positions)
