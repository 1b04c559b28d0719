"""Table 2 of Clark et al. 2019 for any model and coreference corpus: how often does a mention attend most to an antecedent?"""

from __future__ import annotations

import hashlib
import random
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from eyeline.errors import Advice, TextError
from eyeline.heads import ANTECEDENT_TO_MENTION, MENTION_DIRECTIONS, MENTION_TO_ANTECEDENT, HeadRef
from eyeline.look.trace import Trace
from eyeline.measure.coreference.antecedents import RULES, AntecedentAttention, AntecedentWork, Questions, questions
from eyeline.measure.coreference.options import CoreferenceFacts, CoreferenceOptions, ExampleFacts, HeldOutFacts, MentionFacts
from eyeline.measure.coreference.windows import Window, Windows
from eyeline.measure.engines.local import check_engine, run_parts
from eyeline.measure.engines.processes import Engine
from eyeline.measure.engines.work import parts_of
from eyeline.measure.runs.facts import CorpusFacts
from eyeline.measure.runs.options import chosen
from eyeline.measure.runs.progress import ReportProgress, Steps
from eyeline.measure.runs.run import Run
from eyeline.measure.runs.table import Cell, Table
from eyeline.measure.statistics.prepare import provenance, sample_indices
from eyeline.measure.statistics.word_maps import WordMaps, WordTexts, each_word_map, example_of_text, reading_stack
from eyeline.messages import Message
from eyeline.models.layout import check_layers_of
from eyeline.models.model import Model, check_model
from eyeline.models.objective import tokenizer_of
from eyeline.models.tracing import in_batches
from eyeline.text.corpora.coreference import MarkedCorpus, read_coreference
from eyeline.text.corpora.mentions import GROUPS, TYPES, MarkedDocument

#: Fewer tokens than this leave no room for a mention and its antecedent.
LEAST_TOKENS = 8


def coreference(
    model: Model,
    documents: MarkedCorpus | Sequence[MarkedDocument] | str | Path,
    *,
    # from CoreferenceOptions, as the docstring's lines on them: make generated
    limit: int | None = None,
    max_tokens: int = 128,
    first_window: bool = False,
    layers: Iterable[int] | None = None,
    seed: int = 0,
    strict: bool = False,
    engine: Engine | str = "local",
    progress: ReportProgress | None = None,
) -> Run:
    """Score every head, and three rules beside it, as a finder of antecedents.

    documents     what `read_coreference` read, or the file itself, or a list of MarkedDocument
    limit         this many documents, chosen at random with the seed
    max_tokens    documents are read in windows of this many tokens, special ones included, cut between sentences
    first_window  only the first window of each document, as in the paper
    layers        only these layers, counted from 0
    seed          of the limit, and of the halves of the documents on which the held-out head is chosen and scored
    strict        stop at what cannot be used, instead of counting it
    engine        where: "local" (this process), "processes", "ray", or el.Ray(workers=8, …); the numbers are the same
    progress      called after each batch of windows, with a record of the step, how much of it is done, and the seconds

    The tables: `coreference`, a row for each method; `coreference_heads`, a row for each head and direction; `coreference_example`, the
    words of a window in which the best head is right. Accuracies are in per cent; where a type of mention does not occur, nan.
    """
    check_model(model)
    check_engine(engine)
    corpus = _corpus(documents, strict)
    options = chosen(CoreferenceOptions, locals())
    if options.layers is not None:
        options = replace(options, layers=check_layers_of(model.layout, reading_stack(model), options.layers))
    started = time.monotonic()
    indices = sample_indices(len(corpus), limit, seed)
    windows, counts = _windows(model, corpus, indices, max_tokens, first_window, strict)
    questions = Questions.of(windows)
    _count_questions(counts, corpus, indices, questions)
    if not len(questions):
        raise TextError(
            Message("refusal.no_antecedent", n=f"{counts['mentions_marked']:,}", corpus=corpus.name, most=str(max_tokens)),
            *_left_out(counts),
            Advice(
                "Give larger windows: max_tokens=…. Or give documents in which something is mentioned twice.",
                "Give larger windows: --max-tokens. Or give documents in which something is mentioned twice.",
                Message("refusal.advice.mentioned_twice"),
            ),
        )
    attention = AntecedentAttention(questions)
    texts = WordTexts(tuple(example_of_text(model, window.text) for window in windows), tuple(range(len(windows))), Counter(), {})
    work = AntecedentWork(options.layers)
    parts = parts_of(windows, in_batches(model.layout, texts.examples), [_window_name(corpus, window) for window in windows])
    report = Steps(progress).begin("windows")
    outcome = run_parts(work, model, parts, lambda part, hits: attention.merge(hits, part.indices), engine, report)
    if outcome.left_out:
        attention = attention.only([number for number in range(len(windows)) if number not in outcome.left_out])
        questions = attention.questions
        if not len(questions):
            raise TextError(f"Each window of {corpus.name} with a question broke its worker.", *outcome.reasons)
        counts["mentions_broke"] = counts["mentions"] - len(questions)
        counts["mentions"] = len(questions)
    scores = Scores(questions.type, questions.document, _by_rules(corpus, questions), attention.seen())
    held_out_score = held_out(scores, seed)
    best = scores.best_head()
    example = choose_example(questions, scores.of_head(*best), corpus)
    tables = {
        "coreference": method_table(scores, held_out_score),
        "coreference_heads": head_table(scores),
        "coreference_example": example_table(model, questions, example, best, corpus),
    }
    facts = replace(
        provenance(CoreferenceFacts, model, CorpusFacts(corpus.name, corpus.sha256, documents=len(corpus)), options),
        counts={**counts, **outcome.counts},
        dropped=outcome.dropped,
        engine=outcome.engine,
        seconds={"all": round(time.monotonic() - started, 3)},
        notices=(*texts.notices(model), *_notices(attention, corpus, counts)),
        coreference=MentionFacts(
            n={name: int((questions.type == name).sum()) for name in TYPES},
            held_out=_held_out_facts(held_out_score),
            example=ExampleFacts(corpus[questions.windows[example].document].id, best[0], best[1]),
        ),
    )
    return Run(facts, tables, example_trace(model, questions.windows[example], best[0]))


