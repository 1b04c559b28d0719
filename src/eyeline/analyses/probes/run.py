"""How much grammar all heads know together: probing classifiers on attention maps, after Clark et al. 2019, section 5 and table 3."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch

from eyeline.analyses.engines.choose import check_engine
from eyeline.analyses.engines.engine import Engine
from eyeline.analyses.probes.features import GoldSentences, Heads, Maps, heads_of, read_gold, record_maps
from eyeline.analyses.probes.parse import Probe, parses_table
from eyeline.analyses.probes.results import ProbeResult, learning_table, probes_table, weights_of, weights_table
from eyeline.analyses.probes.scorers import AttentionAndWords, AttentionOnly, DistancesAndWords, Scorer, right_branching
from eyeline.analyses.probes.training import EPOCHS, GAIN, PATIENCE, ProbeData, Score, Training, count, evaluate, held_out_sentences
from eyeline.analyses.probes.training import train as train_scorer
from eyeline.analyses.probes.vectors import WordVectors, glove_vectors, model_vectors
from eyeline.analyses.progress import ReportProgress, Steps
from eyeline.analyses.provenance import provenance
from eyeline.analyses.sampling import sample
from eyeline.analyses.word_maps import MAX_TOKENS
from eyeline.errors import Advice, TextError
from eyeline.models.model import Model, check_model
from eyeline.results.facts import CorpusFacts, EngineFacts, ProbeOptions
from eyeline.results.probes.facts import TrainingFacts, WordVectorFacts
from eyeline.results.probes.trained import ProbeWords, TrainedProbes
from eyeline.results.run import Run
from eyeline.text.treebank.read import as_treebank
from eyeline.text.treebank.sentence import Sentence
from eyeline.text.treebank.treebank import Treebank

SEEDS = 3
#: The largest seed that torch and NumPy both take.
MOST_SEED = 2**32 - 1


#: A run records two treebanks, trains three probes, records the untrained network and trains once more.
N_STEPS = 6


def probe(
    model: Model,
    treebank: Treebank | Sequence[Sentence] | str | Path,
    *,
    train: Treebank | Sequence[Sentence] | str | Path | None = None,
    glove: str | Path | None = None,
    limit: int | None = None,
    max_tokens: int = MAX_TOKENS,
    layers: Iterable[int] | None = None,
    seeds: int = SEEDS,
    epochs: int = EPOCHS,
    seed: int = 0,
    engine: Engine | str = "local",
    progress: ReportProgress | None = None,
) -> Run:
    """Train probes that find every word's governor from attention, on one treebank, and score them on another.

    treebank    the one to score on: what `read_treebank` read, or the file itself, or a list of Sentence
    train       the one to learn from; without it, one half of `treebank`, drawn with the seed, and the other half is scored
    limit       this many training sentences, chosen at random with the seed
    glove       word vectors (a folder or GloVe's text file); without it the words are the model's own input embeddings
    max_tokens  longer sentences are left out and counted, as in the paper
    layers      only the heads of these layers
    seeds       how often each probe is trained, each time with other starting weights and another order; tables give the mean
    epochs      how often each sentence is seen at most; once in the paper. A tenth of the training sentences is held out: training ends
                where the loss on them has not fallen by one per cent in five epochs, and the weights of the best epoch are kept
    engine      where attention is recorded: "local" (this process), "processes", "ray", or el.Ray(workers=8, …); the numbers are the
                same. Probes are trained in this process

    Tables: probes (unlabelled attachment scores in percent, without and with punctuation, the interval of the first from resampled
    sentences), probes_learning (the learning curve of each training), probe_weights (which heads the probes use) and probe_parses (some
    sentences parsed).
    """
    check_model(model)
    check_engine(engine)
    if not 0 <= seed <= MOST_SEED:
        raise TextError(f"seed={seed}.", f"Give a whole number from 0 to {MOST_SEED}.")
    for name, value in (("seeds", seeds), ("epochs", epochs), ("limit", limit), ("max_tokens", max_tokens)):
        if value is not None and value < 1:
            raise TextError(f"{name}={value}.", "At least 1 is needed.")
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
    experiment = _Experiment(golds, vectors, heads_of(model, layers), seeds, epochs, seed, Steps(progress, N_STEPS), engine, held_out)
    results = experiment.run(model)
    numbers = None if layers is None else tuple(sorted(set(experiment.heads.layers)))
    options = ProbeOptions(limit, max_tokens, numbers, seeds, epochs, seed, vectors.name)
    facts = replace(
        provenance(model, CorpusFacts(score.name, score.sha256, sentences=len(score), synthetic=score.synthetic), options),
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
        folded = record_maps(model, treebanks, random_seed=random_seed, engine=self.engine, report=self.steps.begin(step))
        for name, why in folded.skipped.items():
            raise TextError(f"Sentence {name} broke the worker that read it, twice: {why}.", "Leave it out of the treebank.")
        self.engine_facts = folded.engine
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
