"""Files with checksums: the same content makes the same bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from eyeline.errors import StorageError
from eyeline.storage.sealed import HEADER, FileKind, read_json, read_sealed, write_sealed

KIND = FileKind("thing", format=1, written_by="Written by a test.", otherwise="Nothing else opens it.")


def test_the_same_header_and_arrays_make_the_same_bytes_in_whatever_order_the_arrays_come(tmp_path: Path) -> None:
    arrays = {
        name: np.arange(n, dtype=dtype) for n, (name, dtype) in enumerate({"b": "f8", 'ä\x1f"é': "u1", "a": "f4", "猫": "i4"}.items())
    }
    written = set()
    for number in range(24):  # the library that writes them orders two entries at random
        given = dict(reversed(arrays.items())) if number % 2 else arrays
        write_sealed(tmp_path / "x.safetensors", KIND, {"text": "naïve \x7f\n", "number": 0.1}, given)
        written.add((tmp_path / "x.safetensors").read_bytes())
    assert len(written) == 1
    sealed = read_sealed(tmp_path / "x.safetensors", KIND)
    assert sealed.header["text"] == "naïve \x7f\n"
    assert {name: array.tolist() for name, array in sealed.arrays.items()} == {name: array.tolist() for name, array in arrays.items()}


@pytest.mark.parametrize("text", ["{}", '{"format": 2, "parts": {}}', '{"sha256": "0"}', "[]"])
def test_json_without_its_checksum_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"checksum|mapping"):
        read_json(tmp_path / "run.json")


def test_a_header_without_its_checksum_is_refused(tmp_path: Path) -> None:
    write_sealed(tmp_path / "x.safetensors", KIND, {}, {})
    with safe_open(tmp_path / "x.safetensors", framework="numpy") as file:
        metadata = file.metadata()
    save_file({}, tmp_path / "x.safetensors", metadata={HEADER: metadata[HEADER]})
    with pytest.raises(StorageError, match="the checksum of its header"):
        read_sealed(tmp_path / "x.safetensors", KIND)