def _corpus(documents: MarkedCorpus | Sequence[MarkedDocument] | str | Path, strict: bool) -> MarkedCorpus:
    if isinstance(documents, MarkedCorpus):
        return documents
    if isinstance(documents, str | Path):
        return read_coreference(documents, strict=strict)
    wrong = next((document for document in documents if not isinstance(document, MarkedDocument)), None)
    if wrong is not None or not documents:
        seen = "No documents" if wrong is None else f"A document given as {type(wrong).__name__}"
        raise TextError(f"{seen}.", "Give what el.mentions.read_coreference(FILE) read, or a list of el.mentions.MarkedDocument.")
    digest = hashlib.sha256(repr(tuple(documents)).encode()).hexdigest()
    return MarkedCorpus("documents", digest, tuple(documents))


def _window_name(corpus: MarkedCorpus, window: Window) -> str:
    return f"{corpus[window.document].id}, words {window.words[0] + 1} to {window.words[-1] + 1}"


def _windows(
    model: Model, corpus: MarkedCorpus, chosen: Sequence[int], max_tokens: int, first: bool, strict: bool
) -> tuple[list[Window], Counter[str]]:
    tokenizer = tokenizer_of(model, "Coreference needs a model that reads text.")
    longest = min(max_tokens, model.max_tokens or max_tokens)
    if longest < LEAST_TOKENS:
        raise TextError(
            f"Windows of {longest} tokens.",
            Advice(f"Give max_tokens={LEAST_TOKENS} or more.", f"Give --max-tokens {LEAST_TOKENS} or more."),
        )
    cutter = Windows(tokenizer, longest, first, strict)
    return cutter.of_all([corpus[number] for number in chosen], chosen), cutter.counts


def _count_questions(counts: Counter[str], corpus: MarkedCorpus, chosen: Sequence[int], scored: Questions) -> None:
    """mentions: those that are scored; mentions_first: without an antecedent in the document; mentions_apart: with one, but not in the
    same window."""
    follows = sum(len(questions(corpus[number].mentions)) for number in chosen)
    counts["mentions"] = len(scored)
    counts["mentions_first"] = counts["mentions_marked"] - follows
    counts["mentions_apart"] = follows - len(scored)


def _by_rules(corpus: MarkedCorpus, questions: Questions) -> dict[str, np.ndarray]:
    """method → whether its answer is right: [question]"""
    words = [corpus[number].words for number in questions.document]
    return {
        method: np.array(
            [rule(question, document) in question.right for question, document in zip(questions.questions, words, strict=True)], dtype=bool
        )
        for method, rule in RULES.items()
    }


