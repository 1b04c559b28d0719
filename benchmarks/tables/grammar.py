"""What single heads know of grammar, laid beside table 1 of Clark et al. 2019, as the section `syntax` of docs/results.md.

    python -m benchmarks.tables.grammar --model FOLDER_OR_NAME

Scores every head on en_ewt-dev, once with UD's labels and once in Stanford form (for prep and pobj), and on ja_gsd-dev and ko_gsd-dev, to
see that text in other scripts runs through; all are read where they lie (--data), they are not part of this repository. --keep FOLDER
saves the runs; --from FOLDER writes the section from runs that were kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

import eyeline as el
from benchmarks.output import PICTURES, existing, markdown_table, put_section, save_picture, section_parser
from eyeline.heads import GOVERNOR_TO_DEPENDENT
from eyeline.measure.runs.table import Cell
from eyeline.measure.statistics.word_maps import read_words


@dataclass(frozen=True)
class Published:
    """A row of the paper's table 1: heads count from 1 there, and so they do here."""

    name: str
    head: str
    accuracy: float
    baseline: float
    offset: int


#: UD's name of the relation, or the Stanford one where UD has no such relation → what the paper found.
PAPER = {
    "all": Published("All", "7-6", 34.5, 26.3, 1),
    "prep": Published("prep", "7-4", 66.7, 61.8, -1),
    "pobj": Published("pobj", "9-6", 76.3, 34.6, -2),
    "det": Published("det", "8-11", 94.3, 51.7, 1),
    "compound": Published("nn", "4-10", 70.4, 70.2, 1),
    "nsubj": Published("nsubj", "8-2", 58.5, 45.5, 1),
    "amod": Published("amod", "4-10", 75.6, 68.3, 1),
    "obj": Published("dobj", "8-10", 86.8, 40.0, -2),
    "advmod": Published("advmod", "7-6", 48.8, 40.2, 1),
    "aux": Published("aux", "4-10", 81.1, 71.5, 1),
    "nmod:poss": Published("poss", "7-6", 80.5, 47.7, 1),
    "aux:pass": Published("auxpass", "4-10", 82.5, 40.5, 1),
    "ccomp": Published("ccomp", "8-1", 48.8, 12.4, -2),
    "mark": Published("mark", "8-2", 50.7, 14.5, 2),
    "compound:prt": Published("prt", "6-7", 99.1, 91.4, -1),
}
#: Of these the paper says that single heads do markedly better than any fixed offset.
RELATIONS_SHOWN = ("det", "obj", "nmod:poss", "aux:pass")
OURS = ["relation", "words", "head", "direction", "accuracy", "held out", "baseline"]
HEADER = [*OURS, "paper: relation", "head, from 1", "accuracy", "baseline"]
OTHERS = ("ja_gsd-dev", "ko_gsd-dev")
AUXPASS = "\\* The paper's released notebook prints 94.1 against 82.5 for auxpass; the numbers in the paper's table may be a slip."
Row = Mapping[str, Cell]


def main() -> None:
    parser = section_parser(__doc__)
    parser.add_argument("--model", default="e5-small", help="an embedded name, a folder or a hub id")
    parser.add_argument("--limit", type=int, help="the number of sentences of each treebank to use, for a quick look")
    parser.add_argument("--keep", type=Path, help="save the runs in folders of this one")
    parser.add_argument("--from", dest="kept", type=Path, help="write the section from runs that were kept, and score nothing")
    arguments = parser.parse_args()
    names = ("ud", "stanford", *OTHERS)
    if arguments.kept:
        runs = {name: el.runs.open_run(arguments.kept / name) for name in names}
    else:
        runs = measure(arguments.model, arguments.data, arguments.limit)
    if arguments.keep:
        for name, run in runs.items():
            el.runs.write_report(run.save(arguments.keep / name))
    text = section(runs, {name: unknown_words(arguments.model, arguments.data, name, arguments.limit) for name in OTHERS})
    print(text)
    if not arguments.print:
        put_section("syntax", text)
        draw(runs["ud"])


