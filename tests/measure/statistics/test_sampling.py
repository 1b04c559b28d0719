"""The same limit and seed choose the same items of the same list, whatever the analysis."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

import eyeline as el
from eyeline.corpora import Corpus, Document
from eyeline.measure.coreference import windows
from eyeline.measure.space import fit as space_fit
from eyeline.measure.space.fit import fit_projections
from eyeline.measure.statistics import prepare, word_maps
from eyeline.measure.statistics.prepare import sample_indices, sample_stream
from eyeline.mentions import MarkedDocument, Mention
from eyeline.text.encode import encode, encode_many, encode_word_lists
from eyeline.treebanks import Sentence
from tests.laws.statistics import tiny_model

pytestmark = pytest.mark.usefixtures("quick_pictures")

#: Item i has FIRST + i words, by which it is recognised.
FIRST, N_ITEMS, LIMIT, SEED = 4, 20, 5, 7
LENGTHS = range(FIRST, FIRST + N_ITEMS)


def words(length: int) -> tuple[str, ...]:
    return ("the", "cat", *["ran"] * (length - 2))


def sentence(length: int) -> Sentence:
    return Sentence(f"s{length}", words(length), (1, 2, -1, *[2] * (length - 3)), ("det", "nsubj", "root", *["dep"] * (length - 3)))


TEXTS = [" ".join(words(length)) for length in LENGTHS]
TREEBANK = [sentence(length) for length in LENGTHS]
OTHER_TREEBANK = [sentence(30), sentence(31)]
DOCUMENTS = [
    MarkedDocument(f"d{length}", (words(length),), (Mention(0, 0, 0, 0, "nominal"), Mention(1, 1, 1, 0, "pronoun"))) for length in LENGTHS
]
ANALYSES: dict[str, Callable[..., Any]] = {
    "analyse": lambda **given: el.analyse(tiny_model(), TEXTS, [el.statistics.Entropy()], **given),
    "syntax": lambda **given: el.syntax(tiny_model(), TREEBANK, min_count=1, **given),
    "coreference": lambda **given: el.coreference(tiny_model(), DOCUMENTS, **given),
    "probe": lambda **given: el.probe(tiny_model(), OTHER_TREEBANK, train=TREEBANK, seeds=1, **given),
    "space": lambda **given: el.space(tiny_model(), TEXTS, layers=[0], background=False, **given),
    "compare": lambda **given: el.compare(tiny_model(), tiny_model(), TEXTS, layers=[0], **given),
}


@pytest.mark.parametrize("name", ANALYSES)
def test_every_analysis_draws_the_same_items(name, monkeypatch):
    monkeypatch.setattr(space_fit, "fit_projections", partial(fit_projections, starts=1, steps=2))
    lengths: set[int] = set()

    def recorded(tokenizer: Any, text: str = "", pair: str | None = None, **given: Any) -> Any:
        lengths.add(len(given["words"]) if given.get("words") is not None else len(text.split()))
        return encode(tokenizer, **given) if given.get("words") is not None else encode(tokenizer, text, pair, **given)

    def recorded_batch(tokenizer: Any, texts: Sequence[str]) -> Any:
        lengths.update(len(text.split()) for text in texts)
        return encode_many(tokenizer, texts)

    def recorded_lists(tokenizer: Any, lists: Sequence[Sequence[str]], *given: Any) -> Any:
        lengths.update(map(len, lists))
        return encode_word_lists(tokenizer, lists, *given)

    monkeypatch.setattr(prepare, "encode", recorded)
    monkeypatch.setattr(prepare, "encode_many", recorded_batch)
    for module in (word_maps, windows):
        monkeypatch.setattr(module, "encode_word_lists", recorded_lists)
    run = ANALYSES[name](limit=LIMIT, seed=SEED)
    drawn, expected = {length - FIRST for length in lengths if length in LENGTHS}, set(sample_indices(N_ITEMS, LIMIT, SEED))
    if name in ("analyse", "compare"):  # they also read the text that the report shows, or the built-in paragraphs
        counts = run.run.facts.counts if name == "compare" else run.facts.counts
        assert counts["documents"] == LIMIT
        assert drawn >= expected
    else:
        assert drawn == expected


def test_a_limit_below_one_is_refused_everywhere():
    for analysis in ANALYSES.values():
        with pytest.raises(el.EyelineError):
            analysis(limit=0)


def test_a_sample_of_a_stream_keeps_the_order_and_gives_every_item_the_same_chance():
    counts = Counter(item for seed in range(3000) for item in sample_stream(iter(range(12)), 4, seed))
    assert all(sample_stream(iter(range(12)), 4, seed) == sorted(sample_stream(range(12), 4, seed)) for seed in range(20))
    assert sorted(counts) == list(range(12))
    assert all(abs(count - 1000) < 130 for count in counts.values())  # five standard deviations


def test_a_corpus_that_nobody_has_counted_is_sampled_while_it_is_read():
    stream = replace(Corpus.from_texts(list(TEXTS)), n_documents=None)
    run = el.analyse(tiny_model(), stream, [el.statistics.Entropy()], limit=LIMIT, seed=SEED)
    assert run.facts.counts["documents"] == LIMIT
    assert run.facts.corpus.documents is None
    whole = el.analyse(tiny_model(), stream, [el.statistics.Entropy()])
    assert whole.facts.counts["documents"] == N_ITEMS


def test_nothing_is_read_after_the_last_document_of_a_sample():
    read: list[int] = []

    def documents() -> Iterator[Document]:
        for index in range(1000):
            read.append(index)
            yield Document("the cat", index + 1)

    corpus = Corpus("made", "0", 1000, documents)
    chosen = sample_indices(1000, 3, SEED)
    drawn = list(prepare.documents_of(corpus, tiny_model(), pairs=False, limit=3, max_tokens=None, seed=SEED))
    assert [document.line - 1 for document in drawn] == list(chosen)
    assert read[-1] == chosen[-1]


@pytest.mark.parametrize("counted", [True, False])
def test_a_sample_of_a_large_corpus_holds_few_documents_at_a_time(counted: bool):
    alive: weakref.WeakSet[Document] = weakref.WeakSet()
    most = 0

    def documents() -> Iterator[Document]:
        nonlocal most
        for index in range(1000):
            document = Document("the cat", index + 1)
            alive.add(document)
            most = max(most, len(alive))
            yield document

    corpus = Corpus("large", "0", 1000 if counted else None, documents)
    drawn = prepare.documents_of(corpus, tiny_model(), pairs=False, limit=5, max_tokens=None, seed=SEED)
    assert sum(1 for _ in drawn) == 5
    assert most <= 5 + 3  # and those that the loops themselves still name
