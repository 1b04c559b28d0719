"""Files that come with a package, damaged: archives and updates; and names that no file has. Our error names the file."""

from __future__ import annotations

import gzip
import io
import random
import shutil
import tarfile
from pathlib import Path

import pytest
import transformers as t

import eyeline as el
from eyeline.errors import ModelError
from eyeline.look.embedded import E5_CONFIG, EMBEDDED, update_file
from eyeline.models import unpack
from eyeline.models.unpack import convert_archive
from eyeline.storage.sealed import digest_of

NOISE = random.Random(0)  # noqa: S311 - a seeded choice, not a secret


def archive_of(path: Path, name: str, data: bytes) -> bytes:
    """A .tar.gz that holds one file."""
    with tarfile.open(path, "w:gz") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return path.read_bytes()


def damaged_archives(folder: Path) -> dict[str, bytes]:
    whole = archive_of(folder / "whole", "model.onnx", NOISE.randbytes(5000))
    return {
        "empty": b"",
        "no archive": b"hello",
        "cut": whole[: len(whole) // 2],
        "a graph of noise": whole,
        "no graph": archive_of(folder / "other", "readme.txt", b"x"),
        "packed noise": gzip.compress(NOISE.randbytes(2000)),
        "a flipped bit": whole[:700] + bytes([whole[700] ^ 4]) + whole[701:],
    }


def test_a_damaged_archive_is_our_error_that_names_it(tmp_path):
    for name, data in damaged_archives(tmp_path).items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(ModelError, match=name):
            convert_archive(tmp_path / name, E5_CONFIG, tmp_path, tmp_path / f"unpacked {name}" / "inner")


def small_encoder() -> t.BertModel:
    return t.BertModel(t.BertConfig(vocab_size=64, hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=32))


@pytest.mark.parametrize("update", [model.update for model in EMBEDDED if model.update])
def test_every_update_has_its_checksum_and_a_changed_or_missing_one_is_refused(update, tmp_path, monkeypatch):
    source = update_file(update)
    assert digest_of(source) == unpack.CHECKSUMS[update]
    monkeypatch.setattr(unpack, "update_file", lambda name: tmp_path / source.name)
    with pytest.raises(ModelError, match=update):
        unpack.with_update(small_encoder(), update)
    shutil.copy(source, tmp_path)
    with (tmp_path / source.name).open("r+b") as file:
        file.seek(-1000, 2)
        byte = file.read(1)[0]
        file.seek(-1000, 2)
        file.write(bytes([byte ^ 1]))
    with pytest.raises(ModelError, match="its checksum does not match"):
        unpack.with_update(small_encoder(), update)


def test_an_update_of_another_encoder_is_refused():
    with pytest.raises(ModelError, match="e5-small-mlm"):
        unpack.with_update(small_encoder(), "e5-small-mlm")


@pytest.mark.parametrize("name", ["a" * 400, "b/" + "猫" * 200, "x" * 1001, "a\0b", "\ud800", "~nobody-of-this-name/x"])
def test_names_that_no_file_can_have_are_our_error(name):
    with pytest.raises(ModelError):
        el.load(name)


def test_a_conversion_that_is_killed_leaves_nothing_outside_its_own_folder(tmp_path, monkeypatch):
    (tmp_path / "cache").mkdir()
    archive_of(tmp_path / "x.tar.gz", "model.onnx", b"graph")
    seen = []

    def killed(graph: Path) -> None:
        seen.append((graph.read_bytes(), [path.name for path in (tmp_path / "cache").iterdir()]))
        raise KeyboardInterrupt

    monkeypatch.setattr("eyeline.models.unpack.read_weights", killed)
    with pytest.raises(KeyboardInterrupt):
        convert_archive(tmp_path / "x.tar.gz", E5_CONFIG, tmp_path, tmp_path / "cache" / ".0123.part")
    assert seen == [(b"graph", [".0123.part"])]
