"""Many files as one corpus, packed files, and files that are elsewhere: an S3 server and a web server on loopback."""

from __future__ import annotations

import functools
import gzip
import http.server
import json
import socket
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

import eyeline as el
from eyeline.corpora import read_corpus
from eyeline.errors import EyelineError, TextError
from eyeline.text.corpora import files as corpus_files
from eyeline.text.corpora import tables
from eyeline.text.corpora.files import file_hash, import_zstd

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed (make setup)")
import pyarrow.parquet  # noqa: E402


def lines(*texts: str) -> bytes:
    return "".join(json.dumps(text) + "\n" for text in texts).encode()


def zstd(data: bytes) -> bytes:
    return bytes(import_zstd().compress(data))


def items(given: str | Path, **options: str) -> list[object]:
    return [document.item for document in read_corpus(given, **options)]


def test_a_folder_and_a_pattern_are_one_corpus_in_the_order_of_names(tmp_path: Path) -> None:
    (tmp_path / "data" / "more").mkdir(parents=True)
    (tmp_path / "data" / "b.jsonl").write_bytes(lines("3"))
    (tmp_path / "data" / "a.jsonl.gz").write_bytes(gzip.compress(lines("1", "2")))
    (tmp_path / "data" / "more" / "c.jsonl.zst").write_bytes(zstd(lines("4")) + zstd(lines("5")))  # two frames, as `zstd` itself appends
    (tmp_path / "data" / "README").write_text("no corpus")
    (tmp_path / "data" / ".hidden.jsonl").write_text("no JSON")
    assert items(tmp_path / "data") == ["1", "2", "3", "4", "5"]
    assert items(str(tmp_path / "data" / "*.jsonl*")) == ["1", "2", "3"]
    assert items(str(tmp_path / "*" / "more" / "?.jsonl.zst")) == ["4", "5"]
    corpus = read_corpus(tmp_path / "data")
    assert (corpus.name, len(corpus)) == ("data (3 files)", 5)


def test_a_pattern_is_read_from_the_working_folder_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.txt").write_text("one\n")
    monkeypatch.chdir(tmp_path)
    assert items("data/*.txt") == items("*/a.txt") == items("data") == ["one"]
    (tmp_path / "odd[1].txt").write_text("a file whose name has brackets\n")
    assert items("odd[1].txt") == ["a file whose name has brackets"]


def test_files_of_several_kinds_no_files_and_a_folder_of_others_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    (tmp_path / "b.jsonl").write_bytes(lines("two"))
    with pytest.raises(TextError, match=r"several kinds: \.jsonl, \.txt"):
        read_corpus(tmp_path)
    with pytest.raises(TextError, match="no file matches"):
        read_corpus(tmp_path / "*.csv")
    (tmp_path / "empty").mkdir()
    with pytest.raises(TextError, match="without a corpus file"):
        read_corpus(tmp_path / "empty")


def test_a_damaged_zst_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt.zst").write_bytes(b"not zstd")
    (tmp_path / "b.txt.zst").write_bytes(zstd(b"a line\n" * 10_000)[:-4])
    for name in ("a.txt.zst", "b.txt.zst"):
        with pytest.raises(TextError, match=name):
            read_corpus(tmp_path / name)


