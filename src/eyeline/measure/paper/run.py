"""Clark et al. 2019 ("What Does BERT Look At?") as one piece of work: its analyses of one model, and its published numbers beside them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from eyeline.errors import Advice, ModelError, StorageError
from eyeline.heads import HeadRef
from eyeline.measure.coreference.run import coreference
from eyeline.measure.corpus.catalogue import statistics_named
from eyeline.measure.corpus.entropy import Entropy
from eyeline.measure.corpus.run import analyse
from eyeline.measure.grammar.run import syntax
from eyeline.measure.paper.options import Amounts
from eyeline.measure.probes.figures import PAPER as TABLE_3
from eyeline.measure.probes.figures import kind_of
from eyeline.measure.probes.run import probe
from eyeline.measure.runs.progress import ReportProgress, Steps
from eyeline.measure.runs.run import Run, kinds_in, open_run, writing_run
from eyeline.models.model import Model
from eyeline.models.objective import has_answer_objective
from eyeline.text.corpora.read import read_corpus
from eyeline.text.corpora.sample import write_text
from eyeline.text.corpora.sample_treebank import sample_treebank, write_sample
from eyeline.text.corpora.treebank import Treebank, read_treebank

# ---- What the paper says. Its heads count from 1; here, as everywhere, from 0.


@dataclass(frozen=True)
class PublishedRelation:
    """A row of table 1; offset: of the baseline that takes the word at this distance."""

    relation: str
    head: HeadRef
    accuracy: float
    baseline: float
    offset: int


def _row(relation: str, layer: int, head: int, accuracy: float, baseline: float, offset: int) -> PublishedRelation:
    return PublishedRelation(relation, HeadRef("", layer - 1, head - 1), accuracy, baseline, offset)


#: Table 1: BERT-base on the Penn Treebank in Stanford labels. Every head looks from the dependent to the governor, but that of pobj.
TABLE_1: Final = (
    _row("all", 7, 6, 34.5, 26.3, 1),
    _row("prep", 7, 4, 66.7, 61.8, -1),
    _row("pobj", 9, 6, 76.3, 34.6, -2),
    _row("det", 8, 11, 94.3, 51.7, 1),
    _row("nn", 4, 10, 70.4, 70.2, 1),
    _row("nsubj", 8, 2, 58.5, 45.5, 1),
    _row("amod", 4, 10, 75.6, 68.3, 1),
    _row("dobj", 8, 10, 86.8, 40.0, -2),
    _row("advmod", 7, 6, 48.8, 40.2, 1),
    _row("aux", 4, 10, 81.1, 71.5, 1),
    _row("poss", 7, 6, 80.5, 47.7, 1),
    _row("auxpass", 4, 10, 82.5, 40.5, 1),
    _row("ccomp", 8, 1, 48.8, 12.4, -2),
    _row("mark", 8, 2, 50.7, 14.5, 2),
    _row("prt", 6, 7, 99.1, 91.4, -1),
)

#: Table 2: antecedents found on CoNLL-2012, in per cent: all, pronoun, proper, nominal. Its best head is L4·H3.
TABLE_2: Final = {
    "nearest": (27, 29, 29, 19),
    "head match": (52, 47, 67, 40),
    "rule-based": (69, 70, 77, 60),
    "best head": (65, 64, 73, 58),
}

#: A head does what the paper names where more than this share of its attention does; figure 2.
MOST = 0.5


# ---- The data and the analyses


@dataclass(frozen=True)
class Sources:
    """What the paper is repeated on; what is not given is built in.

    text         a corpus of any kind that `read_corpus` opens
    treebank     to score heads and probes on; labels: the names of its relations, as `syntax` has them
    train        to train the probes on; without it, one half of the treebank
    coreference  CoNLL-2012, CoNLL-U with entities, or JSON lines
    glove        word vectors for the probes: a folder or GloVe's text file
    """

    text: str | None = None
    treebank: Path | None = None
    labels: str = "stanford"
    train: Path | None = None
    coreference: Path | None = None
    glove: Path | None = None


#: The kinds of runs that the paper is made of, in its order.
KINDS: Final = ("analyse", "syntax", "coreference", "probe")


def measure_paper(
    model: Model,
    folder: Path,
    sources: Sources = Sources(),  # noqa: B008 - frozen
    amounts: Amounts = Amounts(),  # noqa: B008 - frozen
    *,
    resume: bool = False,
    overwrite: bool = False,
    progress: ReportProgress | None = None,
) -> Run:
    """Make every analysis of the paper for one model, each saved in `folder` as it ends; the run of all of them.

    resume   what the folder holds of this model is taken from it, and an analysis that was interrupted goes on
    """
    if len(model.layout.stacks) > 1:
        raise ModelError(f"{model.name} has {len(model.layout.stacks)} kinds of attention.", "The paper is about models with one.")
    steps = Steps(progress, len(KINDS))
    held = kinds_in(folder) if resume else []
    measure = _measures(model, folder, sources, amounts, resume, overwrite)
    for kind in KINDS:
        report = steps.nested(kind)
        if kind in held:
            _check_same_model(open_run(folder).parts[kind], model, folder)
            continue
        with writing_run(folder, kind, overwrite=overwrite or resume):
            measure[kind](report).save(folder)
    return open_run(folder)


def _measures(
    model: Model, folder: Path, sources: Sources, amounts: Amounts, resume: bool, overwrite: bool
) -> dict[str, Callable[[ReportProgress], Run]]:
    seed = amounts.seed

    def corpus(report: ReportProgress) -> Run:
        text = sources.text
        if text is None:
            text = str(folder / "sample.txt")
            write_text(text)
        names = ["average_attention", "distances", *(["importance"] if has_answer_objective(model) else [])]
        statistics = [*statistics_named(names), Entropy(smoothing=ENTROPY_SMOOTHING)]
        return analyse(
            model, read_corpus(text), statistics, limit=amounts.segments, pairs=True, seed=seed, folder=folder, resume=resume,
            overwrite=overwrite, progress=report,
        )  # fmt: skip

    def grammar(report: ReportProgress) -> Run:
        return syntax(model, _treebank(sources, amounts), labels=sources.labels, min_count=amounts.min_count, seed=seed, progress=report)

    def reference(report: ReportProgress) -> Run:
        path = sources.coreference
        if path is None:
            path = folder / "sample-coreference.conllu"
            write_sample(path, amounts.sentences, seed)
        return coreference(model, path, seed=seed, progress=report)

    def probes(report: ReportProgress) -> Run:
        train = None if sources.train is None else read_treebank(sources.train)
        return probe(
            model, _treebank(sources, amounts), train=train, glove=sources.glove, limit=amounts.training, seeds=amounts.seeds,
            epochs=amounts.epochs, seed=seed, progress=report,
        )  # fmt: skip

    return {"analyse": corpus, "syntax": grammar, "coreference": reference, "probe": probes}


#: Of even attention, mixed into rows before their entropy is taken, as in the paper's code.
ENTROPY_SMOOTHING: Final = 0.0001


def _treebank(sources: Sources, amounts: Amounts) -> Treebank:
    return sample_treebank(amounts.sentences, amounts.seed) if sources.treebank is None else read_treebank(sources.treebank)


def _check_same_model(part: Run, model: Model, folder: Path) -> None:
    if part.facts.model.sha256 != (identity := model.identity()):
        raise StorageError(
            f"{folder} holds analyses of another model: {part.facts.model.name} ({part.facts.model.sha256[:12]}, not {identity[:12]}).",
            Advice("Measure them again: overwrite=True.", "Measure them again: --overwrite."),
        )


# ---- Figure 1: heads that do one thing


def figure_1(run: Run) -> dict[str, HeadRef]:
    """The four kinds of heads of figure 1 → the head of this model that is most of that kind: broad, next, sep, punctuation."""
    heads: dict[str, HeadRef] = {}
    entropy = run.table("entropy")
    for kind in ("broad", "next", "sep", "punctuation"):
        table, column = (entropy, "all") if kind == "broad" else (run.table("average_attention").where(target=kind), "mean")
        if len(table):
            heads[kind] = HeadRef.of_row(list(table.rows())[int(np.argmax(table[column].astype(float)))])
    return heads


# ---- What the paper states of figures 2 to 6, and what this model does


@dataclass(frozen=True)
class Statement:
    """A sentence of the paper and the numbers behind it; its words: `paper.statement.KEY`.

    published, measured   as they are printed; a dash where the run does not have the number
    """

    figure: str
    key: str
    published: str
    measured: str


def statements(run: Run) -> list[Statement]:
    """What the paper says in words about figures 2, 3, 4 and 6, each with the same number of this run."""
    layers = sorted({int(layer) for layer in run.table("average_attention")["layer"]})
    to_sep = _layer_means(run, "sep")
    broad = [layer for layer in layers if to_sep.get(layer, 0.0) > MOST]
    found = [
        Statement("2", "sep_layers", "5–9", _ranges(broad)),
        Statement("2", "sep_to_sep", "> 90 %", _percent(_most(_layer_means(run, "sep_from_sep")))),
        Statement("2", "previous", "4", str(_heads_above(run, "previous"))),
        Statement("2", "next", "5", str(_heads_above(run, "next"))),
    ]
    if "importance" in run.tables:
        found.append(Statement("3", "gradient", "< 1", _number(_later_over_earlier(run))))
    if "cls" in run.table("entropy").columns:
        entropy = run.table("entropy").where(layer=layers[-1])
        found.append(Statement("4", "cls_entropy", "3.89", _number(float(np.mean(entropy["cls"].astype(float))))))
    found.append(Statement("6", "same_layer", "< 1", _number(_within_over_across(run))))
    return found


def _layer_means(run: Run, target: str) -> dict[int, float]:
    """Layer → the mean share over its heads."""
    table = run.table("average_attention").where(target=target)
    layers, means = table["layer"].astype(int), table["mean"].astype(float)
    return {int(layer): float(means[layers == layer].mean()) for layer in np.unique(layers)}


def _heads_above(run: Run, target: str) -> int:
    return int((run.table("average_attention").where(target=target)["mean"].astype(float) > MOST).sum())


def _most(by_layer: dict[int, float]) -> float:
    return max(by_layer.values(), default=math.nan)


def _later_over_earlier(run: Run) -> float:
    """The mean gradient of attention to [SEP] in the layers after the first third, over that of the layers before (layer 5 of 12 on)."""
    table = run.table("importance").where(target="sep")
    layers, means = table["layer"].astype(int), table["mean"].astype(float)
    if not len(layers):
        return math.nan
    later = layers >= (layers.max() + 1) / 3
    return float(means[later].mean() / means[~later].mean())


def _within_over_across(run: Run) -> float:
    """The mean distance of heads of one layer over that of heads of different layers."""
    table = run.table("distances")
    names = [str(name) for name in table.columns["head"]]
    square = np.array([table[name] for name in names], dtype=float)  # [head, head]
    layers = np.array([HeadRef.parse(name).layer for name in names])
    same, itself = layers[:, None] == layers[None], np.eye(len(names), dtype=bool)
    return float(square[same & ~itself].mean() / square[~same].mean())


def _ranges(numbers: Sequence[int]) -> str:
    """Numbers in order, neighbours joined.

    >>> _ranges([2, 5, 6, 7]), _ranges([])
    ('2, 5–7', '—')
    """
    groups: list[list[int]] = []
    for number in numbers:
        if groups and number == groups[-1][-1] + 1:
            groups[-1].append(number)
        else:
            groups.append([number])
    return ", ".join(str(group[0]) if len(group) == 1 else f"{group[0]}–{group[-1]}" for group in groups) or "—"


def _percent(share: float) -> str:
    return "—" if math.isnan(share) else f"{100 * share:.0f} %"


def _number(value: float) -> str:
    return "—" if math.isnan(value) else f"{value:.2f}"


# ---- Tables 1 to 3, published and measured side by side


@dataclass(frozen=True)
class PaperTable:
    """A table to print. columns: keys of `paper.column`; rows: cells as they are printed, empty where there is no number."""

    number: int
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def tables(run: Run) -> list[PaperTable]:
    """Tables 1, 2 and 3 of the paper."""
    return [_table_1(run), _table_2(run), _table_3(run)]


def _table_1(run: Run) -> PaperTable:
    published = {row.relation: row for row in TABLE_1}
    measured = {str(row["relation"]): row for row in run.table("syntax").rows()}
    rows = []
    for relation in [*published, *(name for name in measured if name not in published)]:
        ours, theirs = measured.get(relation), published.get(relation)
        here = ("", "", "", "")
        if ours is not None:
            baseline = f"{ours['baseline']:.1f} ({int(float(ours['offset'])):+d})"
            here = (str(HeadRef.of_row(ours)), f"{ours['accuracy']:.1f}", f"{ours['accuracy_held_out']:.1f}", baseline)
        there = (
            ("", "", "") if theirs is None else (str(theirs.head), f"{theirs.accuracy:.1f}", f"{theirs.baseline:.1f} ({theirs.offset:+d})")
        )
        rows.append((relation, *here, *there))
    columns = ("relation", "head", "accuracy", "held_out", "baseline", "paper_head", "paper_accuracy", "paper_baseline")
    return PaperTable(1, columns, tuple(rows))


def _table_2(run: Run) -> PaperTable:
    groups = ("all", "pronoun", "proper", "nominal")
    rows = []
    for row in run.table("coreference").rows():
        method = str(row["method"])
        head = "" if math.isnan(float(row["layer"])) else f" {HeadRef.of_row(row)}"
        here = tuple("" if math.isnan(float(row[group])) else f"{row[group]:.1f}" for group in groups)
        rows.append((method + head, *here, *map(str, TABLE_2.get(method, ("",) * 4))))
    return PaperTable(2, ("method", *groups, *(f"paper_{group}" for group in groups)), tuple(rows))


def _table_3(run: Run) -> PaperTable:
    rows = []
    for row in run.table("probes").rows():
        name = str(row["probe"])
        theirs = TABLE_3.get(kind_of(name))
        rows.append((name, f"{row['uas']:.1f}", f"{row['low']:.1f}–{row['high']:.1f}", "" if theirs is None else f"{theirs:.0f}"))
    return PaperTable(3, ("probe", "uas", "interval", "paper_uas"), tuple(rows))
