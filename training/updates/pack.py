"""A trained update as the small file that ships: matrices in 63 levels of int8, one scale per row; changes of norms and biases as float16.

python -m training.updates.pack update.safetensors src/eyeline/models/updates/e5-small-mlm.safetensors.xz
python -m training.updates.pack update.safetensors src/eyeline/models/updates/e5-small-sentiment.safetensors.xz negative positive
"""

from __future__ import annotations

import hashlib
import json
import lzma
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save

import eyeline as el

#: Integers from −LEVELS to LEVELS: fewer than int8 has, since each number then packs into six bits.
LEVELS = 31
#: For xz: numbers of two bytes, whose first bytes are similar to each other, and so are their second bytes.
FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 0, "lp": 1, "pb": 1}]


def rounded(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Integers [row, column] and the scale of each row [row, 1]."""
    scale = np.maximum(np.abs(matrix).max(-1, keepdims=True), 1e-8) / LEVELS
    return np.clip(np.rint(matrix / scale), -LEVELS, LEVELS).astype(np.int8), scale.astype(np.float16)


def main(update: str, output: str, labels: list[str]) -> None:
    encoder = {name: values.numpy() for name, values in el.load("e5-small").hf.state_dict().items()}
    packed = {}
    for name, values in load_file(update).items():
        short = name.removeprefix("bert.") if name.startswith("bert.") else f"head.{name}"
        if values.ndim == 2:
            packed[short], packed[f"{short}.scale"] = rounded(values.astype(np.float32))
        elif short.startswith("head."):
            packed[short] = values.astype(np.float16 if short == "head.bias" else np.float32)
        else:
            packed[f"{short}.change"] = (values - encoder[short]).astype(np.float16)
    kind = f"classifier: {', '.join(labels)}" if labels else "masked language model"
    write(Path(output), packed, {"about": f"low-rank update of e5-small into a {kind}", "labels": json.dumps(labels)})


def write(path: Path, arrays: dict[str, np.ndarray], about: dict[str, str]) -> None:
    """A safetensors file, packed; prints its checksum."""
    path.write_bytes(lzma.compress(save(arrays, about), check=lzma.CHECK_NONE, filters=FILTERS))
    print("For CHECKSUMS of models/unpack.py:", hashlib.sha256(path.read_bytes()).hexdigest())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
