"""How much grammar all heads know together: probing classifiers on attention maps, after Clark et al. 2019, section 5 and table 3."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
import torch

from eyeline.errors import Advice, TextError
from eyeline.heads import ARC_DIRECTIONS
from eyeline.mathematics import bootstrap_share
from eyeline.measure.engines.local import check_engine
from eyeline.measure.engines.processes import Engine
from eyeline.measure.probes.features import (
    GoldSentences,
    Heads,
    Maps,
    WordVectors,
    glove_vectors,
    heads_of,
    model_vectors,
    read_gold,
    record_maps,
)
from eyeline.measure.probes.options import ProbeFacts, ProbeOptions, TrainingFacts, WordVectorFacts
from eyeline.measure.probes.parse import Probe, parses_table
from eyeline.measure.probes.training import (
    GAIN,
    PATIENCE,
    AttentionAndWords,
    AttentionOnly,
    DistancesAndWords,
    ProbeData,
    Score,
    Scorer,
    Training,
    count,
    evaluate,
    held_out_sentences,
    mean_score,
    right_branching,
)
from eyeline.measure.probes.training import train as train_scorer
from eyeline.measure.runs.facts import CorpusFacts, EngineFacts
from eyeline.measure.runs.options import chosen
from eyeline.measure.runs.progress import ReportProgress, Steps
from eyeline.measure.runs.run import Run
from eyeline.measure.runs.table import Cell, Table
from eyeline.measure.runs.trained import ProbeWords, TrainedProbes
from eyeline.measure.statistics.prepare import provenance, sample
from eyeline.models.model import Model, check_model
from eyeline.text.corpora.treebank import Sentence, Treebank, as_treebank

#: A run records two treebanks, trains three probes, records the untrained network and trains once more.
N_STEPS = 6


def probe(
    model: Model,
    treebank: Treebank | Sequence[Sentence] | str | Path,
    *,
    # from ProbeOptions, as the docstring's lines on them: make generated
    train: Treebank | Sequence[Sentence] | str | Path | None = None,
    glove: str | Path | None = None,
    limit: int | None = None,
    max_tokens: int = 128,
    layers: Iterable[int] | None = None,
    seeds: int = 3,
    epochs: int = 100,
    seed: int = 0,
    engine: Engine | str = "local",
    progress: ReportProgress | None = None,
) -> Run:
    """Train probes that find every word's governor from attention, on one treebank, and score them on another.

    treebank    the one to score on: what `read_treebank` read, or the file itself, or a list of Sentence
    train       the one to learn from; without it, one half of `treebank`, drawn with the seed, and the other half is scored
    glove       word vectors (a folder or GloVe's text file); without it the words are the model's own input embeddings
    limit       this many training sentences, chosen at random
    max_tokens  longer sentences are left out and counted, as in the paper
    layers      only the heads of these layers
    seeds       how often each probe is trained, each time with other starting weights and another order; tables give the mean
    epochs      how often each sentence is seen at most; once in the paper. A tenth of the training sentences is held out: training ends
                where the loss on them has not fallen by one per cent in five epochs, and the weights of the best epoch are kept
    seed        for everything that is drawn at random
    engine      where attention is recorded: "local" (this process), "processes", "ray", or el.Ray(workers=8, …); the numbers are the same.
                Probes are trained in this process

    Tables: probes (unlabelled attachment scores in percent, without and with punctuation, the interval of the first from resampled
    sentences), probes_learning (the learning curve of each training), probe_weights (which heads the probes use) and probe_parses (some
    sentences parsed).
    """
    check_model(model)
    check_engine(engine)
    options = chosen(ProbeOptions, locals())
    score = as_treebank(treebank)
    learn, score = score.halves(seed) if train is None else (as_treebank(train), score)
    if learn.sha256 == score.sha256 or learn.sentences == score.sentences:
        raise TextError(
            f"{learn.name} to train on and {score.name} to score on are the same.",
            "A probe may not be scored on what it has learnt.",
            Advice("Without train=… one half is for training.", "Without --train one half is for training."),
        )
    started = time.monotonic()
    golds = {
        "train": read_gold(model, sample(learn.sentences, limit, seed, "sentences"), "training", max_tokens),
        "test": read_gold(model, score.sentences, "test", max_tokens),
    }
    vectors = glove_vectors(glove, golds) if glove is not None else model_vectors(model, golds)
    held_out = held_out_sentences(len(golds["train"]), seed)
    experiment = _Experiment(
        golds, vectors, heads_of(model, options.layers), seeds, epochs, seed, Steps(progress, N_STEPS), engine, held_out
    )
    results = experiment.run(model)
    used = None if layers is None else tuple(sorted(set(experiment.heads.layers)))
    options = replace(options, layers=used, words=vectors.name, train=None, glove=None)
    facts = replace(
        provenance(ProbeFacts, model, CorpusFacts(score.name, score.sha256, sentences=len(score), synthetic=score.synthetic), options),
        train=TrainingFacts(
            learn.name,
            learn.sha256,
            len(learn),
            _counts(golds["train"], learn),
            len(held_out),
            PATIENCE,
            GAIN,
            _seen_again(golds),
            golds["test"].n_special,
        ),
        counts=_counts(golds["test"], score),
        dropped={"no_tree": dict(score.skipped), **golds["test"].texts.dropped([sentence.id for sentence in score.sentences])},
        words=WordVectorFacts(vectors.name, vectors.n_dims, round(vectors.covered, 4)),
        notices=golds["test"].texts.notices(model),
        engine=experiment.engine_facts,
        seconds={"all": round(time.monotonic() - started, 1), **{name: round(took, 1) for name, took in experiment.seconds.items()}},
    )
    tables = {
        "probes": probes_table(results, seed),
        "probes_learning": learning_table(results),
        "probe_weights": weights_table(results, experiment.heads),
    }
    words = ProbeWords(vectors.name, vectors.scale, dict(vectors.by_word), vectors.table.numpy() if vectors.by_word else None)
    heads, n_special = experiment.heads, golds["test"].n_special
    trained = TrainedProbes(model.name, facts.model.sha256, heads.layers, heads.heads, n_special, words, experiment.parameters)
    return Run(
        facts, {**tables, "probe_parses": parses_table(Probe(trained.best, model, trained), golds["test"].sentences)}, probes=trained
    )


@dataclass
class _Experiment:
    """Everything that is trained and scored on one pair of treebanks."""

    golds: dict[str, GoldSentences]
    vectors: WordVectors
    heads: Heads
    seeds: int
    epochs: int
    seed: int
    steps: Steps
    engine: Engine | str
    held_out: Sequence[int]  # training sentences, by index, that decide when training stops
    parameters: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)  # of the probes with attention, trained with the first seed
    seconds: dict[str, float] = field(default_factory=lambda: {"recording": 0.0, "training": 0.0})
    engine_facts: EngineFacts | None = None

    def run(self, model: Model) -> list[ProbeResult]:
        """Every row of the table. The maps of the trained network are overwritten by those of the random one."""
        words, n_special, n_heads = self.vectors.name, self.golds["test"].n_special, len(self.heads)
        guess = count(self.golds["test"], [right_branching(len(governors)) for governors in self.golds["test"].governors])
        parts = {name: ProbeData(name, gold, Maps(gold, self.heads), self.vectors) for name, gold in self.golds.items()}
        self.record(model, parts, "recording attention")

        def distances(random: torch.Generator) -> Scorer:
            return DistancesAndWords(self.vectors.n_dims, random)

        def attention(random: torch.Generator) -> Scorer:
            return AttentionOnly(n_heads, n_special, random)

        def both(random: torch.Generator) -> Scorer:
            return AttentionAndWords(n_heads, n_special, self.vectors.n_dims, random)

        results = [
            ProbeResult("right-branching", [guess]),
            self.fit(f"distances + {words}", distances, parts),
            self.fit("attention-only", attention, parts),
            self.fit(f"attention + {words}", both, parts),
        ]
        self.record(model, parts, "recording the random network", self.seed)
        random = self.fit(f"attention + {words}, random init", both, parts)
        del self.parameters[random.name]  # its random network is not saved, so it can parse nothing
        return [*results, replace(random, weights=())]

    def record(self, model: Model, parts: dict[str, ProbeData], step: str, random_seed: int | None = None) -> None:
        """Record the maps of all sentences, those of both treebanks in one pass."""
        started = time.monotonic()
        treebanks = [(part.gold, part.maps) for part in parts.values()]
        outcome = record_maps(model, treebanks, random_seed=random_seed, engine=self.engine, report=self.steps.begin(step))
        for name, why in outcome.skipped.items():
            raise TextError(f"Sentence {name} broke the worker that read it, twice: {why}.", "Leave it out of the treebank.")
        self.engine_facts = outcome.engine
        self.seconds["recording"] += time.monotonic() - started

    def fit(self, name: str, make: Callable[[torch.Generator], Scorer], parts: dict[str, ProbeData]) -> ProbeResult:
        """Train and score a probe with every seed."""
        started, report = time.monotonic(), self.steps.begin(f"training {name}")
        scores: list[Score] = []
        trainings: list[Training] = []
        weights: list[np.ndarray | None] = []
        for number in range(self.seeds):
            random = torch.Generator().manual_seed(self.seed * 1000 + number)
            scorer = make(random)

            def report_seed(done: int, of: int | None, tokens: int = 0, number: int = number) -> None:
                total = of or 1
                report(number * total + done, self.seeds * total)

            trainings.append(
                train_scorer(
                    scorer, parts["train"], epochs=self.epochs, generator=random, held_out=self.held_out, report=report_seed,
                )
            )  # fmt: skip
            scores.append(evaluate(scorer, parts["test"]))
            weights.append(weights_of(scorer, parts["test"]))
            if number == 0 and weights[0] is not None:
                self.parameters[name] = {key: value.numpy().copy() for key, value in scorer.state_dict().items()}
        self.seconds["training"] += time.monotonic() - started
        return ProbeResult(name, scores, trainings, [seed_weights for seed_weights in weights if seed_weights is not None])


def _counts(gold: GoldSentences, treebank: Treebank) -> dict[str, int]:
    return {"given": gold.n_given + len(treebank.skipped), "no_tree": len(treebank.skipped), **gold.texts.counts}


def _seen_again(golds: dict[str, GoldSentences]) -> int:
    """How many test sentences are also among the training sentences, word for word."""
    seen = {sentence.words for sentence in golds["train"].sentences}
    return sum(sentence.words in seen for sentence in golds["test"].sentences)


# ---- The results as tables


@dataclass(frozen=True)
class ProbeResult:
    """A probe and its scores, one for each seed.

    trainings  how the training of each seed went; empty where nothing is trained
    weights    [direction, head] of each seed; empty where the probe has no attention
    """

    name: str
    scores: Sequence[Score]
    trainings: Sequence[Training] = ()
    weights: Sequence[np.ndarray] = ()


def weights_of(scorer: Scorer, test: ProbeData) -> np.ndarray | None:
    """The weight that a probe gives to each head and direction: [direction, head]; None for a probe without attention.

    For attention only: its weights. With words: the mean weight over the gold arcs of the test sentences (ROOT's vector is zero).
    """
    if isinstance(scorer, AttentionOnly):
        return scorer.weights.detach().numpy().copy()
    if not isinstance(scorer, AttentionAndWords):
        return None
    total = torch.zeros(len(ARC_DIRECTIONS), len(test.maps.heads), dtype=torch.float64)
    with torch.inference_mode():
        for index, governors in enumerate(test.gold.governors):
            candidate, dependent = scorer.tables(test.vectors.of(test.name, index))  # [word, direction, head]
            total += dependent.sum(0) + candidate[governors[governors > 0] - 1].sum(0)
    return np.asarray(total / sum(map(len, test.gold.governors)))


def probes_table(results: Sequence[ProbeResult], seed: int) -> Table:
    """A row for each probe: scores in percent, the mean over seeds; low and high are the 95 % confidence interval of uas.

    n: words scored, without punctuation; spread: the standard deviation of uas over seeds; epochs: how many the probe was trained for,
    the mean over seeds; converged: the share of seeds that ended before the last epoch allowed.
    """
    rows: list[dict[str, Cell]] = []
    for result in results:
        mean = mean_score(result.scores)
        low, high = bootstrap_share(mean.hits, mean.of, seed=seed)
        spread = float(np.std([score.uas for score in result.scores], ddof=1)) if len(result.scores) > 1 else float("nan")
        scores = {"uas": mean.uas, "uas_with_punctuation": mean.uas_with_punctuation, "low": 100 * low, "high": 100 * high}
        epochs, converged = (_mean([getattr(training, name) for training in result.trainings]) for name in ("kept", "converged"))
        trained = {"epochs": epochs, "converged": converged}
        rows.append({"probe": result.name, **scores, "n": int(mean.of.sum()), "spread": spread, **trained})
    return Table.from_rows(rows)


def learning_table(results: Sequence[ProbeResult]) -> Table:
    """A row for each probe, seed and point of the learning curve; kept is 1 at the epoch whose weights the probe has."""
    rows: list[dict[str, Cell]] = []
    for result in results:
        for number, training in enumerate(result.trainings):
            for point in training.checkpoints:
                kept = int(point.epoch == training.kept)
                rows.append({"probe": result.name, "seed": number, **asdict(point), "kept": kept})
    return Table.from_rows(rows)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else float("nan")


def weights_table(results: Sequence[ProbeResult], heads: Heads) -> Table:
    """A row for each probe, head and direction: the mean weight over seeds."""
    rows: list[dict[str, Cell]] = []
    for result in results:
        if not result.weights:
            continue
        mean = np.mean(result.weights, axis=0)  # [direction, head]
        for direction, weights in zip(ARC_DIRECTIONS, mean, strict=True):
            for layer, head, weight in zip(heads.layers, heads.heads, weights, strict=True):
                rows.append({"probe": result.name, "layer": layer, "head": head, "direction": direction, "weight": float(weight)})
    return Table.from_rows(rows)
