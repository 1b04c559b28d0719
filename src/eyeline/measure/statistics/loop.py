"""A corpus through the model into statistics, group after group: in the process of a run or by workers, and so that it can be resumed."""

from __future__ import annotations

import itertools
import json
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch

from eyeline.errors import Advice, EyelineError, StorageError
from eyeline.measure.engines.local import engine_facts
from eyeline.measure.engines.processes import Engine
from eyeline.measure.engines.schedule import Schedule
from eyeline.measure.engines.work import ShardResult, Status, Work
from eyeline.measure.runs.facts import EngineFacts, facts_from_json, facts_to_json
from eyeline.measure.runs.progress import Progress, ReportProgress, StopRequestedError, interrupt_between_steps
from eyeline.measure.statistics.agreement import Forms, PassCheck, differs_now, is_rechecked
from eyeline.measure.statistics.options import AnalyseFacts
from eyeline.measure.statistics.prepare import GROUP, BatchSize, Preparation
from eyeline.measure.statistics.rows import Rows, rows_of_map, rows_of_scores
from eyeline.measure.statistics.statistic import Batch, Statistic, roles_of
from eyeline.models import kernels
from eyeline.models.attention import LayerAttention, UncheckedMaskError
from eyeline.models.inputs import Example
from eyeline.models.kernels import KeySets, naming_kernels
from eyeline.models.model import Model
from eyeline.models.tracing import in_batches
from eyeline.storage.files import locked_folder, within
from eyeline.storage.records import from_json, to_json
from eyeline.storage.sealed import FileKind, kind_of, read_sealed, write_sealed
from eyeline.text.corpora.corpus import Document

#: Seconds after which the sums are written again.
SAVE_EVERY = 30.0


@dataclass(frozen=True)
class Plan:
    """What does not change during a run. total: how many documents there are, where that is known."""

    model: Model
    preparation: Preparation
    layers: dict[str, tuple[int, ...]]
    facts: AnalyseFacts
    folder: Path | None
    progress: ReportProgress | None
    total: int | None


