"""What a page shows, written into its address: the link shows the same to someone else."""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

#: The most characters of an address that the texts may take: as they are, then compressed. Longer texts are left out.
WRITTEN, PACKED = 300, 1500
#: The most bytes that an address may hold, after decompression.
LARGEST = 20_000
KINDS = ("sentence", "head", "model", "neuron")
#: Parts of a state that a link need not carry.
TRANSIENT = ("theme", "find", "zoom")
MOST_HEADS = 256


@dataclass(frozen=True)
class Looking:
    """Everything the Look page shows. state: as docs/view-format.md says."""

    text: str
    pair: str = ""
    model: str = ""
    view: str = "sentence"
    state: Mapping[str, Any] = field(default_factory=dict)


def write_address(looking: Looking) -> tuple[dict[str, str], bool]:
    """The address's parameters, and whether the texts are among them (a long text is not)."""
    parameters = {"model": looking.model, "view": looking.view}
    texts = [looking.text, looking.pair] if looking.pair else [looking.text]
    whole = True
    if len(quote("".join(texts))) <= WRITTEN:
        parameters |= dict(zip(("text", "pair"), texts, strict=False))
    elif len(packed_texts := pack(texts)) <= PACKED:
        parameters["t"] = packed_texts
    else:
        whole = False
    state = {key: value for key, value in looking.state.items() if key not in TRANSIENT}
    if "layer" in state:
        parameters["layer"] = str(state.pop("layer"))
    if "heads" in state:
        parameters["heads"] = ",".join(map(str, state.pop("heads")))
    if state:
        parameters["s"] = pack(state)
    return parameters, whole


def read_address(parameters: Mapping[str, str], default: Looking) -> Looking:
    """What an address describes. What cannot be read is left at the default: links may be old, cut or made up."""
    packed = unpack(parameters["t"]) if "t" in parameters else None
    texts = packed if isinstance(packed, list) and packed and all(isinstance(text, str) for text in packed) else None
    text, pair = (texts[0], texts[1] if len(texts) > 1 else "") if texts else (parameters.get("text"), parameters.get("pair", ""))
    model = parameters.get("model", default.model)
    as_default = text is None and "layer" not in parameters and model == default.model  # its head says nothing about another model
    state = unpack(parameters["s"]) if "s" in parameters else dict(default.state) if as_default else {}
    state = valid_state(state) if isinstance(state, dict) else {}
    if (layer := parameters.get("layer", "")).isdecimal() and len(layer) < 5:
        state["layer"] = int(layer)
    heads = parameters.get("heads")
    if heads is not None and all(head.isdecimal() and len(head) < 5 for head in heads.split(",") if head):
        state["heads"] = [int(head) for head in heads.split(",") if head][:MOST_HEADS]
    view = parameters.get("view", default.view)
    return Looking(
        text=default.text if text is None else text,
        pair=default.pair if text is None else pair,
        model=model,
        view=view if view in KINDS else default.view,
        state=state,
    )


def valid_state(state: Mapping[str, Any]) -> dict[str, Any]:
    """A state without impossible indices: it may come from a link that somebody made up. The view checks the rest.

    >>> valid_state({"layer": "x", "stack": -1, "heads": [3], "level": "word"})
    {'heads': [3], 'level': 'word'}
    """

    def possible(key: str, value: Any) -> bool:
        if key == "heads":
            return isinstance(value, list) and len(value) <= MOST_HEADS and all(possible("head", head) for head in value)
        return key not in ("stack", "layer", "head") or (isinstance(value, int) and not isinstance(value, bool) and value >= 0)

    return {key: value for key, value in state.items() if possible(key, value)}


def pack(value: Any) -> str:
    """JSON, deflated, in letters that an address may hold.

    >>> unpack(pack({"direction": "to"}))
    {'direction': 'to'}
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    return base64.urlsafe_b64encode(zlib.compress(text, 9)).decode().rstrip("=")


def unpack(text: str) -> Any:
    """The value, or None for anything that `pack` did not make, or that would grow beyond LARGEST."""
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        inflater = zlib.decompressobj()
        data = inflater.decompress(raw, LARGEST)
        return json.loads(data) if inflater.eof else None
    except (ValueError, binascii.Error, zlib.error, RecursionError):
        return None
