"""Table 2 of Clark et al. 2019 for any model and coreference corpus: how often does a mention attend most to an antecedent?"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from eyeline.analyses.coreference.antecedent_attention import AntecedentAttention, AntecedentWork, Questions
from eyeline.analyses.coreference.antecedents import RULES, questions
from eyeline.analyses.coreference.example import choose_example, example_table, example_trace
from eyeline.analyses.coreference.scores import HeldOut, Scores, head_table, held_out, method_table
from eyeline.analyses.coreference.windows import Window, Windows
from eyeline.analyses.engines.choose import check_engine
from eyeline.analyses.engines.engine import Engine
from eyeline.analyses.engines.fold import fold_parts
from eyeline.analyses.engines.parts import parts_of
from eyeline.analyses.prepare import tokenizer_of
from eyeline.analyses.progress import ReportProgress, Steps
from eyeline.analyses.provenance import provenance
from eyeline.analyses.sampling import sample_indices
from eyeline.analyses.word_maps import MAX_TOKENS, WordTexts, reading_stack, sides_of
from eyeline.capture.selection import check_layers_of
from eyeline.errors import Advice, TextError
from eyeline.heads import HeadRef
from eyeline.models.model import Model, check_model
from eyeline.results.facts import CoreferenceFacts, CoreferenceOptions, CorpusFacts, ExampleFacts, HeldOutFacts
from eyeline.results.grammar.directions import ANTECEDENT_TO_MENTION
from eyeline.results.run import Run
from eyeline.text.coreference.mention import TYPES, MarkedDocument
from eyeline.text.coreference.read import MarkedCorpus, read_coreference

#: Fewer tokens than this leave no room for a mention and its antecedent.
LEAST_TOKENS = 8


def coreference(
    model: Model,
    documents: MarkedCorpus | Sequence[MarkedDocument] | str | Path,
    *,
    limit: int | None = None,
    max_tokens: int = MAX_TOKENS,
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
    seed          of the limit, and of the halves of the documents on which the held-out head is chosen and scored
    strict        stop at what cannot be used, instead of counting it
    engine        where: "local" (this process), "processes", "ray", or el.Ray(workers=8, …); the numbers are the same
    progress      called after each batch of windows (`analyses.progress`)

    The tables: `coreference`, a row for each method; `coreference_heads`, a row for each head and direction; `coreference_example`, the
    words of a window in which the best head is right. Accuracies are in per cent; where a type of mention does not occur, nan.
    """
    check_model(model)
    check_engine(engine)
    corpus = _corpus(documents, strict)
    numbers = None if layers is None else list(check_layers_of(model.layout, reading_stack(model), layers))
    options = CoreferenceOptions(limit, max_tokens, first_window, None if numbers is None else tuple(numbers), seed, strict)
    started = time.monotonic()
    chosen = sample_indices(len(corpus), limit, seed)
    windows, counts = _windows(model, corpus, chosen, max_tokens, first_window, strict)
    questions = Questions.of(windows)
    _count_questions(counts, corpus, chosen, questions)
    if not len(questions):
        raise TextError(
            f"None of the {counts['mentions_marked']:,} mentions in {corpus.name} has an antecedent in its window of {max_tokens} tokens.",
            *_left_out(counts),
            Advice(
                "Give larger windows: max_tokens=…. Or give documents in which something is mentioned twice.",
                "Give larger windows: --max-tokens. Or give documents in which something is mentioned twice.",
                "Give documents in which something is mentioned twice.",
            ),
        )
    attention = AntecedentAttention(questions)
    texts = WordTexts(tuple(sides_of(model, window.text) for window in windows), tuple(range(len(windows))), Counter(), {})
    work = AntecedentWork(None if numbers is None else tuple(numbers))
    parts = parts_of(windows, model.in_batches(texts.sides), [_window_name(corpus, window) for window in windows])
    report = Steps(progress).begin("windows")
    folded = fold_parts(work, model, parts, lambda part, hits: attention.merge(hits, part.indices), engine, report)
    if folded.left_out:
        attention = attention.only([number for number in range(len(windows)) if number not in folded.left_out])
        questions = attention.questions
        if not len(questions):
            raise TextError(f"Each window of {corpus.name} with a question broke its worker.", *folded.reasons)
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
        provenance(model, CorpusFacts(corpus.name, corpus.sha256, documents=len(corpus)), options),
        counts={**counts, **folded.counts},
        dropped=folded.dropped,
        engine=folded.engine,
        seconds={"all": round(time.monotonic() - started, 3)},
        notices=(*texts.notices(model), *_notices(attention, corpus, counts)),
        coreference=CoreferenceFacts(
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


def _notices(attention: AntecedentAttention, corpus: MarkedCorpus, counts: Mapping[str, int]) -> list[str]:
    """What is not in the tables, counted, and why."""
    notices = [f"{kind.replace('_', ' ')}: {number:,}. The first: {corpus.first[kind]}." for kind, number in corpus.problems.items()]
    if corpus.inferred_types:
        notices.append(
            f"Without part-of-speech tags, the types of {corpus.inferred_types:,} mentions were inferred from their words:"
            " pronouns by a list of English ones, names by their capitals, all others nominal."
        )
    missing = [name for name in TYPES if not (attention.questions.type == name).any()]
    if missing:
        notices.append(f"No scored mention is of type {' or '.join(missing)}.")
    if not attention.looked[ANTECEDENT_TO_MENTION]:
        notices.append(
            "This model never looks ahead, so no antecedent attends to a mention that follows it: one direction alone is scored."
        )
    return notices


def _left_out(counts: Mapping[str, int]) -> list[str]:
    messages = (
        ("long_sentences", "sentences are longer than a window and were cut between words"),
        ("unreadable_sentences", "sentences have words that this tokeniser drops, or that fill more than a window, and were left out"),
        ("mentions_outside", "of the mentions lie in no window"),
    )
    return [f"{counts[name]:,} {what}." for name, what in messages if counts.get(name)]


def _held_out_facts(held_out_score: HeldOut | None) -> HeldOutFacts:
    if held_out_score is None:
        return HeldOutFacts(why="only one document has a mention with an antecedent")
    return HeldOutFacts(tuple(str(HeadRef("", layer, head)) for layer, head in held_out_score.heads))
