"""How much grammar all heads know together, laid beside table 3 of Clark et al. 2019, as the section `probes` of docs/results.md.

    python -m benchmarks.tables.probes --model FOLDER_OR_NAME

Trains on 3,000 sentences of en_ewt-train (--limit) and scores on en_ewt-dev (--test: on some of it),
with GloVe's vectors; all three are read where they lie (--data), they
are not part of this repository. --keep FOLDER saves the run; --from FOLDER writes the section from a run that was kept.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import eyeline as el
from benchmarks.output import existing, markdown_table, put_section, section_parser
from eyeline.measure.probes.figures import PAPER, epochs_text, kind_of
from eyeline.measure.probes.options import ProbeFacts
from eyeline.measure.statistics.prepare import sample

#: What the paper's probes were trained on: sections 2 to 21 of the Penn Treebank.
PAPER_SENTENCES = 39_832
#: Sentences of en_ewt-dev.
ALL_OF_DEV = 2_001
#: Epochs of the learning curve that the page shows, after the first.
LATER = (2, 5, 10, 20, 40)


def main() -> None:
    parser = section_parser(__doc__)
    parser.add_argument("--model", default="e5-small", help="an embedded name, a folder or a hub id")
    parser.add_argument("--limit", type=int, default=3000, help="training sentences")
    parser.add_argument("--test", type=int, help="test sentences, drawn at random; all without it")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="save the run here")
    parser.add_argument("--from", dest="kept", type=Path, help="write the section from this run, and train nothing")
    arguments = parser.parse_args()
    run = el.runs.open_run(arguments.kept) if arguments.kept else measure(arguments)
    if arguments.keep:
        el.runs.write_report(run.save(arguments.keep))
    text = section(run)
    print(text)
    if not arguments.print:
        put_section("probes", text)


def measure(arguments: argparse.Namespace) -> el.Run:
    data = arguments.data
    files = [existing(data / name) for name in ("en_ewt-train.conllu.gz", "en_ewt-dev.conllu.gz", "glove")]
    shown: set[str] = set()

    def show(progress: object) -> None:
        doing = str(progress.step)  # type: ignore[attr-defined]
        if doing not in shown:
            shown.add(doing)
            print(doing, flush=True)

    learn, score = (el.treebanks.read_treebank(file) for file in files[:2])
    if arguments.test:
        score = el.treebanks.Treebank.of(sample(score.sentences, arguments.test, 0, "sentences"), score.name)
    options = {"glove": files[2], "limit": arguments.limit, "seeds": arguments.seeds}
    return el.probe(el.load(arguments.model), score, train=learn, **options, progress=show)


def section(run: el.Run) -> str:
    facts, table, learning = run.facts, run.table("probes"), run.table("probes_learning")
    model, options = facts.model, facts.of_kind(ProbeFacts).options
    rows = [
        [
            str(row["probe"]),
            f"{PAPER[kind_of(str(row['probe']))]:.0f}",
            f"{row['uas']:.1f}",
            f"{row['low']:.1f} – {row['high']:.1f}",
            f"{row['spread']:.2f}" if row["spread"] == row["spread"] else "",
            f"{row['uas_with_punctuation']:.1f}",
            epochs_text(row),
        ]
        for row in table.rows()
    ]
    names = list(dict.fromkeys(map(str, learning.columns["probe"])))
    first = learning.where(probe=names[0], seed=0)
    epochs = [float(epoch) for epoch in first["epoch"] if epoch <= 1] + [float(epoch) for epoch in LATER]
    lines = [
        [name, *(_held_out(learning.where(probe=name, epoch=epoch)) for epoch in epochs), _held_out(learning.where(probe=name, kept=1))]
        for name in names
    ]
    n_held_out = facts.train.counts["sentences"] - int(first.where(epoch=1.0)["sentences"][0])
    stacks = ", ".join(f"{layers} x {heads}" for layers, heads, _ in model.stacks.values())
    seeds = "one seed" if options.seeds == 1 else f"mean of {options.seeds} seeds"
    parts = [
        "## What all heads know of grammar together",
        f"`python -m benchmarks.tables.probes --model {model.name} --limit {options.limit} --seeds {options.seeds}"
        + (f" --test {facts.counts['given']}`" if facts.counts["given"] < ALL_OF_DEV else "`"),
        f"{model.name} ({stacks} heads), trained on {facts.train.counts['sentences']:,} sentences of {facts.train.name} and"
        f" scored on {facts.counts['sentences']:,} of {facts.corpus.name}"
        f" ({int(table['n'][0]):,} words without punctuation), until the loss on"
        f" {n_held_out:,} held-out training sentences no longer falls, {seeds}; GloVe knows"
        f" {100 * facts.words.covered:.1f} % of the words. Share of words whose governor is found, in per cent ([how](how-to/probes.md)).",
        markdown_table(["probe", "paper", "ours", "95 % interval", "sd over seeds", "with punctuation", "epochs"], rows),
        f"The paper's column is BERT-base on the Penn Treebank in Stanford Dependencies, trained on its {PAPER_SENTENCES:,} sentences:"
        f" another model, other text, another annotation, {PAPER_SENTENCES / options.limit:.0f} times the sentences, each seen"
        " once. Only the order of"
        " the rows may be compared. The interval is over test sentences.",
        *findings(run),
        "The learning curve, in per cent of the held-out words, by how often each training sentence has been seen; the last column is"
        " at the"
        " weights that were kept, a dash where training had ended:",
        markdown_table(["epoch", *(f"{epoch:.2g}" for epoch in epochs), "kept"], lines),
        "`python -m benchmarks.cost.probe` measures how long training takes.",
    ]
    return "\n\n".join(parts)


def _held_out(points: el.runs.Table) -> str:
    """The mean over seeds, where all seeds have this point."""
    return f"{points['held_out_uas'].astype(float).mean():.1f}" if len(points) else "–"


def findings(run: el.Run) -> list[str]:
    """Whether the rows are in the same order as in the paper, and the heads with the largest weights."""
    uas = {kind_of(str(row["probe"])): float(row["uas"]) for row in run.table("probes").rows()}
    order = ("attention", "attention-only", "right-branching")
    stands = uas[order[0]] > uas[order[1]] > uas[order[2]]
    message = "as in the paper" if stands else "**not** as in the paper"
    first = f"Attention + words {uas['attention']:.1f}, attention-only {uas['attention-only']:.1f}, right-branching"
    first += f" {uas['right-branching']:.1f}: ordered {message}. The random network's {uas['random init']:.1f} lies"
    first += f" {uas['attention'] - uas['random init']:.1f} points under the trained one's."
    if uas["random init"] < uas["right-branching"]:
        first += (
            " It lies under right-branching too: a probe without distances learns positions only from the maps, which do not show them."
        )
    weights = run.table("probe_weights").where(probe="attention-only")
    largest = sorted(weights.rows(), key=lambda row: -float(row["weight"]))[:5]
    heads = ", ".join(
        f"L{row['layer']}·H{row['head']} ({str(row['direction']).replace('-', ' ')}, {float(row['weight']):.1f})" for row in largest
    )
    return [first, f"The heads with the largest weights of the attention-only probe: {heads}."]


if __name__ == "__main__":
    main()