def test_opening_and_reading_a_text_file_reads_its_bytes_twice_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once to count, check and hash it, once for the run; the guess looks at the first 1,000 lines alone."""
    path = tmp_path / "x.txt"
    path.write_text("".join(f"A line of text with the number {i}.\n" for i in range(100_000)))
    taken = 0
    original = corpus_files.SourceFile.open_packed

    class Counting:
        def __init__(self, file: object) -> None:
            self.file = file

        def __getattr__(self, name: str) -> object:
            return getattr(self.file, name)

        def __enter__(self) -> Counting:
            return self

        def __exit__(self, *error: object) -> None:
            self.file.close()

        def readline(self, *size: int) -> bytes:
            nonlocal taken
            line = self.file.readline(*size)
            taken += len(line)
            return line

    monkeypatch.setattr(corpus_files.SourceFile, "open_packed", lambda self: Counting(original(self)))
    corpus = read_corpus(path)
    assert sum(1 for _ in corpus) == 100_000
    assert 2 * path.stat().st_size <= taken <= 2.02 * path.stat().st_size


@pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
def test_ten_times_the_corpus_takes_no_more_memory(tmp_path: Path, ending: str) -> None:
    def peak(n: int) -> int:
        path = tmp_path / f"{n}{ending}"
        texts = [f"document {i} " * 20 for i in range(n)]
        if ending == ".parquet":
            pyarrow.parquet.write_table(pa.table({"text": texts}), path, row_group_size=1000)
        else:
            path.write_bytes(lines(*texts))
        del texts
        tracemalloc.start()
        for _ in read_corpus(path):
            pass
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(100)  # what is imported and compiled once
    assert peak(40_000) < 1.5 * peak(4_000)


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """An S3 server on loopback, with a bucket."""
    moto = pytest.importorskip("moto.server", reason="moto is not installed (make setup)")
    pytest.importorskip("s3fs", reason="s3fs is not installed (make setup)")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "test")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        import s3fs

        s3fs.S3FileSystem.clear_instance_cache()
        system = s3fs.S3FileSystem()
        system.mkdir("corpora")
        system.pipe("corpora/a/1.jsonl", lines("one", "two"))
        system.pipe("corpora/a/2.jsonl.gz", gzip.compress(lines("three")))
        sink = pa.BufferOutputStream()
        pyarrow.parquet.write_table(pa.table({"text": ["p", "q"], "n": [1, 2]}), sink)
        system.pipe("corpora/table.parquet", sink.getvalue().to_pybytes())
        yield "s3://corpora"
        s3fs.S3FileSystem.clear_instance_cache()
    server.stop()


def test_files_of_an_s3_server_are_read_by_address_pattern_and_folder(bucket: str) -> None:
    assert items(f"{bucket}/a/1.jsonl") == ["one", "two"]
    assert items(f"{bucket}/a/*.jsonl*") == items(f"{bucket}/a") == ["one", "two", "three"]
    assert items(f"{bucket}/table.parquet") == ["p", "q"]
    first, second = read_corpus(f"{bucket}/a/1.jsonl"), read_corpus(f"{bucket}/a/1.jsonl")
    assert first.sha256 == second.sha256 != read_corpus(f"{bucket}/a/2.jsonl.gz").sha256
    assert first.name == "1.jsonl"


def test_what_an_s3_server_does_not_have_is_named(bucket: str) -> None:
    with pytest.raises(TextError, match=r"s3://corpora/none.jsonl: no such file"):
        read_corpus(f"{bucket}/none.jsonl")
    with pytest.raises(TextError, match=r"s3://nobucket/x.jsonl"):
        read_corpus("s3://nobucket/x.jsonl")


def test_a_store_that_does_not_answer_is_an_error_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("s3fs", reason="s3fs is not installed (make setup)")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{closed.getsockname()[1]}")
        monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "test")
        import s3fs

        s3fs.S3FileSystem.clear_instance_cache()
        with pytest.raises(TextError, match=r"(?s)s3://corpora/x.jsonl.*Check the address, whether its server runs"):
            read_corpus("s3://corpora/x.jsonl")
        s3fs.S3FileSystem.clear_instance_cache()


def test_a_web_address_is_read_and_its_password_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress(lines("from the web")))
    quiet = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(quiet, directory=str(tmp_path))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/x.jsonl.gz"
        assert items(address) == ["from the web"]
        with pytest.raises(TextError) as error:
            read_corpus(f"http://me:secret@127.0.0.1:{server.server_port}/none.jsonl")
        assert "secret" not in str(error.value)
        server.shutdown()


def test_a_protocol_that_nobody_knows_is_named() -> None:
    with pytest.raises(TextError, match="nothing://x"):
        read_corpus("nothing://x/y.txt")


def test_an_address_whose_package_is_missing_names_that_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gcsfs", None)  # as where it is not installed
    with pytest.raises(EyelineError, match=r"(?s)gs://bucket/x.jsonl.*gcsfs.*install the package that is named here"):
        read_corpus("gs://bucket/x.jsonl")


def test_a_parquet_file_that_grows_beyond_measure_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "LONGEST_LINE", 1 << 20)
    texts = ["a" * (1 << 16) + str(i) for i in range(200)]
    pa.parquet.write_table(pa.table({"text": texts}), tmp_path / "x.parquet", compression="zstd", use_dictionary=False)
    with pytest.raises(TextError, match=r"would grow from [\d,]+ to 13,\d{3},\d{3} bytes"):
        items(tmp_path / "x.parquet")
    pa.parquet.write_table(pa.table({"text": texts}), tmp_path / "y.parquet", compression="none", use_dictionary=False)
    assert items(tmp_path / "y.parquet") == texts


def test_few_rows_of_long_texts_are_read_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "BYTES", 1 << 20)
    texts = ["a" * (1 << 20)] * 50  # one text, stored once
    pa.parquet.write_table(pa.table({"text": texts}), tmp_path / "x.parquet")
    before = pa.total_allocated_bytes()
    largest = max(pa.total_allocated_bytes() - before for _ in read_corpus(tmp_path / "x.parquet"))
    assert largest < 40 << 20


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="only Linux has a file whose bytes cannot be read: /proc/self/mem")
@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.csv", "a.conllu", "a.txt.gz", "a.jsonl.zst", "a.parquet", "a.arrow", "a.conll"])
def test_a_read_error_is_our_error(tmp_path: Path, name: str) -> None:
    (tmp_path / name).symlink_to("/proc/self/mem")
    with pytest.raises(EyelineError, match="cannot be read"):
        items(tmp_path / name)
    for read in (el.treebanks.read_treebank, lambda path: list(el.mentions.read_coreference(path)), el.open, file_hash):
        with pytest.raises(EyelineError):
            read(tmp_path / name)