def draw(run: el.Run) -> None:
    """The picture of docs/how-to/grammar.md: heads and relations."""
    path = PICTURES / "syntax.png"
    el.figures.save_figure(run, "syntax", path)
    picture = Image.open(path).convert("RGB")
    picture.thumbnail((1000, 1000))
    save_picture(picture, path)  # in all its colours: with fewer of them, the rings lose their red


def bank_of(data: Path, name: str) -> el.treebanks.Treebank:
    return el.treebanks.read_treebank(existing(data / f"{name}.conllu.gz"))


def measure(name: str, data: Path, limit: int | None) -> dict[str, el.Run]:
    model, english = el.load(name), bank_of(data, "en_ewt-dev")
    runs = {labels: el.syntax(model, english, labels=labels, limit=limit) for labels in ("ud", "stanford")}
    return runs | {other: el.syntax(model, bank_of(data, other), limit=limit) for other in OTHERS}


def unknown_words(name: str, data: Path, treebank: str, limit: int | None) -> float:
    """The share of a treebank's words with a character that this vocabulary lacks."""
    model, sentences = el.load(name), bank_of(data, treebank).sentences[:limit]
    texts = read_words(model, [sentence.words for sentence in sentences], [sentence.spaces for sentence in sentences])
    unknown = model.tokenizer.unk_token_id
    words = [
        {word for word, number in zip(example.source.words, example.source.ids, strict=True) if word is not None and number == unknown}
        for example in texts.examples
    ]
    return sum(map(len, words)) / texts.counts["words"]


def section(runs: Mapping[str, el.Run], unknown: Mapping[str, float]) -> str:
    run, turned = runs["ud"], {str(row["relation"]): row for row in runs["stanford"].table("syntax").rows()}
    facts = run.facts
    model, counts, given = facts.model, facts.counts, facts.options.limit
    stacks = ", ".join(f"{layers} x {heads}" for layers, heads, _ in model.stacks.values())
    rows = [[*shown(row), *published(str(row["relation"]))] for row in run.table("syntax").rows()]
    rows += [[*shown(turned[name]), *published(name)] for name in ("prep", "pobj") if name in turned]
    parts = [
        "## What single heads know of grammar",
        f"`python -m benchmarks.tables.grammar --model {model.name}{f' --limit {given}' if given else ''}`",
        f"{model.name} ({stacks} heads) on {counts['sentences']:,} of {counts['given']:,} sentences of {facts.corpus.name}"
        f" ({counts['words']:,} words; {counts['too_long']:,} sentences were too long, {counts['unreadable']:,} had a word that the"
        f" tokeniser drops, {counts['no_tree']:,} are no trees): how often the word that a head attends to most is the governor, in"
        " per cent ([how we count](how-to/grammar.md)). *Held out* is a head chosen on one half of the sentences and scored on the other,"
        " both ways. The baseline is the best fixed offset, in brackets. Every relation of 100 words or more has a row.",
        markdown_table(HEADER, rows),
        "The paper's columns are BERT-base on the Wall Street Journal part of the Penn Treebank in Stanford Dependencies; ours are another"
        " model, other text (weblogs, mail, reviews, with more short and ill-formed sentences) and another annotation. UD's `case` points"
        " from the preposition to its noun, so that prep and pobj have no counterpart; the two last rows are ours in Stanford form"
        " (`--labels stanford`: the preposition depends on the verb or noun, its noun on the preposition). Relations of the same name"
        " differ too: UD's `nsubj` of *she is a doctor* depends on *doctor*; its `compound` leaves out what it calls `flat`. So compare"
        " margins rather than accuracies.",
        *([AUXPASS] if any(row[0] == "aux:pass" for row in rows) else []),
        *findings(run),
        "Treebanks in other scripts can be measured too. This English vocabulary has few whole words of Japanese or Korean: it splits"
        " them into single characters, or reads `[UNK]` where it lacks the character, so that more sentences are too long. So these"
        " numbers show that the counting works, not what a model of these languages knows:",
        markdown_table(
            ["treebank", "sentences", "too long", "unreadable", "words", "with [UNK]", "all", "baseline", "relations"],
            [other(name, runs[name], unknown[name]) for name in OTHERS],
        ),
        f"{counts['tokens']:,} tokens of English. `python -m benchmarks.cost.grammar` measures how long it takes.",
    ]
    return "\n\n".join(parts)


