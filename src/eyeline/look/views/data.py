"""What a view shows, as data: a JSON description, encoded arrays and the state it starts in. Pages, widgets and pictures read this.

docs/view-format.md is the contract.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, Unpack

import numpy as np

from eyeline.errors import TraceError
from eyeline.kinds import VIEWS
from eyeline.look.stack import Stack
from eyeline.look.trace import Trace
from eyeline.look.views.options import StateOptions
from eyeline.look.views.state import checked
from eyeline.words import check_language

# ---- A view's data


@dataclass(frozen=True)
class ViewData:
    """JSON in `spec`, numbers in `arrays` (docs/view-format.md is the contract of both)."""

    kind: str
    spec: Mapping[str, Any]
    arrays: Mapping[str, Encoded]
    #: The language of its controls, titles and pictures: en, ja or ko.
    language: str = "en"
    #: The live widget and the class name of its still picture, once a notebook shows the view; the model's answer to what is switched off.
    _live: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.kind not in VIEWS:
            raise TraceError(f"A view of kind {self.kind!r}.", f"Choices: {', '.join(VIEWS)}.")
        check_language(self.language)

    def __repr__(self) -> str:
        if self.kind == "space":
            count = len(self.spec["texts"])
            return f"<space view of {self.spec['model']}, {count} text{'s' if count != 1 else ''}>"
        text = self.spec["texts"][self.spec["stacks"][0]["query_text"]]
        return f"<{self.kind} view of {self.spec['model']}, {len(text['tokens'])} tokens>"

    @property
    def state(self) -> dict[str, Any]:
        """The reader's choices: those of the live widget in a notebook, elsewhere the starting state."""
        live = self._live.get("widget")
        return {**self.spec["state"], **(live.state if live is not None else {})}

    def starting(self, **state: Unpack[StateOptions]) -> Self:
        """The same view with another starting state, for a page: `view.starting(theme="dark").save("x.html")`."""
        now = self.spec["state"]
        other = replace(self, spec={**self.spec, "state": {**now, **checked(dict(state), self.spec, now)}})
        if "answer" in self._live:
            other._live["answer"] = self._live["answer"]
        return other

    def weights(self, stack: int = 0, layer: int = 0, drawn: int = 0) -> np.ndarray:
        """[head, query, key] of the layer with this index in the view, as a reader sees them: right to three decimals.

        drawn: attention (0) or a quantity beside it, whose numbers are given as fractions of the largest one (`spec["quantities"]`).
        """
        record = self.spec["stacks"][stack]["layers"][layer]
        name = record["weights"] if drawn == 0 else record["also"][drawn - 1]
        if name is None:
            return np.zeros((1, *self.weights(stack, layer).shape[1:]), dtype=np.float32)
        quantities = self.spec.get("quantities")
        return self.arrays[name].decode() if quantities is None else decode_quantity(self.arrays[name], quantities[drawn])


# ---- Arrays as the front end reads them: small, and exact enough for the numbers that are shown


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


# ---- Quantities beside attention: which there are to choose from, and their arrays


#: The largest difference of a row's sum from 1 at which the numbers count as shares: shares are not divided by the largest number.
SHARES_WITHIN = 0.01


def check_also(trace: Trace, also: Sequence[Trace]) -> None:
    """Refuse quantities of another text, and traces of attention itself; the error says what differs."""
    for other in also:
        if not isinstance(other, Trace) or other.quantity is None:
            kind = type(other).__name__ if not isinstance(other, Trace) else "a trace of attention"
            raise TraceError(f"also holds {kind}.", "Give quantities of the same text: also=[el.attribute(model, text, method=…)].")
        for name, stack in other.stacks.items():
            if name not in trace.stacks:
                raise TraceError(f"{other.quantity.name} is of the {name}, and this trace has {', '.join(trace.stacks)}.")
            own = trace.stacks[name]
            if stack.query_text.tokens != own.query_text.tokens or stack.key_text.tokens != own.key_text.tokens:
                raise TraceError(
                    f"{other.quantity.name} is of another text: {' '.join(stack.query_text.tokens[:6])} …",
                    f"This trace: {' '.join(own.query_text.tokens[:6])} …",
                )


def also_arrays(
    stack: Stack, layer: int, also: Sequence[Trace], records: Sequence[dict[str, Any]], arrays: dict[str, Encoded]
) -> list[Any]:
    """The names of the arrays of one layer, one for each further quantity; None where a quantity has no such stack or layer.

    A quantity with one layer alone (one number a token, a flow through all layers) is the same whichever layer is shown.
    """
    names: list[Any] = []
    for number, (trace, record) in enumerate(zip(also, records, strict=True), start=1):
        other = trace.stacks.get(stack.name)
        if other is None or (len(other.layers) > 1 and layer not in other.layers):
            names.append(None)
            continue
        index = other.layers.index(layer) if len(other.layers) > 1 else 0
        name = f"{stack.name}.{other.layers[index]}.drawn{number}"
        if name not in arrays:
            arrays[name] = encode_quantity(other.weights_by_layer[index], record)
        names.append(name)
    return names


def quantity_record(trace: Trace) -> dict[str, Any]:
    """What the front end must know of a quantity: method, name, whether it has a sign, which number its arrays store as 1, and whether
    it differs between heads and between layers."""
    quantity = trace.quantity
    if quantity is None:
        shape = {"by_head": True, "by_layer": True}
        return {"method": "attention", "name": "Attention", "signed": False, "largest": 1.0, "answer": "", **shape}
    names = ("method", "name", "signed", "answer")
    shape = {
        "by_head": any(len(array) > 1 for stack in trace.stacks.values() for array in stack.weights_by_layer),
        "by_layer": any(len(stack.layers) > 1 for stack in trace.stacks.values()),
    }
    return {**{name: getattr(quantity, name) for name in names}, "largest": largest_size(trace, signed=quantity.signed), **shape}


def largest_size(trace: Trace, *, signed: bool) -> float:
    """The largest size of a number; 1 for shares, whose rows sum to 1."""
    arrays = [array for stack in trace.stacks.values() for array in stack.weights_by_layer]
    sums = np.concatenate([array.sum(axis=-1).ravel() for array in arrays])
    if not signed and bool(np.all((np.abs(sums - 1) < SHARES_WITHIN) | (sums == 0))):
        return 1.0
    return max(float(np.abs(array).max()) for array in arrays) or 1.0


def encode_quantity(array: np.ndarray, record: dict[str, Any]) -> Encoded:
    """[head, query, key] as parts of the largest: from 0 to 1 as weights are, or from −1 to 1 as fractions of that range."""
    parts = array / record["largest"]
    return encode_fractions((parts + 1) / 2) if record["signed"] else encode_weights(np.clip(parts, 0, 1))


def decode_quantity(encoded: Encoded, record: dict[str, Any]) -> np.ndarray:
    """The fractions of the largest number that a reader sees: [head, query, key]"""
    decoded = encoded.decode()
    return decoded / 65535 * 2 - 1 if record["signed"] else decoded
