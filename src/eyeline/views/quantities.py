"""Quantities beside attention in a view: which there are to choose from, and their arrays, layer by layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eyeline.capture.stack import Stack
from eyeline.capture.trace import Trace
from eyeline.errors import TraceError
from eyeline.views.encode import Encoded, encode_fractions, encode_weights

#: The largest difference of a row's sum from 1 at which the numbers count as shares: shares are not divided by the largest number.
SHARES_WITHIN = 0.01


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
    return {**{name: getattr(quantity, name) for name in names}, "largest": largest(trace, signed=quantity.signed), **shape}


def largest(trace: Trace, *, signed: bool) -> float:
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
