"""The texts that are committed in tests/golden/texts: those in English as they are, of those in other languages a checksum."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

from golden_parts.compare import compare

KEPT = Path(__file__).parents[2] / "tests" / "golden" / "texts"
HASHES = "hashes.json"
#: Their words are in the catalogues of messages; that a page shows the same ones is seen from a checksum.
HASHED = ("app/ja/", "app/ko/")


def lay_out(texts: Path, folder: Path) -> Path:
    """The texts of a golden as they are committed, in a folder of their own."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    hashes = {}
    for path in sorted(texts.rglob("*")):
        name = path.relative_to(texts).as_posix()
        if path.is_file() and name.startswith(HASHED):
            hashes[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        elif path.is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / name)
    (folder / HASHES).write_text(json.dumps(hashes, indent=1) + "\n", encoding="utf-8")
    return folder


def keep(golden: Path) -> int:
    """Put the texts of this golden in the place of the committed ones of the same parts."""
    written = lay_out(golden / "texts", golden / "kept")
    if not (written / "app").exists():
        (written / HASHES).unlink()
    for path in written.iterdir():
        shutil.rmtree(KEPT / path.name) if path.is_dir() else (KEPT / path.name).unlink(missing_ok=True)
        path.rename(KEPT / path.name)
    shutil.rmtree(written)
    return 0


def check(golden: Path) -> int:
    """What differs from the committed texts, in the parts that this golden has; 1 if anything does."""
    written = lay_out(golden / "texts", golden / "kept")
    parts = {path.name for path in written.iterdir()}
    if "app" not in parts:
        parts.discard(HASHES)
    before = golden / "before"
    shutil.rmtree(before, ignore_errors=True)
    shutil.copytree(KEPT, before, ignore=lambda folder, names: [name for name in names if Path(folder) == KEPT and name not in parts])
    if HASHES not in parts:
        (written / HASHES).unlink()
    try:
        return compare(before, written)
    finally:
        shutil.rmtree(before)
        shutil.rmtree(written)
