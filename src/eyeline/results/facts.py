"""What a run's numbers come from: which model, which corpus, which options, how much of it, which versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from eyeline.errors import TraceError
from eyeline.results.probes.facts import TrainingFacts, WordVectorFacts
from eyeline.storage.records import NAME


@dataclass(frozen=True)
class ModelFacts:
    """class_name: of the Hugging Face model; sha256: the fingerprint of weights and tokeniser;
    stacks: stack → layers, heads, key heads (of the first layer)."""

    name: str
    revision: str | None = None
    class_name: str = field(default="", metadata={NAME: "class"})
    dtype: str = ""
    sha256: str = ""
    stacks: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class CorpusFacts:
    """documents, sentences: how many it holds; unit: what a document is; parts: of a merged run, the corpora that were merged;
    synthetic: whether its sentences were made up by a program."""

    name: str
    sha256: str = ""
    documents: int | None = None
    sentences: int | None = None
    unit: str | None = None
    parts: tuple[CorpusFacts, ...] | None = None
    synthetic: bool = False


@dataclass(frozen=True)
class AnalyseOptions:
    """The arguments of `analyse`; layers: by stack."""

    limit: int | None = None
    max_tokens: int | None = None
    pairs: bool = False
    window: bool = False
    layers: Mapping[str, tuple[int, ...]] | None = None
    seed: int = 0


@dataclass(frozen=True)
class SyntaxOptions:
    """The arguments of `syntax`."""

    labels: str = "ud"
    min_count: int = 100
    limit: int | None = None
    max_tokens: int | None = None
    layers: tuple[int, ...] | None = None
    seed: int = 0


@dataclass(frozen=True)
class CoreferenceOptions:
    """The arguments of `coreference`."""

    limit: int | None = None
    max_tokens: int | None = None
    first_window: bool = False
    layers: tuple[int, ...] | None = None
    seed: int = 0
    strict: bool = False


@dataclass(frozen=True)
class ProbeOptions:
    """The arguments of `probe`; epochs: the most; words: the name of the word vectors."""

    limit: int | None = None
    max_tokens: int | None = None
    layers: tuple[int, ...] | None = None
    seeds: int = 1
    epochs: int = 1
    seed: int = 0
    words: str = ""


@dataclass(frozen=True)
class SpaceOptions:
    """The arguments of `space`."""

    of: str = "queries-keys"
    project: str = "fitted"
    gauge: str = "none"
    dims: int = 2
    shared_scale: bool = False
    layers: tuple[int, ...] | None = None
    heads: tuple[int, ...] | None = None
    limit: int | None = None
    max_tokens: int | None = None
    seed: int = 0
    background: bool | None = None
    distance: str = "euclidean"
    correlate: str = "full"


@dataclass(frozen=True)
class CompareOptions:
    """The arguments of `compare`; other: the name of the second model; layers: by stack."""

    other: str = field(default="", metadata={NAME: "with"})
    layers: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    limit: int | None = None
    max_tokens: int | None = None
    seed: int = 0
    spaces: bool = True


@dataclass(frozen=True)
class CircuitOptions:
    """The arguments of `circuit`, and the metric logit(answer) − logit(against) on the clean and on the corrupt text."""

    clean: str = ""
    corrupt: str = ""
    answer: str = ""
    against: str = ""
    method: str = "eap-ig"
    steps: int = 5
    clean_metric: float = 0.0
    corrupt_metric: float = 0.0


Options = AnalyseOptions | SyntaxOptions | CoreferenceOptions | ProbeOptions | SpaceOptions | CompareOptions | CircuitOptions
AnyOptions = TypeVar(
    "AnyOptions", AnalyseOptions, SyntaxOptions, CoreferenceOptions, ProbeOptions, SpaceOptions, CompareOptions, CircuitOptions
)
Fact = TypeVar("Fact")
#: The kinds of runs, in the order in which they are shown, and the options of each. One folder holds at most one run of each kind.
OPTIONS: dict[str, type[Options]] = {
    "analyse": AnalyseOptions,
    "syntax": SyntaxOptions,
    "coreference": CoreferenceOptions,
    "probe": ProbeOptions,
    "space": SpaceOptions,
    "compare": CompareOptions,
    "circuit": CircuitOptions,
}
KINDS = tuple(OPTIONS)


@dataclass(frozen=True)
class ExampleFacts:
    """The text that the figure of coreference shows, and the head that it shows."""

    document: str
    layer: int
    head: int


@dataclass(frozen=True)
class HeldOutFacts:
    """heads: the head chosen on each half of the documents, such as L3·H7; why: the reason where there is none."""

    heads: tuple[str, ...] = ()
    why: str | None = None


@dataclass(frozen=True)
class CoreferenceFacts:
    """n: type of mention → how many were scored."""

    n: Mapping[str, int]
    held_out: HeldOutFacts
    example: ExampleFacts


@dataclass(frozen=True)
class StackCheck:
    """error: the largest difference in one stack; whole: whether attention is nothing but softmax of the scores."""

    error: float
    whole: bool


@dataclass(frozen=True)
class GaugeCheck:
    """How far attention recomputed from the gauged vectors is from the model's, and whether that is near enough."""

    largest_difference: float
    within: float
    holds: bool
    stacks: Mapping[str, StackCheck | None] = field(default_factory=dict)


