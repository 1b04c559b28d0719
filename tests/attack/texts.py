"""Damaged and hostile texts, treebanks, coreference files and archives."""

from __future__ import annotations

import gzip
import io
import json
import multiprocessing
import resource
import zipfile
import zlib
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import eyeline as el
from eyeline.show.app.kit.texts import unpacked_size
from eyeline.text.corpora.files import file_hash, import_zstd
from eyeline.text.corpora.sample_treebank import sample_conllu
from tests.attack.damage import damaged
from tests.attack.family import Family

CONLL_2012 = """#begin document (x); part 000
x 0 0 Mary NNP - - - - - - (0)
x 0 1 left VBD - - - - - - -
x 0 2 . . - - - - - - -

x 0 0 She PRP - - - - - - (0)
x 0 1 slept VBD - - - - - - -
#end document
"""
JSON_LINES = json.dumps({"text": "The cat sat."}) + "\n" + json.dumps({"text": "It purred.", "pair": "A dog."}) + "\n"
MARKED = json.dumps({
    "id": "x", "tokens": ["Mary", "left", "She", "slept"], "sent_lens": [2, 2],
    "mentions": [{"start": 0, "end": 0, "cluster": 0}, {"start": 2, "end": 2, "cluster": 0}],
})  # fmt: skip
TREE = "1\ta\ta\tDET\tDT\t_\t2\tdet\t_\t_\n2\tcat\tcat\tNOUN\tNN\t_\t0\troot\t_\t_\n\n"
HOSTILE = {
    "a number of 5,000 digits.conllu": TREE.replace("\t2\tdet", f"\t{'9' * 5000}\tdet"),
    "an id of 5,000 digits.conllu": TREE.replace("1\ta", f"{'1' * 5000}\ta"),
    "a range of ids.conllu": "1-100000000\tab\t_\t_\t_\t_\t_\t_\t_\t_\n" + TREE,
    "other columns.conllu": "# global.columns = ID FORM\n" + TREE,
    "endless columns.conllu": "# global.columns = " + "X " * 10_000 + "\n" + TREE,
    "a field of a megabyte.conllu": TREE.replace("\tcat\t", f"\t{'c' * 1_000_000}\t", 1),
    "a cycle.conllu": TREE.replace("\t0\troot", "\t1\troot"),
    "its own governor.conllu": TREE.replace("\t2\tdet", "\t1\tdet"),
    "a format string.conllu": TREE.replace("cat", "{0.__class__}%s%n").replace("root", "{x}"),
    "nul characters.conllu": TREE.replace("cat", "c\0t"),
    "deep.jsonl": "[" * 100_000,
    "deep inside.jsonl": '{"text": ' + "[" * 100_000 + "]" * 100_000 + "}",
    "a number of 5,000 digits.jsonl": '{"text": ' + "9" * 5000 + "}",
    "infinite.jsonl": '{"text": Infinity}\n{"text": NaN}',
    "half a surrogate pair.jsonl": '{"text": "\\ud83d"}',
    "a long line.txt": "a" * 2_000_000,
    "zero-width.txt": "\u200b\u200c\u200d\ufeff " * 1000,
    "marks without letters.txt": "\u0301" * 5000,
    "a hostile span.jsonl": MARKED.replace('"end": 2', '"end": 99999999999'),
    "a negative span.jsonl": MARKED.replace('"start": 2', '"start": -2'),
    "brackets that never close.conll": CONLL_2012.replace("(0)", "(0", 1),
    "a cluster of 5,000 digits.conll": CONLL_2012.replace("(0)", f"({'7' * 5000})"),
}


def attack_texts(folder: Path, count: int) -> list[Family]:
    """Every reader of text: mutations of good files, and files written to hurt."""
    treebank = sample_conllu(6, seed=0)
    cases: list[tuple[str, bytes, Callable[[Path], Any]]] = [
        ("a.txt", b"The cat sat.\n\nIt purred.\n", read_all),
        ("a.jsonl", JSON_LINES.encode(), read_all),
        ("a.conllu", treebank.encode(), read_all),
        ("a.txt.gz", gzip.compress(b"The cat sat.\n\nIt purred.\n"), read_all),
        ("b.conllu", treebank.encode(), lambda path: el.treebanks.read_treebank(path)),
        ("b.conllu.gz", gzip.compress(treebank.encode()), lambda path: el.treebanks.read_treebank(path)),
        ("c.conllu", treebank.encode(), read_mentions),
        ("c.conll", CONLL_2012.encode(), read_mentions),
        ("c.jsonl", MARKED.encode(), read_mentions),
    ]
    mutated = Family("damaged texts, treebanks and coreference files", "our error, or a text")
    for name, data, read in cases:
        read(_written(folder / name, data))  # the good file is read
        for number, (what, changed) in enumerate(damaged(data, count, seed=len(data))):
            path = _written(folder / name, changed)
            mutated.check(f"{name}, {number}: {what}", lambda read=read, path=path: read(path) and None)
    written = Family("texts written to hurt", "our error, or a text")
    for name, text in HOSTILE.items():
        path = _written(folder / name.replace(" ", "-"), text.encode("utf-8", "surrogatepass"))
        for read in (read_all, lambda path: el.treebanks.read_treebank(path), read_mentions):
            written.check(name, lambda read=read, path=path: read(path) and None)
    return [mutated, written, attack_names(folder), attack_archives(folder), attack_bombs(folder), attack_unreadable(folder)]


def read_all(path: Path) -> Any:
    return [repr(document) for document in el.corpora.read_corpus(path)]


def read_mentions(path: Path) -> Any:
    return [repr(document) for document in el.mentions.read_coreference(path)]