def _notices(attention: AntecedentAttention, corpus: MarkedCorpus, counts: Mapping[str, int]) -> list[Message]:
    """What is not in the tables, counted, and why."""
    notices = [Message(f"notice.problem.{kind}", n=f"{number:,}", first=corpus.first[kind]) for kind, number in corpus.problems.items()]
    if corpus.inferred_types:
        notices.append(Message("notice.inferred_types", n=f"{corpus.inferred_types:,}"))
    notices += [Message("notice.no_mention", mention=name) for name in TYPES if not (attention.questions.type == name).any()]
    if not attention.looked[ANTECEDENT_TO_MENTION]:
        notices.append(Message("notice.one_direction"))
    return notices


def _left_out(counts: Mapping[str, int]) -> list[Message]:
    names = ("long_sentences", "unreadable_sentences", "mentions_outside")
    return [Message(f"refusal.mentions.{name}", n=f"{counts[name]:,}") for name in names if counts.get(name)]


def _held_out_facts(held_out_score: HeldOut | None) -> HeldOutFacts:
    if held_out_score is None:
        return HeldOutFacts(why=Message("notice.one_document"))
    return HeldOutFacts(tuple(str(HeadRef("", layer, head)) for layer, head in held_out_score.heads))


# ---- From right and wrong answers to tables


NAN = float("nan")


@dataclass(frozen=True)
class Scores:
    """Which questions each method and head answered rightly.

    types       of each question: [question]
    documents   of each question: [question]
    rules       method → right: [question]
    hits        (direction, layer) → right: [head, question]
    """

    types: np.ndarray
    documents: np.ndarray
    rules: Mapping[str, np.ndarray]
    hits: Mapping[tuple[str, int], np.ndarray]

    def accuracies(self, right: np.ndarray, among: np.ndarray | None = None) -> dict[str, float]:
        """Per cent right, of all questions and of each type; nan where there are none. right: [question]"""
        chosen = np.ones(len(right), dtype=bool) if among is None else among
        masks = {"all": chosen, **{name: chosen & (self.types == name) for name in TYPES}}
        return {name: float(100 * right[mask].mean()) if mask.any() else NAN for name, mask in masks.items()}

    def best_head(self, among: np.ndarray | None = None) -> tuple[int, int]:
        """The layer and head that is right most often, of equal ones the first; only the paper's direction counts."""
        chosen = slice(None) if among is None else among
        counts = {
            (layer, head): int(row[chosen].sum())
            for (direction, layer), hits in sorted(self.hits.items())
            if direction == MENTION_TO_ANTECEDENT
            for head, row in enumerate(hits)
        }
        return max(counts, key=lambda key: (counts[key], -key[0], -key[1]))

    def of_head(self, layer: int, head: int) -> np.ndarray:
        """Which questions a head answers rightly: [question]"""
        return np.asarray(self.hits[MENTION_TO_ANTECEDENT, layer][head])


@dataclass(frozen=True)
class HeldOut:
    """Heads chosen on one half of the documents and scored on the other, both ways; `right` covers all questions."""

    heads: tuple[tuple[int, int], tuple[int, int]]
    right: np.ndarray


def held_out(scores: Scores, seed: int) -> HeldOut | None:
    """Documents are halved at random with the seed; None where only one has a question."""
    numbers = sorted(set(scores.documents.tolist()))
    if len(numbers) < 2:
        return None
    random.Random(seed).shuffle(numbers)  # noqa: S311 - a seeded choice, not a secret
    first = np.isin(scores.documents, numbers[::2])
    chosen = scores.best_head(first), scores.best_head(~first)
    right = np.where(first, scores.of_head(*chosen[1]), scores.of_head(*chosen[0]))
    return HeldOut(chosen, right)


def method_table(scores: Scores, held_out_score: HeldOut | None) -> Table:
    """method, layer, head, all, pronoun, proper, nominal (per cent right), n."""
    n = len(scores.types)
    rows: list[tuple[Cell, ...]] = []
    for method, right in scores.rules.items():
        rows.append((method, NAN, NAN, *scores.accuracies(right).values(), n))
    best = scores.best_head()
    rows.append(("best head", *best, *scores.accuracies(scores.of_head(*best)).values(), n))
    if held_out_score is not None:
        head = held_out_score.heads[0] if held_out_score.heads[0] == held_out_score.heads[1] else (NAN, NAN)
        rows.append(("best head, held out", *head, *scores.accuracies(held_out_score.right).values(), n))
    return _table(("method", "layer", "head", *GROUPS, "n"), rows)