@dataclass(frozen=True)
class FidelityFacts:
    """How sure the fidelity shown of a space is: the 95 % interval of its mean over heads when the tokens are drawn again (bootstrap)."""

    tokens: int
    low: float
    high: float


@dataclass(frozen=True)
class EngineFacts:
    """Where the shards of a run were folded, if not in the process that started it: by how many workers with how many threads each, on
    how many machines. shards: how many, of how many documents at most; retries: shards and documents that were folded again."""

    name: str
    workers: int
    threads: int
    machines: int
    shards: int
    documents_in_a_shard: int
    retries: int = 0
    gpus_per_worker: float = 0.0


@dataclass(frozen=True)
class RunFacts:
    """Everything that is known of a run of one kind beside its tables.

    counts      what was read and used: documents, texts, sentences, words, tokens, too_long …
    left_out    what of the wanted results is missing → why
    dropped     reason (no_tree, too_long, unreadable) → sentence → why it is not in the numbers
    notices     sentences that a reader of these numbers must know
    stress      head map → Kruskal's stress of its layout
    seconds     step → seconds; "all" is the whole run
    statistics  of `analyse`: statistic → the options that it was made with; streamed: whether maps were never formed
    engine      of a run by several workers; None: it was folded in one process
    other       of `compare`: the second model; level: whether tokens or words were compared
    """

    model: ModelFacts
    corpus: CorpusFacts
    options: Options
    counts: Mapping[str, int] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    dropped: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    stress: Mapping[str, float] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    statistics: Mapping[str, Mapping[str, object]] | None = None
    streamed: bool | None = None
    coreference: CoreferenceFacts | None = None
    train: TrainingFacts | None = None
    words: WordVectorFacts | None = None
    gauge_check: GaugeCheck | None = None
    fidelity: FidelityFacts | None = None
    other: ModelFacts | None = field(default=None, metadata={NAME: "with"})
    level: str | None = None
    engine: EngineFacts | None = None

    @property
    def kind(self) -> str:
        """analyse, syntax, coreference, probe, space, compare or circuit."""
        return next(kind for kind, options in OPTIONS.items() if isinstance(self.options, options))

    @property
    def total_seconds(self) -> float:
        """How long the run took: the whole where it was measured, else the sum of its steps."""
        return self.seconds.get("all", sum(self.seconds.values()))

    def options_as(self, kind: type[AnyOptions]) -> AnyOptions:
        """The options, where the run is of the kind that has such options; else an error."""
        if not isinstance(self.options, kind):
            raise TraceError(f"A run of {self.kind} has no {kind.__name__}.", "Choose a run of another kind.")
        return self.options


def present(fact: Fact | None, name: str) -> Fact:
    """A fact that only runs of some kinds have; an error where it is missing."""
    if fact is None:
        raise TraceError(f"This run has no {name} among its facts.", "It is a run of another kind.")
    return fact