def attack_names(folder: Path) -> Family:
    """Names of files that no file should have."""
    family = Family("hostile file names", "our error")
    names = ["a\0b.txt", "\udce9.txt", "x" * 5000 + ".txt", "", ".", "..", "no such folder/x.txt", "\x1b[31m.txt", "{0.__class__}.txt"]
    readers = [read_all, el.treebanks.read_treebank, read_mentions, el.open, el.traces.open_trace, el.runs.open_run, el.runs.open_space]
    for name in names:
        for read in readers:
            family.check(repr(name)[:40], lambda read=read, name=name: read(folder / name) and "read something")
    return family


def attack_archives(folder: Path) -> Family:
    """Small archives that grow: one member, many members, and members behind zero bytes."""
    family = Family("archives that grow past the limit", "counted as too large, or our error")
    most, member = 4 << 20, gzip.compress(bytes(6 << 20))
    archives = {
        "one member": gzip.compress(bytes(40 << 20)),
        "many members": gzip.compress(bytes(1 << 20)) * 40,
        "behind zero bytes": gzip.compress(b"a") + bytes(512) + member,
        "behind many zero bytes": (gzip.compress(b"a") + bytes(4096)) * 3 + member,
        "behind junk": gzip.compress(b"a") + b"junk" + member,
    }
    for name, data in archives.items():

        def attack(data: bytes = data) -> str | None:
            if unpacked_size(data, most) > most:
                return None
            path = _written(folder / "bomb.txt.gz", data)
            size = sum(len(text) for text in read_all(path))
            return f"{size:,} characters came out of an archive counted as {unpacked_size(data, most):,}" if size > most else None

        family.check(name, attack)
    family.check("a stream that is cut", lambda: read_all(_written(folder / "cut.txt.gz", member[: len(member) // 2])) and None)
    family.check("not deflated at all", lambda: read_all(_written(folder / "raw.txt.gz", zlib.compress(b"a"))) and None)
    return family


#: How much memory the reading of a small file may take, in bytes.
MOST_MEMORY = 1 << 30


def attack_bombs(folder: Path) -> Family:
    """Small files that grow: in zstd, gzip, zip, Parquet; as one line, as many, as one text for all rows."""
    import pyarrow as arrow
    from pyarrow import parquet

    family = Family("texts that grow when they are unpacked", f"our error, or all texts, within {MOST_MEMORY >> 20} MB of memory")
    zstd, mebibyte = import_zstd(), b"a" * (1 << 20)
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", mebibyte * 200)
    window = {zstd.CompressionParameter.window_log: 30, zstd.CompressionParameter.enable_long_distance_matching: 1}
    lines = b"a" * 999 + b"\n"
    files = {
        "line.txt.zst": zstd.compress(mebibyte * 400), "lines.txt.zst": zstd.compress((lines + b"\n") * 200_000),
        "frames.txt.zst": zstd.compress(lines) * 1000, "window.txt.zst": zstd.compress(lines * 1000, options=window),
        "line.jsonl.zst": zstd.compress(b'{"text": "' + mebibyte * 100 + b'"}'), "line.csv.zst": zstd.compress(b"text\n" + mebibyte * 400),
        "line.conllu.zst": zstd.compress(mebibyte * 400), "line.txt.gz": gzip.compress(mebibyte * 400),
        "zip.txt": zipped.getvalue(), "zip.jsonl": zipped.getvalue(), "zip.txt.gz": zipped.getvalue(), "zip.txt.zst": zipped.getvalue(),
        "zip.parquet": zipped.getvalue(), "zip.conll": zipped.getvalue(), "a.zip": zipped.getvalue(),
    }  # fmt: skip
    for name, data in files.items():
        _written(folder / name, data)
    long = "a" * (1 << 20)
    parquet.write_table(arrow.table({"text": [long] * 1500}), folder / "same.parquet", compression="zstd")
    parquet.write_table(arrow.table({"text": [long] * 200}), folder / "small.parquet", compression="none")
    other = arrow.table({"text": [f"{long}{number}" for number in range(1500)]})
    parquet.write_table(other, folder / "other.parquet", compression="zstd", use_dictionary=False)
    for path in [*(folder / name for name in files), *folder.glob("*.parquet")]:
        for read in (read_all, el.treebanks.read_treebank, read_mentions):
            family.check(f"{path.name} ({path.stat().st_size:,} bytes)", partial(within_memory, read, path))
    return family


def within_memory(read: Callable[[Path], Any], path: Path) -> str | None:
    """Read in a child process; what was wrong, or None."""
    ours, theirs = multiprocessing.get_context("fork").Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=_read_and_say, args=(read, path, theirs))
    child.start()
    child.join(300)
    return ours.recv() if ours.poll() else f"ended with {child.exitcode} and no word"


def _read_and_say(read: Callable[[Path], Any], path: Path, say: Connection) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    family = Family("", "")
    family.check(path.name, lambda: read(path) and None)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    say.send(next(iter(family.failures), f"took {grown >> 20:,} MB" if grown > MOST_MEMORY else None))


def attack_unreadable(folder: Path) -> Family:
    """Files that can be opened and not read: every reader, under every ending."""
    family = Family("files whose bytes cannot be read", "our error")
    endings = ("txt", "jsonl", "conllu", "csv", "tsv", "parquet", "arrow", "conll", "txt.gz", "jsonl.zst", "safetensors", "gguf", "json")
    readers = (read_all, el.treebanks.read_treebank, read_mentions, el.open, el.traces.open_trace, el.runs.open_space, el.load, file_hash)
    for ending in endings:
        path = folder / f"unreadable.{ending}"
        path.symlink_to("/proc/self/mem")
        for read in readers:
            family.check(f"{ending}, {read.__name__}", lambda read=read, path=path: "read something" if read(path) else None)
    return family


def _written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path
