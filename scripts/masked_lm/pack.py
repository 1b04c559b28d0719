"""The trained update as the small file that ships: matrices in 63 levels of int8, one scale a row.

python scripts/masked_lm/pack.py update.safetensors src/eyeline/models/updates/e5-small-mlm.safetensors
"""

from __future__ import annotations

import sys

import numpy as np
from safetensors.numpy import load_file, save_file

#: Integers from −LEVELS to LEVELS: fewer than int8 has, since a zip file then stores six bits a number.
LEVELS = 31
#: The head's arrays by their names in training.
HEAD = ("dense.weight", "dense.bias", "norm.weight", "norm.bias", "bias")


def rounded(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Integers [row, column] and the scale of each row [row, 1]."""
    scale = np.maximum(np.abs(matrix).max(-1, keepdims=True), 1e-8) / LEVELS
    return np.clip(np.rint(matrix / scale), -LEVELS, LEVELS).astype(np.int8), scale.astype(np.float32)


def main(update: str, output: str) -> None:
    packed = {}
    for name, values in load_file(update).items():
        short = f"head.{name}" if name in HEAD else name.removeprefix("bert.")
        if values.ndim == 2:
            packed[short], packed[f"{short}.scale"] = rounded(values.astype(np.float32))
        else:
            packed[short] = values.astype(np.float16 if short == "head.bias" else np.float32)
    save_file(packed, output, {"about": "low-rank update of e5-small into a masked language model"})


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