def shown(row: Row) -> list[str]:
    """A row of tables/syntax.csv."""
    head, direction = f"L{row['layer']}·H{row['head']}", str(row["direction"]).replace("-to-", " → ")
    shares = (f"{row['accuracy']:.1f}", f"{row['accuracy_held_out']:.1f}", f"{row['baseline']:.1f} ({row['offset']:+d})")
    return [str(row["relation"]), f"{row['count']:,}", head, direction, *shares]


def published(name: str) -> list[str]:
    result = PAPER.get(name)
    if result is None:
        return [""] * 4
    star = "\\*" if result.name == "auxpass" else ""
    return [result.name, result.head, f"{result.accuracy:.1f}{star}", f"{result.baseline:.1f}{star} ({result.offset:+d})"]


def other(name: str, run: el.Run, unknown: float) -> list[str]:
    counts, first = run.facts.counts, next(run.table("syntax").rows())
    amounts = [f"{counts[what]:,}" for what in ("sentences", "too_long", "unreadable", "words")]
    share = f"{first['baseline']:.1f} ({first['offset']:+d})"
    return [name, *amounts, f"{100 * unknown:.0f} %", f"{first['accuracy']:.1f}", share, f"{len(run.table('syntax')) - 1}"]


def findings(run: el.Run) -> list[str]:
    """What this table says, in sentences made of its numbers."""
    rows = {str(row["relation"]): row for row in run.table("syntax").rows()}
    message = []
    for name in RELATIONS_SHOWN:
        if name not in rows:
            message.append(f"- **{name}** has too few words here.")
            continue
        row, paper = rows[name], PAPER[name]
        ours, theirs = float(row["accuracy"]) - float(row["baseline"]), paper.accuracy - paper.baseline
        apart = float(row["accuracy_held_out"]) - float(row["baseline"])
        message.append(
            f"- **{name}**: {row['accuracy']:.1f} % by L{row['layer']}·H{row['head']}, {ours:+.1f} points against the best offset (held out"
            f" {apart:+.1f}); in the paper {theirs:+.1f}{', by its notebook +11.6' if name == 'aux:pass' else ''}."
        )
    named = {name: row for name, row in rows.items() if name != "all"}
    margins = {name: float(row["accuracy_held_out"]) - float(row["baseline"]) for name, row in named.items()}
    below = [name for name, margin in margins.items() if margin <= 0]
    closest = min(margins, key=lambda name: margins[name])
    lost = max(named, key=lambda name: float(named[name]["accuracy"]) - float(named[name]["accuracy_held_out"]))
    flattered = float(named[lost]["accuracy"]) - float(named[lost]["accuracy_held_out"])
    backwards = [name for name, row in named.items() if row["direction"] == GOVERNOR_TO_DEPENDENT]
    whole = rows["all"]
    few = [name for name in PAPER if name not in rows and name not in ("prep", "pobj")]
    heads = {(row["layer"], row["head"]) for row in named.values()}
    summary = [
        f"Held out, {len(named) - len(below)} of {len(named)} relations have a head above their best offset"
        + (f"; not {', '.join(below)}." if below else f"; the closest is {closest} with {margins[closest]:+.1f} points."),
        f"They are {len(heads)} different heads. Relations that are best read from governor to dependent:"
        f" {', '.join(backwards) or 'none'}; in the paper pobj alone.",
        f"A head chosen on the sentences it is scored on has too high a score, most for {lost}, by {flattered:.1f} points.",
        f"No head knows grammar as a whole: over all words the best finds {whole['accuracy']:.1f} %, the best offset"
        f" {whole['baseline']:.1f} % (in the paper {PAPER['all'].accuracy} and {PAPER['all'].baseline} %).",
    ]
    if few:
        summary.append(f"Of the paper's relations {', '.join(few)} {'has' if len(few) == 1 else 'have'} too few words here for a row.")
    return ["\n".join(message), " ".join(summary)]


if __name__ == "__main__":
    main()