class Loop:
    """The state of a run between two batches, which are computed in this process.

    broke     document → why it is not in the numbers: it broke the worker that read it, twice
    retries   shards and documents that were computed again
    """

    def __init__(self, plan: Plan, statistics: list[Statistic], start: Position) -> None:
        self.model, self.preparation, self.layers, self.facts = plan.model, plan.preparation, plan.layers, plan.facts
        self.folder, self.progress, self.total = plan.folder, plan.progress, plan.total
        self.statistics, self.start = statistics, start
        self.counts, self.seconds = Counter(start.counts), start.seconds  # of what has been computed
        self.broke, self.retries, self.engine_facts = dict(start.broke), start.retries, start.engine
        seed = plan.facts.options.seed
        size = BatchSize(start.texts, start.tokens) if start.texts and start.tokens else BatchSize.of(plan.model)
        self.groups = Groups(plan.model, plan.preparation, plan.layers, seed, start.streamed, size, Forms.of(start.slower, start.checked))
        self._started, self._saved = time.monotonic() - self.seconds, time.monotonic()

    @property
    def streamed(self) -> bool | None:
        """Whether maps are never formed; None: to be tried on the first batch."""
        return self.groups.streamed

    def run(self, documents: Iterator[Document]) -> list[Statistic]:
        """Add every batch after the position at which the run starts."""
        if not self.start.complete:
            with interrupt_between_steps() if self.folder is not None else nullcontext(lambda: None) as interrupt:
                self._run(self._not_done(documents), interrupt)
            for statistic in self.statistics:
                statistic.flush()
            self.seconds = time.monotonic() - self._started
        return self.statistics

    def _run(self, groups: Iterator[tuple[int, list[Document]]], interrupt: Callable[[], None]) -> None:
        for number, group, read in self._read_ahead(groups):
            self._add_group(number, group, read, interrupt)

    def _read_ahead(self, groups: Iterator[tuple[int, list[Document]]]) -> Iterator[tuple[int, list[Document], ReadGroup]]:
        """Each group with its texts. While a GPU works on one group, a thread reads the next; processors have no time to spare."""
        if self.model._hf.device.type != "cuda":
            yield from ((number, group, self.groups.read(group)) for number, group in groups)
            return
        with ThreadPoolExecutor(1) as thread:
            ahead: Future[ReadGroup] | None = None
            current: tuple[int, list[Document]] | None = None
            for number, group in groups:
                following = thread.submit(self.groups.read, group)
                if ahead is not None and current is not None:
                    yield *current, ahead.result()
                ahead, current = following, (number, group)
            if ahead is not None and current is not None:
                yield *current, ahead.result()

    def _not_done(self, documents: Iterator[Document]) -> Iterator[tuple[int, list[Document]]]:
        """The groups that are not done yet, each with its index; several at once where a batch holds the texts of several."""
        number = self.start.done[0]
        for _ in itertools.islice(documents, number * GROUP):  # these are done
            pass
        while group := list(itertools.islice(documents, self._together(number) * GROUP)):
            yield number, group
            number += self._together(number)

    def _together(self, number: int) -> int:
        """How many groups are computed together from this one on."""
        return self.groups.size.groups

    def _add_group(self, number: int, group: list[Document], read: ReadGroup, interrupt: Callable[[], None]) -> None:
        """Add the batches of a group that are not done yet."""
        done = self.start.done[1] if number == self.start.done[0] else 0
        texts = read.texts
        if not done:  # else the group was counted before the run was interrupted
            self.counts += read.counts
        cut = self.groups.batches(texts, self.statistics)
        for index, indices in enumerate(cut):
            if index < done:
                continue
            with naming_kernels(partial(self._report_kernel, number)):
                self.groups.add_batch([texts[i] for i in indices], self.statistics, number, index)
            self._keep((number, index + 1))
            try:
                interrupt()
                self._report(number, len(group), read.counts["tokens"], (index + 1) / len(cut))
            except (StopRequestedError, KeyboardInterrupt):
                self.save((number, index + 1))  # a batch is added whole, so that --resume can go on from here
                raise

    def _keep(self, done: tuple[int, int]) -> None:
        """Update the seconds, and write the sums every SAVE_EVERY seconds."""
        self.seconds = time.monotonic() - self._started
        if self.folder is not None and time.monotonic() - self._saved > SAVE_EVERY:
            self.save(done)
            self._saved = time.monotonic()

    def _report(self, number: int, documents: int, tokens_read: int, share: float) -> None:
        """Report that this share of the documents of a group is done."""
        if self.progress is not None:
            tokens = self.counts["tokens"] - int(tokens_read * (1 - share))
            self.progress(Progress("documents", number * GROUP + int(documents * share), self.total, tokens, self.seconds))

    def _report_kernel(self, number: int, name: str) -> None:
        """Report that a kernel is prepared, which may take seconds; a reader who wants to stop is heard after the batch."""
        if self.progress is not None:
            with suppress(StopRequestedError):
                self.progress(Progress("documents", number * GROUP, self.total, self.counts["tokens"], self.seconds, kernel=name))

    def save(self, done: tuple[int, int], *, complete: bool = False) -> None:
        if self.folder is not None:
            size = self.groups.size
            position = Position(
                done, dict(self.counts), self.seconds, self.streamed, complete, self.broke, self.retries, size.texts, size.tokens,
                dict(sorted(self.groups.forms.slower.items())), tuple(sorted(self.groups.forms.checked)), self.engine_facts,
            )  # fmt: skip
            save_state(self.folder, self.statistics, self.facts, position)