def head_table(scores: Scores) -> Table:
    """layer, head, direction, all, pronoun, proper, nominal, and how many questions of each there are."""
    sizes = [int((scores.types == name).sum()) for name in TYPES]
    rows: list[tuple[Cell, ...]] = []
    for direction, layer in sorted(scores.hits, key=lambda key: (MENTION_DIRECTIONS.index(key[0]), key[1])):
        for head, right in enumerate(scores.hits[direction, layer]):
            rows.append((layer, head, direction, *scores.accuracies(right).values(), len(scores.types), *sizes))
    return _table(("layer", "head", "direction", *GROUPS, "n", *(f"n_{name}" for name in TYPES)), rows)


def _table(names: tuple[str, ...], rows: list[tuple[Cell, ...]]) -> Table:
    return Table.from_rows([dict(zip(names, row, strict=True)) for row in rows], names)


# ---- One window as an example


#: More different words than this do not make an example better.
ENOUGH_MENTIONS = 6

COLUMNS = ("index", "word", "sentence", "mention", "cluster", "attended", "weight", "antecedent", "right")


def choose_example(questions: Questions, right: np.ndarray, corpus: MarkedCorpus) -> int:
    """The window to show: the head is right on the greatest share of at least two mentions, they differ in their words, and it is short.

    right: [question]
    """

    def quality(number: int) -> tuple[bool, float, int, int]:
        indices = np.flatnonzero(questions.window == number)
        words = corpus[questions.windows[number].document].words
        in_window = [questions.questions[index] for index in indices]
        different = {words[index].casefold() for question in in_window for index in (question.mention.main_word, *question.right)}
        share = float(right[indices].mean()) if len(indices) else 0.0
        return len(indices) > 1, share, min(len(different), ENOUGH_MENTIONS), -len(questions.windows[number].words)

    return max(range(len(questions.windows)), key=quality)


def example_trace(model: Model, window: Window, layer: int) -> Trace | None:
    """The attention of that layer on the window; None for an encoder-decoder model, which would have to write a text first."""
    if model._hf.config.is_encoder_decoder:
        return None
    return model.traces([window.text.sources[0]], layers=[layer], keep={"weights"})[0]


def example_table(model: Model, questions: Questions, number: int, best: tuple[int, int], corpus: MarkedCorpus) -> Table:
    """A row for each word of the window. For the main word of a mention that has an antecedent: the mention, its cluster, the candidate
    that it attends to most and with what weight, its nearest antecedent, and whether the two agree; indices count within the window."""
    window, (layer, head) = questions.windows[number], best
    maps: list[WordMaps] = []
    texts = WordTexts((example_of_text(model, window.text),), (0,), Counter(), {})
    each_word_map(model, texts, maps.append, layers=[layer])
    weights = maps[0].between_words[0, head].float().cpu()  # [word, word]
    position_of = {word: position for position, word in enumerate(window.words)}
    document = corpus[window.document]
    answers: dict[int, tuple[Cell, ...]] = {}
    for question in (questions.questions[i] for i in np.flatnonzero(questions.window == number)):
        query = position_of[question.mention.main_word]
        nearest_first = [position_of[word] for word in reversed(question.candidates)]
        position = max(nearest_first, key=lambda candidate, query=query: float(weights[query, candidate]))  # type: ignore[misc]
        span = " ".join(document.words[question.mention.start : question.mention.end + 1])
        is_right = window.words[position] in question.right
        nearest = position if is_right else position_of[max(question.right)]
        answers[query] = (span, question.mention.cluster, position, float(weights[query, position]), nearest, int(is_right))
    sentences = [number for number, sentence in enumerate(document.sentences) for _ in sentence]
    rows = [
        (position, document.words[word], sentences[word], *answers.get(position, ("", NAN, NAN, NAN, NAN, NAN)))
        for position, word in enumerate(window.words)
    ]
    return Table.from_rows([dict(zip(COLUMNS, row, strict=True)) for row in rows], COLUMNS)
