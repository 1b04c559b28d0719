"""What a run's numbers come from: which model, which corpus, which options, how much of it, which versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from eyeline.errors import TraceError
from eyeline.kinds import RUNS, named
from eyeline.measure.runs.options import Options
from eyeline.messages import Message
from eyeline.storage.records import NAME, from_json, to_json


@dataclass(frozen=True)
class RunFacts:
    """Everything that is known of a run of one kind beside its tables. Each subject has a record of its own, with further facts.

    options     the arguments of the analysis
    counts      what was read and used: documents, texts, sentences, words, tokens, too_long …
    left_out    what of the wanted results is missing → why
    dropped     reason (no_tree, too_long, unreadable) → sentence → why it is not in the numbers
    notices     sentences that a reader of these numbers must know
    stress      head map → Kruskal's stress of its layout
    seconds     step → seconds; "all" is the whole run
    engine      of a run by several workers; None: it was computed in one process
    """

    model: ModelFacts
    corpus: CorpusFacts
    options: Options
    counts: Mapping[str, int] = field(default_factory=dict)
    left_out: Mapping[str, Message] = field(default_factory=dict)
    dropped: Mapping[str, Mapping[str, Message]] = field(default_factory=dict)
    notices: tuple[Message, ...] = ()
    stress: Mapping[str, float] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    engine: EngineFacts | None = None

    @property
    def kind(self) -> str:
        """Of `kinds.RUNS`: analyse, syntax, coreference, probe, space, compare or circuit."""
        return self.options.run_kind

    @property
    def total_seconds(self) -> float:
        """How long the run took: the whole where it was measured, else the sum of its steps."""
        return self.seconds.get("all", sum(self.seconds.values()))

    def of_kind(self, kind: type[KindOfFacts]) -> KindOfFacts:
        """These facts as those of a run of one kind, with its options; an error where the run is of another."""
        if not isinstance(self, kind):
            raise TraceError(f"A run of {self.kind} has no {kind.__name__}.", "Choose a run of another kind.")
        return self


KindOfFacts = TypeVar("KindOfFacts", bound=RunFacts)

Fact = TypeVar("Fact")


def present(fact: Fact | None, name: str) -> Fact:
    """A fact that only runs of some kinds have; an error where it is missing."""
    if fact is None:
        raise TraceError(f"This run has no {name} among its facts.", "It is a run of another kind.")
    return fact


@dataclass(frozen=True)
class ModelFacts:
    """class_name: of the Hugging Face model; sha256: the identity of weights, configuration and tokeniser;
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
class EngineFacts:
    """Where the shards of a run were computed, if not in the process that started it: by how many workers with how many threads each, on
    how many machines. shards: how many, of how many documents at most; retries: shards and documents that were computed again."""

    name: str
    workers: int
    threads: int
    machines: int
    shards: int
    documents_in_a_shard: int
    retries: int = 0
    gpus_per_worker: float = 0.0


# ---- Facts as JSON


#: The form of run.json.
FORMAT = 2


def facts_to_json(facts: RunFacts) -> dict[str, Any]:
    """Facts as run.json holds them, the kind first."""
    return {"kind": facts.kind, **to_json(facts)}


def facts_from_json(data: Any) -> RunFacts:
    """Facts from run.json. What is missing, unknown or of a wrong type is a ValueError."""
    if not isinstance(data, Mapping):
        raise ValueError(f"the facts are {type(data).__name__}, not a mapping")
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in RUNS:
        raise ValueError(f"a run of kind {kind!r}")
    facts: RunFacts = from_json(named(RUNS[kind].facts), {**data, "options": data.get("options")}, "facts")
    return facts