class LoopOfWorkers(Loop):
    """The state of a run whose groups are computed by workers, as shards: their sums are merged in the order of the groups, each once."""

    def __init__(self, plan: Plan, statistics: list[Statistic], start: Position, engine: Engine) -> None:
        super().__init__(plan, statistics, start)
        options = plan.facts.options
        self.engine, self._merged = engine, start.done[0]
        self.work = CorpusWork(
            statistics=tuple((type(statistic), statistic.options()) for statistic in statistics),
            layers=plan.layers,
            max_tokens=options.max_tokens,
            window=options.window,
            seed=options.seed,
        )

    def _run(self, groups: Iterator[tuple[int, list[Document]]], interrupt: Callable[[], None]) -> None:
        if self.start.done[1]:  # a group that a local run left half-way is finished in this process
            for number, group in itertools.islice(groups, 1):
                self._add_group(number, group, self.groups.read(group), interrupt)
                self._merged = number + self._together(number)
        before = Counter(self.counts)

        def report(status: Status) -> None:
            interrupt()
            if self.progress is not None:
                done, tokens = before["documents"] + status.documents, before["tokens"] + status.tokens
                self.progress(Progress("documents", done, self.total, tokens, time.monotonic() - self._started, workers=status.alive))

        with self.engine.session(self.work, self.model, report) as schedule:
            try:
                self._merge_all(schedule, groups)
            except (StopRequestedError, KeyboardInterrupt):
                self.save((self._merged, 0))
                raise
            self.engine_facts = replace(engine_facts(self.engine, schedule, GROUP), shards=self._merged, retries=self.retries)

    def _together(self, number: int) -> int:
        """A shard is one group; a local run may have left several half-way."""
        half_way = number == self.start.done[0] and self.start.done[1] > 0
        return self.groups.size.groups if half_way else 1

    def _merge_all(self, schedule: Schedule[DocumentShard, ShardSums], groups: Iterator[tuple[int, list[Document]]]) -> None:
        """Until it is known whether maps are formed, one shard at a time; the workers open the model meanwhile."""
        while self.streamed is None:
            following = next(groups, None)
            if following is None:
                return
            self._merge(schedule, [following])
        self._merge(schedule, groups)

    def _merge(self, schedule: Schedule[DocumentShard, ShardSums], groups: Iterable[tuple[int, list[Document]]]) -> None:
        shards = (DocumentShard(number, tuple(group), self.streamed, self.groups.forms.copy()) for number, group in groups)
        retries = self.retries - schedule.retries
        for result in schedule.results(shards):
            self._add_sums(result)
            self._merged += 1
            self.retries = retries + schedule.retries
            self._keep((self._merged, 0))

    def _add_sums(self, result: ShardResult[ShardSums]) -> None:
        """Add the sums of a shard."""
        if result.sums is not None:
            for statistic, state in zip(self.statistics, result.sums.states, strict=True):
                statistic.merge(statistic.from_state(state))
            self.groups.streamed = result.sums.streamed
            self.groups.forms.add(result.sums.forms)
            self.counts += Counter(result.sums.counts)
        if result.skipped:
            self.broke |= result.skipped
            self.counts["documents"] += len(result.skipped)
            self.counts["broke"] += len(result.skipped)


# ---- Groups of documents, in the process of a run or as the shards of its workers


@dataclass(frozen=True)
class ReadGroup:
    """The texts of a group of documents, and counts of what happened to its documents."""

    texts: list[Example]
    counts: Counter[str]


class Groups:
    """Reads groups of documents and adds their batches to statistics.

    streamed   whether maps are never formed; None: to be tried on the first batch
    size       of a batch; None: what the model's device holds
    forms      which form of attention each layer takes, as the checks of the run have found so far
    """

    def __init__(
        self,
        model: Model,
        preparation: Preparation,
        layers: Mapping[str, tuple[int, ...]],
        seed: int,
        streamed: bool | None,
        size: BatchSize | None = None,
        forms: Forms | None = None,
    ) -> None:
        self.model, self.preparation, self.layers, self.seed, self.streamed = model, preparation, layers, seed, streamed
        self.size = BatchSize.of(model) if size is None else size
        self.forms = forms or Forms()
        self.roles = roles_of(model._tokenizer) if model._tokenizer is not None else {}

    def read(self, documents: Sequence[Document]) -> ReadGroup:
        """The texts of a group."""
        self.preparation.counts = Counter()
        texts = self.preparation.read_many(documents)
        return ReadGroup(texts, self.preparation.counts)

    def batches(self, texts: Sequence[Example], statistics: Sequence[Statistic]) -> list[list[int]]:
        """Which of the texts go through the model together."""
        limits = (statistic.batch_tokens(self.model) for statistic in statistics)
        tokens = min([self.size.tokens, *(limit for limit in limits if limit is not None)])
        return in_batches(self.model.layout, texts, tokens, self.size.texts)

    def add_batch(self, examples: Sequence[Example], statistics: list[Statistic], group: int, batch_index: int) -> None:
        """Add one batch, of this index within its group."""
        batch = Batch(tuple(examples), self.roles, self.model._hf.device, self.layers)
        check = (
            PassCheck(self.model.name, self.forms, again=is_rechecked(self.seed, group, batch_index))
            if self.streamed is not False
            else None
        )
        try:
            update_statistics(self.model, batch, statistics, self.layers, streamed=check is not None, one_pass=True, check=check)
        except UncheckedMaskError as error:
            if self.streamed:
                raise differs_now(self.model.name) from error
            self.streamed = False
            self.forms.slower = {"all.0": "unchecked"}
            statistics[:] = [statistic.fresh() for statistic in statistics]  # it was the first batch: nothing else was added
            update_statistics(self.model, batch, statistics, self.layers, streamed=False)
        self.streamed = self.streamed if self.streamed is not None else True


