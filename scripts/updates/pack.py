"""A trained update as the small file that ships: matrices in 63 levels of int8, one scale a row.

python -m scripts.updates.pack update.safetensors src/eyeline/models/updates/e5-small-mlm.safetensors
python -m scripts.updates.pack update.safetensors src/eyeline/models/updates/e5-small-sentiment.safetensors negative positive
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

#: Integers from −LEVELS to LEVELS: fewer than int8 has, since a zip file then stores six bits a number.
LEVELS = 31


def rounded(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Integers [row, column] and the scale of each row [row, 1]."""
    scale = np.maximum(np.abs(matrix).max(-1, keepdims=True), 1e-8) / LEVELS
    return np.clip(np.rint(matrix / scale), -LEVELS, LEVELS).astype(np.int8), scale.astype(np.float32)


def main(update: str, output: str, labels: list[str]) -> None:
    packed = {}
    for name, values in load_file(update).items():
        short = name.removeprefix("bert.") if name.startswith("bert.") else f"head.{name}"
        if values.ndim == 2:
            packed[short], packed[f"{short}.scale"] = rounded(values.astype(np.float32))
        else:
            packed[short] = values.astype(np.float16 if short == "head.bias" else np.float32)
    kind = f"classifier: {', '.join(labels)}" if labels else "masked language model"
    save_file(packed, output, {"about": f"low-rank update of e5-small into a {kind}", "labels": json.dumps(labels)})
    print("For CHECKSUMS of models/low_rank.py:", hashlib.sha256(Path(output).read_bytes()).hexdigest())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
