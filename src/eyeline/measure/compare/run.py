"""Two models on the same corpus, head by head: for example before and after fine-tuning (`el.compare`)."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eyeline.errors import ModelError, TextError
from eyeline.heads import HeadRef
from eyeline.look.stack import Stack
from eyeline.mathematics import jensen_shannon, pool_to_words
from eyeline.measure.compare.options import CompareFacts, CompareOptions
from eyeline.measure.compare.result import Comparison
from eyeline.measure.corpus.average_attention import AverageAttention
from eyeline.measure.corpus.entropy import Entropy
from eyeline.measure.corpus.run import analyse
from eyeline.measure.runs.options import chosen
from eyeline.measure.runs.progress import ReportProgress, ReportStep, Steps
from eyeline.measure.runs.run import Run
from eyeline.measure.runs.table import Cell, Table, head_table
from eyeline.measure.space.result import Space
from eyeline.measure.space.run import STEPS_OF_A_STACK
from eyeline.measure.space.run import space as joint_space
from eyeline.measure.statistics.prepare import Preparation, corpus_facts, documents_of, model_facts, provenance
from eyeline.messages import Message
from eyeline.models.inputs import Example
from eyeline.models.layout import Kept, check_layers, listed
from eyeline.models.model import Model, check_model
from eyeline.models.tracing import Collector, in_batches
from eyeline.text.corpora.corpus import Corpus, Document, Item
from eyeline.text.encode import unknown_notices
from eyeline.text.tokenized import TokenizedText

#: Texts that go through both models before the next are read.
GROUP = 32


def compare(
    first: Model,
    second: Model,
    corpus: Corpus | Sequence[Item],
    *,
    # from CompareOptions, as the docstring's lines on them: make generated
    layers: Iterable[int] | None = None,
    limit: int | None = None,
    max_tokens: int | None = None,
    seed: int = 0,
    spaces: bool = True,
    progress: ReportProgress | None = None,
) -> Comparison:
    """How far the attention of two models lies apart: head L·H of one against head L·H of the other.

    Between tokens where both read the same tokens; else between words, with all special tokens as one key, over the texts in which both
    find the same words. Layers that only one model has are left out and named; models whose layers have different numbers of heads,
    or that have no kind of attention in common, are refused.

    layers      only these layers, counted from 0
    limit       this many documents, chosen at random with the seed
    max_tokens  longer documents are skipped and counted
    seed        for everything that is drawn at random
    spaces      also make the two spaces, where both models give queries and keys
    progress    called after each text, with a record of the step

    >>> import eyeline as el
    >>> model = el.load()
    >>> comparison = compare(model, model, ["The cat sat on the mat."], spaces=False)
    >>> float(comparison.table["js"].max())
    0.0
    """
    check_model(first)
    check_model(second)
    corpus = Corpus.of(corpus)
    options = chosen(CompareOptions, locals())
    in_common, left_out = _in_common(first, second, options.layers if isinstance(options.layers, tuple) else None)
    longest = min((n for n in (max_tokens, first.max_tokens, second.max_tokens) if n is not None), default=None)
    options = replace(options, other=second.name, layers=in_common, max_tokens=longest)
    started = time.monotonic()
    recorded = first.gives.recorded and second.gives.recorded
    space_steps = [1 + STEPS_OF_A_STACK["fitted"] * len(model.layout.stacks) for model in (first, second)]
    steps = Steps(progress, 1 + (sum(space_steps) if spaces and recorded else 0))
    report = steps.begin("comparing")
    pairs, shared, counts = _read_both(first, second, corpus, limit, longest, seed)
    level = "token" if all(same_tokens(a, b) for a, b in pairs) else "word"
    sums = _distances(first, second, pairs, in_common, level, counts, _within(report, 0, len(pairs)))
    given: dict[str, Any] = {"max_tokens": longest, "seed": seed}
    given["layers"] = sorted({layer for numbers in in_common.values() for layer in numbers})
    means_first, means_second = (
        _means(model, analyse(model, shared, [AverageAttention(), Entropy()], progress=_pass(report, number, len(pairs)), **given))
        for number, model in enumerate((first, second), start=1)
    )
    space_pair: tuple[Space, Space] | None = None
    if spaces and recorded:
        a, b = (
            joint_space(model, shared, progress=steps.nested(step, n_steps), **given)
            for step, model, n_steps in zip(("first_space", "second_space"), (first, second), space_steps, strict=True)
        )
        space_pair = (a, b)
    elif spaces:
        left_out["space"] = Message("notice.compare.no_spaces")
    facts = replace(
        provenance(CompareFacts, first, corpus_facts(corpus), options),
        other=model_facts(second),
        level=level,
        notices=_notices(first, second, pairs),
        counts=dict(counts),
        left_out=left_out,
        seconds={"all": round(time.monotonic() - started, 3)},
    )
    return Comparison(Run(facts, {"compare": _table(sums, in_common, means_first, means_second)}), space_pair)


def _notices(first: Model, second: Model, pairs: Sequence[tuple[Example, Example]]) -> tuple[Message, ...]:
    """The notices of both models, and of how they read these texts, each after the name of its model."""
    both = zip((first, second), zip(*pairs, strict=True), strict=True)
    every = [
        (model.name, (*model.layout.notices, *unknown_notices([example.source for example in examples], model._tokenizer)))
        for model, examples in both
    ]
    return tuple(Message("notice.of_model", model=name, notice=notice) for name, notices in every for notice in notices)


def _within(report: ReportStep, number: int, n_texts: int) -> ReportStep:
    """Reports one of three passes over the texts: both models side by side, then each of them alone."""
    return lambda done, of, tokens=0: report(number * n_texts + done, 3 * n_texts, tokens)


def _pass(report: ReportStep, number: int, n_texts: int) -> ReportProgress:
    """The same, as the `progress` of an analysis."""
    within = _within(report, number, n_texts)
    return lambda progress: within(progress.done, progress.of, progress.tokens)


def _in_common(first: Model, second: Model, layers: Iterable[int] | None) -> tuple[dict[str, tuple[int, ...]], dict[str, Message]]:
    """The layers of each stack that both have, and what is left out and why."""
    stacks = [name for name in first.layout.stacks if name in second.layout.stacks]
    if not stacks:
        raise ModelError(
            f"{first.name} has {', '.join(first.layout.stacks)} attention, {second.name} has {', '.join(second.layout.stacks)}.",
            "They have none in common, so no head can be compared.",
        )
    wanted = None if layers is None else list(layers)
    chosen: dict[str, tuple[int, ...]] = {}
    left_out: dict[str, Message] = {}
    for name in stacks:
        heads, other_heads = first.layout.heads_by_layer(name), second.layout.heads_by_layer(name)
        numbers = tuple(layer for layer in heads if layer in other_heads and (wanted is None or layer in wanted))
        for layer in numbers:
            if heads[layer] != other_heads[layer]:
                raise ModelError(
                    Message(
                        "refusal.other_shape",
                        layer=str(layer),
                        stack=name,
                        n=str(heads[layer]),
                        model=first.name,
                        others=str(other_heads[layer]),
                        other=second.name,
                    ),
                    Message("refusal.one_shape"),
                )
        if numbers:
            chosen[name] = numbers
        for model, own_heads, compared in ((first, heads, other_heads), (second, other_heads, heads)):
            missing = [layer for layer in own_heads if layer not in compared and (wanted is None or layer in wanted)]
            if missing:
                which = f"{missing[0]} to {missing[-1]}" if wanted is None else ", ".join(map(str, missing))
                left_out[f"{name} layers {which}"] = Message("notice.compare.one_model_layers", model=model.name)
    existing = {layer for model in (first, second) for name in stacks for layer in model.layout.layers(name)}
    if not chosen or not set(wanted or ()) <= existing:
        common = [tuple(n for n in first.layout.layers(name) if n in second.layout.layers(name)) for name in stacks]
        raise ModelError(
            f"Layers {wanted} of {first.name} and {second.name}.",
            f"They have layers {listed(max(common, key=len)) or 'none'} in common. Layers count from zero.",
        )
    for name in (*first.layout.stacks, *second.layout.stacks):
        if name not in stacks:
            left_out[f"{name} attention"] = Message("notice.compare.one_model_attention")
    return chosen, left_out


def _read_both(
    first: Model, second: Model, corpus: Corpus, limit: int | None, longest: int | None, seed: int
) -> tuple[list[tuple[Example, Example]], Corpus, Counter[str]]:
    """The documents that both models can read: the tokens of each model, the documents as a corpus, and counts."""
    readers = Preparation(first, longest), Preparation(second, longest)
    counts: Counter[str] = Counter(documents=0, texts=0, tokens=0, unlike=0)
    pairs: list[tuple[Example, Example]] = []
    shared: list[Document] = []
    for document in documents_of(corpus, first, pairs=False, limit=limit, max_tokens=longest, seed=seed):
        counts["documents"] += 1
        texts_first, texts_second = (reader.read(document) for reader in readers)
        if len(texts_first) == len(texts_second) == 1:
            pairs.append((texts_first[0], texts_second[0]))
            shared.append(document)
    counts["skipped"] = counts["documents"] - len(pairs)
    if not pairs:
        raise TextError(Message("refusal.not_read_by_both", n=f"{counts['documents']:,}"), Message("refusal.at_most", most=str(longest)))
    return pairs, Corpus(corpus.name, corpus.sha256, len(shared), lambda: iter(shared)), counts


def _distances(
    first: Model,
    second: Model,
    pairs: Sequence[tuple[Example, Example]],
    chosen: dict[str, tuple[int, ...]],
    level: str,
    counts: Counter[str],
    report: ReportStep,
) -> dict[str, np.ndarray]:
    """stack → [layer, head]: the mean over queries of the divergence between the two models."""
    sums: dict[str, np.ndarray] = {}
    n_rows: dict[str, np.ndarray] = {}
    for start in range(0, len(pairs), GROUP):
        group = pairs[start : start + GROUP]
        stacks_first, stacks_second = (
            weights_of(model, [pair[side] for pair in group], chosen) for side, model in enumerate((first, second))
        )
        for a, b in zip(stacks_first, stacks_second, strict=True):
            used = False
            for name in chosen:
                maps = aligned(a[name], b[name], level)
                if maps is None:
                    continue
                used = True
                distances = jensen_shannon(*maps)  # [layer, head, query]
                sums[name] = sums.get(name, 0) + np.nansum(distances, -1)
                n_rows[name] = n_rows.get(name, 0) + np.isfinite(distances).sum(-1)
            counts["texts" if used else "unlike"] += 1
            counts["tokens"] += len(next(iter(a.values())).query_text) if used else 0
        report(start + len(group), len(pairs), counts["tokens"])
    if not sums:
        raise TextError(
            Message("refusal.other_words", model=first.name, other=second.name, n=f"{len(pairs):,}"),
            Message("refusal.not_comparable"),
        )
    return {name: np.divide(total, n_rows[name], out=np.full(total.shape, np.nan), where=n_rows[name] > 0) for name, total in sums.items()}


@dataclass(frozen=True)
class _Means:
    """The entropy of every head of one model, and its average attention to each target."""

    entropy: dict[HeadRef, float]
    targets: dict[str, dict[HeadRef, float]]


def _means(model: Model, run: Run) -> _Means:
    only = next(iter(model.layout.stacks))  # tables of a model with one kind of attention do not name it

    targets: dict[str, dict[HeadRef, float]] = {}
    for row in run.table("average_attention").rows():
        targets.setdefault(str(row["target"]), {})[HeadRef.of_row(row, only)] = float(row["mean"])
    return _Means({HeadRef.of_row(row, only): float(row["all"]) for row in run.table("entropy").rows()}, targets)


def _table(sums: dict[str, np.ndarray], chosen: dict[str, tuple[int, ...]], before: _Means, after: _Means) -> Table:
    """A row for each head: js, change of entropy, change of average attention to each target that both models have."""
    targets = [target for target in before.targets if target in after.targets]
    records: list[tuple[Cell, ...]] = []
    for stack, values in sums.items():
        for layer, row in zip(chosen[stack], values, strict=True):
            for head, js in enumerate(row):
                ref = HeadRef(stack, layer, head)
                entropy = after.entropy.get(ref, math.nan) - before.entropy.get(ref, math.nan)
                changes = [after.targets[target].get(ref, math.nan) - before.targets[target].get(ref, math.nan) for target in targets]
                records.append((*ref, float(js), entropy, *changes))
    return head_table(records, ("js", "entropy_change", *(f"{target}_change" for target in targets)))


# ---- The attention of two models on one text


def same_tokens(first: Example, second: Example) -> bool:
    """Whether two models read a text as the same tokens."""

    def tokens_of(example: Example) -> tuple[Any, ...]:
        return example.source.tokens, example.source.ids, example.target and example.target.tokens

    return tokens_of(first) == tokens_of(second)


def weights_of(model: Model, examples: Sequence[Example], chosen: dict[str, tuple[int, ...]]) -> list[dict[str, Stack]]:
    """The attention of each text, by stack, of the chosen layers."""
    layers = {name: chosen.get(name, ()) for name in check_layers(model.layout, None)}
    stacks: dict[int, dict[str, Stack]] = {}
    for batch in in_batches(model.layout, examples):
        collector = Collector(model.layout, Kept(("weights",), layers))
        model._passes.layers([examples[i] for i in batch], collector.receive)
        for position, i in enumerate(batch):
            stacks[i] = collector.stacks(position, examples[i])
    return [stacks[i] for i in range(len(examples))]


def aligned(first: Stack, second: Stack, level: str) -> tuple[np.ndarray, np.ndarray] | None:
    """[layer, head, query, key] of both over the same queries and keys; None where the two models find different words."""
    if level == "token":
        return first.weights, second.weights
    texts = [(stack.query_text, stack.key_text) for stack in (first, second)]
    words = [tuple(_words(text) for text in pair) for pair in texts]
    if words[0] != words[1] or not words[0][0] or not words[0][1]:
        return None
    a, b = (_between_words(stack) for stack in (first, second))
    return a, b


def _words(text: TokenizedText) -> list[str]:
    level = text.at_word_level()
    return [token for token, special in zip(level.tokens, level.special, strict=True) if not special]


def _between_words(stack: Stack) -> np.ndarray:
    """[layer, head, word, word + 1]: the last key is all special tokens together."""
    pooled = pool_to_words(stack.weights, stack.query_text.word_groups, stack.key_text.word_groups)
    queries = ~np.array(stack.query_text.at_word_level().special)
    keys = ~np.array(stack.key_text.at_word_level().special)
    rows = pooled[..., queries, :]
    return np.concatenate([rows[..., keys], rows[..., ~keys].sum(-1, keepdims=True)], -1)