@dataclass(frozen=True)
class DocumentShard:
    """A group of documents.

    group      its index in the corpus
    streamed, forms   as in Groups; None: the worker tries it, and the shards after this one do as it found
    """

    group: int
    documents: tuple[Document, ...]
    streamed: bool | None
    forms: Forms = field(default_factory=Forms)

    @property
    def n_documents(self) -> int:
        return len(self.documents)

    def alone(self) -> Sequence[tuple[str, DocumentShard]]:
        return [(name, replace(self, documents=(document,))) for name, document in self._named()]

    def without(self, names: Collection[str]) -> DocumentShard:
        return replace(self, documents=tuple(document for name, document in self._named() if name not in names))

    def _named(self) -> list[tuple[str, Document]]:
        return [(f"document {self.group * GROUP + i + 1} (line {each.line})", each) for i, each in enumerate(self.documents)]


@dataclass(frozen=True)
class ShardSums:
    """states: of each statistic, in their order; counts: of what was read."""

    states: tuple[Mapping[str, np.ndarray], ...]
    counts: Mapping[str, int]
    streamed: bool | None
    forms: Forms


@dataclass(frozen=True)
class CorpusWork(Work[DocumentShard, ShardSums]):
    """Everything that a worker needs to know of a run. statistics: the class of each, and its options."""

    statistics: tuple[tuple[type[Statistic], Mapping[str, object]], ...]
    layers: Mapping[str, tuple[int, ...]]
    max_tokens: int | None
    window: bool
    seed: int

    def open(self, model: Model) -> Callable[[DocumentShard], ShardResult[ShardSums]]:
        prepared = [kind(**options) for kind, options in self.statistics]
        for statistic in prepared:
            statistic.prepare(model, self.seed)
        groups = Groups(model, Preparation(model, self.max_tokens, self.window), self.layers, self.seed, None)

        def compute(shard: DocumentShard) -> ShardResult[ShardSums]:
            groups.streamed = shard.streamed
            groups.forms.add(shard.forms)
            statistics = [statistic.fresh() for statistic in prepared]
            read = groups.read(shard.documents)
            texts = read.texts
            for index, indices in enumerate(groups.batches(texts, statistics)):
                groups.add_batch([texts[i] for i in indices], statistics, shard.group, index)
            states = tuple(statistic.state() for statistic in statistics)
            return ShardResult(ShardSums(states, dict(read.counts), groups.streamed, groups.forms.copy()), read.counts["tokens"])

        return compute


# ---- One batch


#: Maps of texts with at most this many tokens are computed whole.
WHOLE = 1024


