"""Every analysis on every engine: the numbers do not depend on how many workers there are, nor on which of them die."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eyeline as el
from eyeline.errors import EyelineError, TextError
from eyeline.measure.engines.local import PartsOutcome, run_parts
from eyeline.measure.engines.processes import Engine
from eyeline.measure.engines.work import Part, ShardResult, Work, parts_of
from eyeline.measure.runs.progress import Progress
from tests.laws.statistics import tiny_model
from tests.measure.engines.fake_engine import Pretended
from tests.measure.engines.small_run import TEXTS, importable_tests, saved_model, small_shards

TREES = [
    (("the", "cat", "sat", "."), (1, 2, -1, 2), ("det", "nsubj", "root", "punct")),
    (("a", "dog", "ran", "home", "!"), (1, 2, -1, 2, 2), ("det", "nsubj", "root", "advmod", "punct")),
    (("it", "purred", "?"), (1, -1, 1), ("nsubj", "root", "punct")),
    (("the", "dog", "and", "cat", "ran"), (1, 4, 3, 1, -1), ("det", "nsubj", "cc", "conj", "root")),
    (("a", "very", "long", "way"), (3, 2, 3, -1), ("det", "advmod", "amod", "root")),
]
SENTENCES = [el.treebanks.Sentence(f"s{i}", *TREES[i % 5]) for i in range(30)]
STORIES = [
    el.mentions.MarkedDocument(
        f"d{i}",
        (("the", "cat", "sat", "on", "a", "mat", "."), ("it", "purred", *(["very"] * (i % 4)), "and", "the", "cat", "ran", ".")),
        (
            el.mentions.Mention(0, 1, 1, 0, "nominal"),
            el.mentions.Mention(4, 5, 5, 1, "nominal"),
            el.mentions.Mention(7, 7, 7, 0, "pronoun"),
            el.mentions.Mention(10 + i % 4, 11 + i % 4, 11 + i % 4, 0, "nominal"),
        ),
    )
    for i in range(20)
]
Where = Engine | str
FEW = TEXTS[:20]


def syntax(engine: Where, **options: Any) -> el.Run:
    return el.syntax(tiny_model(), SENTENCES, min_count=1, engine=engine, **options)


def coreference(engine: Where, **options: Any) -> el.Run:
    return el.coreference(tiny_model(), STORIES, engine=engine, **options)


def probe(engine: Where, **options: Any) -> el.Run:
    return el.probe(tiny_model(), SENTENCES, seeds=1, epochs=1, engine=engine, **options)


def space(engine: Where, of: str = "queries-keys", **options: Any) -> Any:
    return el.space(tiny_model(), FEW, of=of, project="pca", gauge="none", layers=[0, 2], heads=[1, 2], engine=engine, **options)


#: Those whose shards are the batches of the local engine: nothing at all differs.
SAME_AS_LOCAL: dict[str, Callable[..., Any]] = {
    "syntax": syntax,
    "coreference": coreference,
    "probe": probe,
    "space": space,
    "space of values": lambda engine, **options: space(engine, "values", **options),
    "shared space": lambda engine, **options: space(engine, "shared", **options),
}
#: Those that add sums in shards: the local engine adds in another order.
ADDED: dict[str, Callable[[Where], el.Run]] = {
    "analyse": lambda engine: el.analyse(tiny_model(), FEW, [el.statistics.Entropy(), el.statistics.AverageAttention()], engine=engine),
    "causes": lambda engine: el.causes(tiny_model(), TEXTS[:10], pruning=False, engine=engine),
    "faithfulness": lambda engine: el.analyse(tiny_model(), TEXTS[:10], [el.attributions.Faithfulness(["gradient"])], engine=engine),
}


@pytest.fixture(autouse=True)
def shards_of_eight() -> Iterator[None]:
    with small_shards():
        yield


def tables(result: Any) -> dict[str, el.runs.Table]:
    if isinstance(result, el.Run):
        return dict(result.tables)
    return {"space": result.table()}


def numbers(result: Any) -> dict[str, list[str]]:
    """Every cell of every table, floats to the last bit; of a space, every point too."""
    cells = {
        name: [cell.hex() if isinstance(cell, float) else str(cell) for row in table.rows() for cell in row.values()]
        for name, table in tables(result).items()
    }
    if not isinstance(result, el.Run):
        cells["points"] = [stack.keys.tobytes().hex() for stack in result.stacks.values()]
    return cells


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow if name == "space" else ()) for name in SAME_AS_LOCAL])
def test_workers_that_die_change_no_bit_of_what_one_process_gives(name: str):
    local, seen = SAME_AS_LOCAL[name]("local"), list[Progress]()
    assert local.facts.engine is None
    for workers, seed in ((1, 0), (2, 1), (4, 2)):
        result = SAME_AS_LOCAL[name](Pretended(workers, seed, deaths=2), progress=seen.append)
        assert numbers(result) == numbers(local)
        assert result.facts.counts == local.facts.counts
        assert result.facts.engine is not None
        assert (result.facts.engine.workers, result.facts.engine.retries > 0) == (workers, True)
    assert any(progress.workers is not None for progress in seen)


@pytest.mark.parametrize("name", ADDED)
def test_sums_of_shards_are_the_same_for_any_number_of_workers_and_near_those_of_one_process(name: str):
    runs = [ADDED[name](Pretended(workers, workers, deaths=2)) for workers in (1, 2, 4)]
    assert numbers(runs[0]) == numbers(runs[1]) == numbers(runs[2])
    for table, local in tables(ADDED[name]("local")).items():
        for column, values in local.columns.items():
            if isinstance(values[0], float):
                np.testing.assert_allclose(runs[0].table(table)[column], local[column], rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["syntax", "coreference", "space of values"])
def test_a_text_that_breaks_its_workers_is_named_counted_and_in_no_number(name: str):
    poison = {"syntax": "s7", "coreference": "d7, words 1 to 17", "space of values": "document 8 (line 8)"}[name]
    run = SAME_AS_LOCAL[name](Pretended(2, poison={poison}))
    assert run.facts.dropped["broke"] == {poison: "RuntimeError: it hurts"}
    assert run.facts.counts["broke"] == 1
    local = SAME_AS_LOCAL[name]("local")
    if name == "syntax":
        assert run.facts.counts["sentences"] == 29
        without = el.syntax(tiny_model(), [sentence for sentence in SENTENCES if sentence.id != poison], min_count=1)
        assert run.table("syntax").columns["count"] == without.table("syntax").columns["count"]
    elif name == "coreference":
        assert run.facts.counts["mentions"] == local.facts.counts["mentions"] - 2
        assert len(run.table("coreference")) == len(local.table("coreference"))
    else:
        assert run.facts.counts["texts"] == 19
        assert len(run.only.key_tokens) == len(local.only.key_tokens) - len(tiny_model().read(TEXTS[7]).source)


def test_a_sentence_that_breaks_the_workers_of_a_probe_is_an_error_that_names_it():
    with pytest.raises(TextError, match=r"(?s)Sentence s7 broke the worker that read it, twice.*Leave it out"):
        probe(Pretended(2, poison={"s7"}))


def test_texts_that_all_break_their_workers_are_an_error():
    with pytest.raises(TextError, match=r"(?s)Each of the 20 texts of .* broke its worker.*The first: document \d+ \(line"):
        space(Pretended(2, poison={f"document {i} (line {i})" for i in range(1, 21)}))


@pytest.mark.parametrize("name", [*SAME_AS_LOCAL, *ADDED])
def test_an_engine_that_cannot_work_is_refused_before_the_model_runs(name: str):
    with pytest.raises(EyelineError, match="0 workers"):
        {**SAME_AS_LOCAL, **ADDED}[name](el.runs.Processes(0))


# An analysis of ten lines, which has no word about engines but the name that it passes on.


@dataclass(frozen=True)
class CountLooks(Work[Part[str], np.ndarray]):
    def open(self, model: el.Model) -> Callable[[Part[str]], ShardResult[np.ndarray]]:
        def compute(part: Part[str]) -> ShardResult[np.ndarray]:
            weights = [trace.weights for trace in model.traces(part.items, keep={"weights"})]
            return ShardResult(sum((each.max(-1).sum(-1) for each in weights), np.zeros(1)), sum(each.shape[-1] for each in weights))

        return compute


def sharpness(model: el.Model, texts: list[str], engine: Where = "local") -> tuple[np.ndarray, PartsOutcome]:
    sums: list[np.ndarray] = []
    parts = parts_of(texts, [range(start, min(start + 7, len(texts))) for start in range(0, len(texts), 7)])
    outcome = run_parts(CountLooks(), model, parts, lambda part, looks: sums.append(looks), engine)
    return np.sum(sums, 0), outcome


def test_an_analysis_of_ten_lines_runs_on_every_engine_without_a_word_about_them():
    local, _ = sharpness(tiny_model(), TEXTS)
    for workers in (1, 2, 4):
        by_workers, outcome = sharpness(tiny_model(), TEXTS, Pretended(workers, seed=workers, deaths=2))
        assert (by_workers == local).all()
        assert outcome.engine is not None
        assert (outcome.engine.shards, outcome.engine.documents_in_a_shard, outcome.engine.retries > 0) == (9, 7, True)
    _, outcome = sharpness(tiny_model(), TEXTS, Pretended(2, poison={"text 5"}))
    assert outcome.left_out == {4}


@pytest.mark.slow
def test_the_same_ten_lines_run_by_two_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    importable_tests(monkeypatch)
    model = el.load(saved_model(tmp_path))
    assert (sharpness(model, TEXTS, el.runs.Processes(2))[0] == sharpness(model, TEXTS)[0]).all()
