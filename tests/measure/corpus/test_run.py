"""A run: counted, resumable after a kill, one at a time in a folder, and the same whatever happened on the way."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save

import eyeline as el
from eyeline.corpora import Corpus, read_corpus
from eyeline.errors import EyelineError, ModelError, StorageError, TextError, TraceError
from eyeline.measure.runs.facts import EngineFacts, facts_from_json, facts_to_json
from eyeline.measure.statistics import agreement, loop, prepare
from eyeline.measure.statistics.loop import FILE
from eyeline.models import tracing as tracing_module
from eyeline.statistics import AverageAttention, Entropy, HeadDistances, Importance
from tests.laws.statistics import tiny_model

WORDS = ["the cat sat on the mat .", "a dog ran home", "it purred , and sat", "the dog and the cat ran a very long way home ."]
TEXTS = [f"{WORDS[i % 4]} {WORDS[(i // 4) % 4]}" for i in range(40)]
#: Runs TEXTS once for each number given, in a process of its own that kills itself, as the system would, after so many batches.
SCRIPT = textwrap.dedent("""
    import os, signal, sys
    from pathlib import Path
    from tests.measure.corpus.test_run import in_small_batches
    for kill_after in map(int, sys.argv[2:]):
        child = os.fork()
        if not child:
            in_small_batches(Path(sys.argv[1]) / f"killed{kill_after}", kill_after)
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""")


def in_small_batches(folder: Path, kill_after: int = -1, *, resume: bool = False) -> int:
    """Groups of 8 texts in batches of 3, saved after each batch; how many batches were run."""
    batches = 0

    def progress(_: object) -> None:
        nonlocal batches
        batches += 1
        if batches == kill_after:
            os.kill(os.getpid(), signal.SIGKILL)

    statistics = [AverageAttention(), Entropy(), HeadDistances(), Importance()]
    with pytest.MonkeyPatch.context() as patch:
        for module, name, value in ((loop, "SAVE_EVERY", 0.0), (loop, "GROUP", 8), (tracing_module, "BATCH_TEXTS", 3)):
            patch.setattr(module, name, value)
        el.analyse(tiny_model(), TEXTS, statistics, folder=folder, resume=resume, progress=progress)
    return batches


@pytest.mark.slow
def test_a_killed_run_resumes_to_the_same_numbers(tmp_path: Path) -> None:
    kills = (1, 4)  # within the first group, and in a later one
    root = str(Path(__file__).parents[3])
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([root, *sys.path])}
    command = [sys.executable, "-c", SCRIPT, str(tmp_path), *map(str, kills)]
    killed = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert killed.stdout.split() == [str(-signal.SIGKILL)] * len(kills), killed.stderr
    whole = in_small_batches(tmp_path / "whole")
    assert whole == 15  # five groups of three batches
    for kill_after in kills:
        folder = tmp_path / f"killed{kill_after}"
        assert in_small_batches(folder, resume=True) == whole - kill_after  # it went on, rather than starting over
        result, expected = (load_file(path / "statistics.safetensors") for path in (folder, tmp_path / "whole"))
        assert result.keys() == expected.keys()
        for name, values in expected.items():
            np.testing.assert_array_equal(result[name], values, err_msg=name)


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "SAVE_EVERY", 0.0)
    monkeypatch.setattr(loop, "GROUP", 4)


class StopError(Exception):
    """The run is interrupted here."""


def interrupted(folder: Path, texts: list[str] | Corpus, statistics: list, **options) -> None:  # type: ignore[no-untyped-def, type-arg]
    def stop(_: object) -> None:
        raise StopError

    with pytest.raises(StopError):
        el.analyse(tiny_model(), texts, statistics, folder=folder, progress=stop, **options)


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"texts": ["another text", *TEXTS[1:]]}, "The corpus has changed"),
        ({"max_tokens": 20}, "other options"),
        ({"seed": 1}, "other options"),
        ({"layers": [0]}, "other options"),
        ({"statistics": [Entropy(smoothing=0.1)]}, "other analyses"),
    ],
    ids=["corpus", "max_tokens", "seed", "layers", "statistics"],
)
def test_a_run_that_is_not_the_same_is_not_resumed(tmp_path: Path, change: dict, message: str) -> None:  # type: ignore[type-arg]
    interrupted(tmp_path, TEXTS, [Entropy()])
    change = dict(change)
    texts, statistics = change.pop("texts", TEXTS), change.pop("statistics", [Entropy()])
    with pytest.raises(StorageError, match=message):
        el.analyse(tiny_model(), texts, statistics, folder=tmp_path, resume=True, **change)


@pytest.mark.usefixtures("often")
def test_a_corpus_that_is_read_otherwise_is_another_corpus(tmp_path: Path) -> None:
    file = tmp_path / "corpus.txt"
    file.write_text("the cat sat\n\na dog ran\n")  # two documents, by line or by paragraph
    interrupted(tmp_path / "run", read_corpus(file, paragraphs="line"), [Entropy()])
    with pytest.raises(StorageError, match="The corpus has changed"):
        el.analyse(tiny_model(), read_corpus(file, paragraphs="blank"), [Entropy()], folder=tmp_path / "run", resume=True)


@pytest.mark.usefixtures("often")
def test_an_unfinished_run_is_not_overwritten(tmp_path: Path) -> None:
    interrupted(tmp_path, TEXTS, [Entropy()])
    with pytest.raises(StorageError, match="an unfinished run"):
        el.analyse(tiny_model(), TEXTS, [Entropy()], folder=tmp_path)


def test_two_runs_into_one_folder_the_second_is_refused(tmp_path: Path) -> None:
    text = []

    def second(_: object) -> None:
        with pytest.raises(StorageError, match="another run is writing here"):
            el.analyse(tiny_model(), TEXTS, [Entropy()], folder=tmp_path)
        text.append(True)

    el.analyse(tiny_model(), TEXTS, [Entropy()], folder=tmp_path, progress=second)
    assert text


@pytest.mark.usefixtures("often")
def test_damaged_sums_are_refused_by_name(tmp_path: Path) -> None:
    interrupted(tmp_path, TEXTS, [Entropy()])
    file = tmp_path / "statistics.safetensors"
    data = bytearray(file.read_bytes())
    data[-3] ^= 0xFF
    file.write_bytes(data)
    with pytest.raises(StorageError, match="damaged"):
        el.analyse(tiny_model(), TEXTS, [Entropy()], folder=tmp_path, resume=True)


@pytest.mark.usefixtures("often")
def test_a_full_disk_keeps_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from eyeline.storage import sealed

    interrupted(tmp_path, TEXTS, [Entropy()])
    before = (tmp_path / "statistics.safetensors").read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(sealed, "save_file", full)
        with pytest.raises(StorageError, match="No space left on device"):
            el.analyse(tiny_model(), TEXTS, [Entropy()], folder=tmp_path, resume=True)
    assert (tmp_path / "statistics.safetensors").read_bytes() == before
    run = el.analyse(tiny_model(), TEXTS, [Entropy()], folder=tmp_path, resume=True)
    assert run.facts.counts["texts"] == len(TEXTS)


@pytest.mark.parametrize("is_new", [True, False], ids=["new", "empty"])
def test_a_full_disk_leaves_nothing_of_a_run_in_a_new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_new: bool) -> None:
    from eyeline.storage import sealed

    folder = tmp_path / "run"
    if not is_new:
        folder.mkdir()

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(sealed, "save_file", full)
    with pytest.raises(StorageError, match="No space left on device"):
        el.analyse(tiny_model(), TEXTS, [Entropy()], folder=folder)
    assert list(tmp_path.rglob("*")) == ([] if is_new else [folder])


def test_a_finished_run_that_is_opened_again_keeps_where_it_was_computed(tmp_path: Path) -> None:
    el.analyse(tiny_model(), TEXTS, [Entropy()], folder=tmp_path)
    saved = loop.load_state(tmp_path, [Entropy()])
    assert saved is not None
    engine = EngineFacts("processes", workers=2, threads=1, machines=1, shards=5, documents_in_a_shard=8)
    loop.save_state(tmp_path, saved.statistics, saved.facts, replace(saved.position, engine=engine))
    for _ in range(2):
        assert el.analyse(tiny_model(), TEXTS, [Entropy()], folder=tmp_path, resume=True).facts.engine == engine


def test_long_documents_are_skipped_and_counted() -> None:
    run = el.analyse(tiny_model(), [*TEXTS[:3], " ".join(["cat"] * 100)], [Entropy()])
    assert run.facts.counts == {"documents": 4, "texts": 3, "too_long": 1, "tokens": run.facts.counts["tokens"]}


def test_texts_too_long_for_one_statistic_are_missing_there_alone_and_counted() -> None:
    run = el.analyse(tiny_model(), TEXTS[:8], [Entropy(), HeadDistances(longest=14), Importance(longest=14)])
    lengths = [len(tiny_model().read(text).source) for text in TEXTS[:8]]
    left_out = sum(length > 14 for length in lengths)
    assert 0 < left_out < 8
    assert list(run.facts.notices) == [
        f"{left_out} of 8 texts are too long or too short for {name} and missing there alone." for name in ("distances", "importance")
    ]
    short = el.analyse(tiny_model(), [t for t, length in zip(TEXTS, lengths, strict=False) if length <= 14], [HeadDistances()])
    np.testing.assert_allclose(run.table("distances")["L0·H1"], short.table("distances")["L0·H1"], atol=1e-6)


def test_windows_cover_a_long_document() -> None:
    run = el.analyse(tiny_model(), [" ".join(["cat"] * 100)], [Entropy()], window=True)
    assert run.facts.counts == {"documents": 1, "texts": 3, "windows": 3, "tokens": 100 + 3 * 2}


def test_a_word_longer_than_a_window_fills_several_and_nothing_is_lost() -> None:
    run = el.analyse(tiny_model(), ["cat" + "o" * 97], [Entropy()], window=True)  # cat ##o ##o …; in a window of its own `o` is unknown
    assert run.facts.counts == {"documents": 1, "texts": 3, "windows": 3, "tokens": run.facts.counts["tokens"], "unknown": 2}
    assert list(run.facts.notices) == []


def test_a_given_word_longer_than_a_window_is_cut_and_that_is_said() -> None:
    run = el.analyse(tiny_model(), [["the", "cat" + "o" * 97, "sat"]], [Entropy()], window=True)
    assert list(run.facts.notices) == ["52 tokens of words that are longer than a window are missing."]


def test_a_document_that_cannot_be_read_counts_once_however_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepare, "AT_ONCE", 2000)
    unknown = "猫" * 6000  # one word without a token
    counts = el.analyse(tiny_model(), ["the cat", unknown], [Entropy()], window=True).facts.counts
    assert (counts["documents"], counts["texts"], counts["unreadable"]) == (2, 1, 1)
    run = el.analyse(tiny_model(), [f"the cat sat {unknown}"], [Entropy()], window=True)
    assert "unreadable" not in run.facts.counts
    assert list(run.facts.notices) == ["3 pieces of long documents cannot be read as text and are missing."]


def test_documents_of_one_sentence_make_no_pairs_and_that_is_said() -> None:
    with pytest.raises(TextError, match="No document of texts has two sentences"):
        el.analyse(tiny_model(), ["the cat sat .", "a dog ran"], [Entropy()], pairs=True)


def test_the_example_is_a_text_worth_looking_at() -> None:
    short, long = "the cat sat .", "the dog and the cat ran a very long way home . " * 2
    for texts, shown in (([short, long, f"it purred . {long}"], long), (["dog", short], short)):
        example = el.analyse(tiny_model(), texts, [Entropy()]).example
        assert example is not None
        assert example.stacks["encoder"].query_text.sources == (shown,)


def test_a_corpus_of_nothing_but_long_documents_says_so() -> None:
    with pytest.raises(TextError, match=r"None of the 1 documents.*\n.*1 are longer than 48 tokens"):
        el.analyse(tiny_model(), [" ".join(["cat"] * 100)], [Entropy()])


def test_a_limit_is_a_seeded_choice() -> None:
    tokens = [el.analyse(tiny_model(), TEXTS, [Entropy()], limit=5, seed=seed).facts.counts["tokens"] for seed in (1, 1, 2, 3)]
    assert tokens[0] == tokens[1]
    assert len(set(tokens)) > 1


def test_only_the_layers_asked_for_are_analysed() -> None:
    run = el.analyse(
        tiny_model(),
        TEXTS[:4],
        [AverageAttention(), Entropy(), HeadDistances(), Importance()],
        layers=[2],
    )
    for name in ("average_attention", "entropy", "importance", "head_map"):
        assert set(run.table(name)["layer"]) == {2}
    assert len(run.table("distances")) == 4


def test_a_model_without_a_loss_is_told_what_is_missing_and_the_rest_goes_on(minilm: el.Model) -> None:
    run = el.analyse(minilm, TEXTS[:2], [Entropy(), Importance()])
    assert len(run.table("entropy")) == 72
    assert "no language-modelling head" in run.facts.left_out["importance"]
    with pytest.raises(TraceError, match="no language-modelling head"):
        run.table("importance")
    with pytest.raises(ModelError, match="BertModel"):
        el.analyse(minilm, TEXTS[:2], [Importance()])


def test_where_the_forms_disagree_the_maps_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agreement, "difference", lambda *_, **__: 2.0)
    dense = el.analyse(tiny_model(), TEXTS[:4], [Entropy()])
    monkeypatch.undo()
    streamed = el.analyse(tiny_model(), TEXTS[:4], [Entropy()])
    assert (len(dense.facts.notices), len(streamed.facts.notices)) == (1, 0)
    assert "differs from the layer's own maps" in dense.facts.notices[0]
    np.testing.assert_allclose(dense.table("entropy")["all"], streamed.table("entropy")["all"], atol=1e-5)


def test_provenance_names_model_corpus_and_versions(minilm: el.Model) -> None:
    facts = el.analyse(minilm, TEXTS[:2], [Entropy()]).facts
    assert facts.model.name == "minilm"
    assert facts.model.sha256 == minilm.identity()
    assert len(facts.corpus.sha256) == 64
    assert facts.corpus.unit == "text"
    assert facts.options.seed == 0
    assert {"eyeline", "torch", "transformers", "numpy", "python"} <= set(facts.versions)
    assert facts_from_json(json.loads(json.dumps(facts_to_json(facts)))) == facts


@pytest.mark.parametrize(
    ("texts", "options"),
    [([], {}), (TEXTS, {"limit": 0}), (TEXTS, {"max_tokens": 2}), (TEXTS, {"layers": [9]})],
    ids=["empty", "limit", "max_tokens", "layers"],
)
def test_impossible_requests_are_refused(texts: list[str], options: dict) -> None:  # type: ignore[type-arg]
    with pytest.raises(EyelineError):
        el.analyse(tiny_model(), texts, [Entropy()], **options)


def test_a_file_of_somebody_else_under_the_name_of_the_sums_is_not_removed(tmp_path: Path) -> None:
    for content in (b"my statistics", save({"a": np.zeros(3)})):
        (tmp_path / FILE).write_bytes(content)
        with pytest.raises(StorageError, match="not the sums of a run"):
            el.analyse(tiny_model(), ["the cat sat ."], [el.statistics.Entropy()], folder=tmp_path, overwrite=True)
        assert (tmp_path / FILE).read_bytes() == content