def update_statistics(
    model: Model,
    batch: Batch,
    statistics: Sequence[Statistic],
    layers: Mapping[str, tuple[int, ...]],
    *,
    streamed: bool,
    one_pass: bool = False,
    check: PassCheck | None = None,
) -> None:
    """Run the batch and update every statistic with every chosen layer.

    streamed: maps are never formed, which is possible where attention is plain softmax; else rows come from the model's maps
    one_pass: where maps are never formed, the kernel that gives a layer's output may give the numbers of its rows along with it
    check: of the streamed layers; those that differ from their own maps take a slower form
    """
    no_maps = not any(statistic.reads_weights(batch) for statistic in statistics)

    def update_all(rows: Rows) -> None:
        for statistic in statistics:
            statistic.update(rows, batch)

    def from_scores(attention: LayerAttention) -> torch.Tensor | None:
        measured = attention.layer in layers[attention.stack]
        agreed = attention if check is None else check.form_that_agrees(attention, measured=measured, fused=no_maps)
        if agreed is None:
            return dense_layer(attention, update_all if measured else None)
        if measured:
            for rows in rows_of_scores(agreed, fused=no_maps):
                update_all(rows)
        return agreed.call.output

    def from_map(attention: LayerAttention) -> None:
        if attention.layer in layers[attention.stack]:
            update_all(rows_of_map(attention))

    with torch.inference_mode():
        if streamed:
            one_pass = one_pass and no_maps and kernels.may_apply(model._hf.device.type, model._hf.dtype)
            sets = _key_sets(model, batch, statistics, layers) if one_pass else {}
            slower = check.forms.slower if check is not None else {}
            faster = {slot: of for slot, of in sets.items() if f"{slot[0]}.{slot[1]}" not in slower}
            model._passes.layers_without_maps(batch.examples, from_scores, faster)
        else:
            model._passes.layers(batch.examples, from_map, rows=_rows_at_once(batch))
    for statistic in statistics:
        statistic.finish(batch)


def dense_layer(attention: LayerAttention, receive: Callable[[Rows], None] | None) -> torch.Tensor:
    """A layer's output from its own maps, some rows at a time, in a pass that forms no others: [text, query, head, dim]."""
    call = attention.call
    n_queries, n_keys = call.queries.shape[2], call.keys.shape[2]
    at_once = n_queries if max(n_queries, n_keys) <= WHOLE else max(16, WHOLE * WHOLE // n_keys)
    outputs = []
    for first in range(0, n_queries, at_once):
        index = torch.arange(first, min(n_queries, first + at_once), device=call.queries.device)
        output, maps, mask = call.own_of_rows(slice(None), index, attention.stack, single=False)
        outputs.append(output)
        if receive is not None:
            mask = maps.new_zeros(1, 1, 1, 1) if mask is None else mask  # every key is seen
            part = replace(call, queries=call.queries[:, :, index], mask=mask, maps=maps, first=first, in_blocks=at_once < n_queries)
            receive(rows_of_map(replace(attention, recorded=part)))
    return torch.cat(outputs, 1)


def _key_sets(
    model: Model, batch: Batch, statistics: Sequence[Statistic], layers: Mapping[str, tuple[int, ...]]
) -> dict[tuple[str, int], KeySets]:
    """The sets of keys that the statistics need, for every chosen layer."""
    by_layer: dict[tuple[str, int], KeySets] = {}
    for stack, chosen in layers.items():
        wanted = [sets for statistic in statistics if statistic.from_rows and (sets := statistic.key_sets(batch, stack)) is not None]
        n_texts, n_keys = len(batch.examples), max(len(keys) for _, keys in batch.texts(stack))
        none = torch.empty(n_texts, n_keys, 0, device=batch.device)
        together = KeySets.of(wanted or [none], model._hf.dtype)
        by_layer |= {(stack, layer): together for layer in chosen}
    return by_layer


def _rows_at_once(batch: Batch) -> int | None:
    """Maps of long texts come in blocks of rows."""
    longest = max(max(len(queries), len(keys)) for stack in ("encoder", "decoder") for queries, keys in batch.texts(stack))
    return None if longest <= WHOLE else max(16, WHOLE * WHOLE // longest)


# ---- The sums of an unfinished run


STATE = FileKind(
    "state",
    format=2,
    written_by="The sums of a run are written by: eyeline analyse CORPUS -o FOLDER",
    otherwise=Advice("Start the run anew, without resume=True.", "Start the run anew, without --resume."),
)

#: The file of the sums in the folder of a run, and that of its lock.
FILE = "statistics.safetensors"

LOCK = ".lock"


@dataclass(frozen=True)
class Position:
    """How far a run is.

    done       groups of documents, and batches of the group after them
    counts     of the documents, texts and tokens done so far; seconds: how long that took
    streamed   whether maps are never formed; None where it is not known yet
    complete   whether nothing is left to compute
    broke      document → why it was left out, after it broke the worker that read it; retries: shards that were computed again
    texts, tokens   the limits of a batch: a resumed run keeps those that it started with; None before it is started
    slower, checked   which form of attention the layers take, as in `Forms`
    engine     where a finished run was computed, if not in the process that started it
    """

    done: tuple[int, int]
    counts: Mapping[str, int]
    seconds: float
    streamed: bool | None
    complete: bool
    broke: Mapping[str, str] = field(default_factory=dict)
    retries: int = 0
    texts: int | None = None
    tokens: int | None = None
    slower: Mapping[str, str] = field(default_factory=dict)
    checked: tuple[str, ...] = ()
    engine: EngineFacts | None = None


@dataclass(frozen=True)
class SavedState:
    """The saved statistics, the facts of their run, and how far it was."""

    statistics: list[Statistic]
    facts: AnalyseFacts
    position: Position


def only_run(folder: Path) -> AbstractContextManager[None]:
    """Make the folder and lock it: a second run into it is refused. A run that fails before it saves its sums leaves nothing new."""
    advice = "Wait for it, stop it, or choose another folder."
    return locked_folder(folder, LOCK, wait=0, busy="another run is writing here.", advice=advice)


def save_state(folder: Path, statistics: Sequence[Statistic], facts: AnalyseFacts, position: Position) -> None:
    """Write the sums of every statistic, with the facts of the run."""
    arrays = {f"{statistic.name}/{name}": values for statistic in statistics for name, values in statistic.state().items()}
    write_sealed(folder / FILE, STATE, {"facts": facts_to_json(facts), "position": to_json(position)}, arrays)


def remove_state(folder: Path) -> None:
    """Delete the sums that a folder holds. A finished run there stays until the new one is saved."""
    if (folder / FILE).exists() and kind_of(folder / FILE) != STATE.name:
        raise StorageError(f"{folder / FILE}: not the sums of a run, or damaged.", "Move or delete it, or choose another folder.")
    try:
        (folder / FILE).unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(f"{folder / FILE}: cannot be removed ({error.strerror}).", "Choose another folder.") from error


def load_state(folder: Path, statistics: Sequence[Statistic]) -> SavedState | None:
    """What was saved in a folder, read with statistics of the same names; None where nothing was saved."""
    path = within(folder, folder / FILE)
    if not path.exists():
        return None
    sealed = read_sealed(path, STATE)
    try:
        facts = facts_from_json(sealed.header["facts"]).of_kind(AnalyseFacts)
        position = from_json(Position, sealed.header["position"], "position")
        restored = [
            statistic.from_state(
                {name.split("/", 1)[1]: array for name, array in sealed.arrays.items() if name.split("/", 1)[0] == statistic.name}
            )
            for statistic in statistics
        ]
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, EyelineError):
            raise
        raise STATE.damaged(path, f"{type(error).__name__}: {error}") from error
    return SavedState(restored, facts, position)


def check_same(folder: Path, saved: AnalyseFacts, now: AnalyseFacts) -> None:
    """Refuse to continue with sums of another corpus, model or options."""
    earlier = "Or it was started by an earlier version of eyeline, which names the same model in another way (sha256)."
    for name, before, after, hint in (
        ("corpus", saved.corpus, now.corpus, "The corpus has changed since the run was started."),
        ("model", saved.model, now.model, "The run was started with another model, or its weights have changed."),
        ("options", saved.options, now.options, "The run was started with other options."),
        ("statistics", saved.statistics, now.statistics, "The run was started for other analyses."),
    ):
        saved_json, current_json = (json.dumps(to_json(value), sort_keys=True) for value in (before, after))
        if saved_json != current_json:
            advice = ([earlier] if name == "model" else []) + ["Use another folder."]
            raise StorageError(f"{folder}: {hint}", f"{name} then: {saved_json}", f"{name} now:  {current_json}", *advice)
