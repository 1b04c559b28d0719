"""Antecedents found by rules and by heads, laid beside table 2 of Clark et al. 2019, as the section `coreference` of docs/results.md.

    python -m benchmarks.tables.coreference --model FOLDER_OR_NAME --model minilm

Reads ontogum-{dev,train}.jsonl.gz where they lie (--data); they are not part of this repository.
"""

from __future__ import annotations

import math
from pathlib import Path

import eyeline as el
from benchmarks.output import existing, markdown_table, put_section, section_parser

#: Table 2 of the paper: all, pronoun, proper, nominal.
PAPER = {"nearest": (27, 29, 29, 19), "head match": (52, 47, 67, 40), "rule-based": (69, 70, 77, 60), "best head": (65, 64, 73, 58)}
COLUMNS = ("all", "pronoun", "proper", "nominal")


def main() -> None:
    parser = section_parser(__doc__)
    parser.add_argument("--model", action="append", help="an embedded name, a folder or a hub id; may be repeated (e5-small)")
    parser.add_argument("--split", action="append", help="dev, train or test; may be repeated (dev)")
    parser.add_argument("--limit", type=int, help="the number of documents of each split to use")
    arguments = parser.parse_args()
    models, splits = arguments.model or ["e5-small"], arguments.split or ["dev"]
    runs = [
        (name, split, first, _run(name, arguments.data / f"ontogum-{split}.jsonl.gz", first, arguments.limit))
        for name in models
        for split in splits
        for first in (False, True)
    ]
    text = section(runs, f"--model {' --model '.join(Path(name).name for name in models)} --split {' --split '.join(splits)}")
    print(text)
    if not arguments.print:
        put_section("coreference", text)


def _run(name: str, path: Path, first: bool, limit: int | None) -> el.Run:
    run = el.coreference(el.load(name), existing(path), first_window=first, limit=limit)
    print(name, path.name, "first window" if first else "windows", run.facts.total_seconds, "s")
    print(run.table("coreference").to_csv(), flush=True)
    return run


def section(runs: list[tuple[str, str, bool, el.Run]], command: str) -> str:
    parts = [
        "## What heads know of reference",
        f"`python -m benchmarks.tables.coreference {command}`",
        "How often the main word of a mention attends most to the main word of an antecedent, in per cent; candidates are the main words of"
        " the mentions before it ([how we count](how-to/coreference.md)). The paper's rows are BERT-base on CoNLL-2012; ours are other"
        f" models on another corpus (OntoGUM; pronouns are {_pronouns(runs)} of the scored mentions), so only the order of the methods"
        " compares. *First windows* is the paper's truncation of each document to its first 128 tokens. Heads count from 0.",
    ]
    header = ["where", "method", *COLUMNS, "n"]
    rows = [
        ["paper, CoNLL-2012", f"{method}{' 5-4, from 1' if method == 'best head' else ''}", *map(str, PAPER[method]), ""]
        for method in PAPER
    ]
    seen: set[tuple[object, ...]] = set()
    for name, split, first, run in runs:
        where = f"OntoGUM {split}{', first windows' if first else ''}"
        for row in run.table("coreference").rows():
            method = str(row["method"])
            key = (where, method, *(str(row[column]) for column in COLUMNS))
            if method in PAPER and method != "best head" and key in seen:
                continue  # models with one tokeniser share windows, and rules do not ask the model
            seen.add(key)
            head = "" if math.isnan(float(row["layer"])) else f" L{int(row['layer'])}·H{int(row['head'])}"
            who = f"{Path(name).name}: {method}{head}" if method.startswith("best head") else method
            rows.append([where, who, *(f"{float(row[column]):.1f}" for column in COLUMNS), f"{int(row['n']):,}"])
    return "\n\n".join([*parts, markdown_table(header, rows), *_findings(runs)])


def _pronouns(runs: list[tuple[str, str, bool, el.Run]]) -> str:
    shares = [100 * run.facts.coreference.n["pronoun"] / run.facts.counts["mentions"] for *_, run in runs]
    return f"{min(shares):.0f} to {max(shares):.0f} %"


def _findings(runs: list[tuple[str, str, bool, el.Run]]) -> list[str]:
    """What these tables say, in sentences made of their numbers."""
    results = []
    for name, split, first, run in runs:
        by_method = {str(row["method"]): row for row in run.table("coreference").rows()}
        best, rules, match = by_method["best head"], by_method["rule-based"], by_method["head match"]
        apart = by_method.get("best head, held out")
        heads = run.table("coreference_heads").where(direction="mention-to-antecedent")
        above = sum(float(value) > float(match["all"]) for value in heads.columns["all"])
        back = run.table("coreference_heads").where(direction="antecedent-to-mention")
        message = (
            f"- {Path(name).name}, {split}{', first windows' if first else ''}: the best head is"
            f" {float(best['all']) - float(rules['all']):+.1f} points against the rules and"
            f" {float(best['all']) - float(match['all']):+.1f} against head match"
        )
        message += f"; held out {float(apart['all']):.1f}" if apart else ""
        message += f". {above} of {len(heads)} heads beat head match"
        message += (
            f"; in the other direction, from antecedent to mention, the best head has {max(map(float, back.columns['all'])):.1f}."
            if len(back)
            else "."
        )
        results.append(message)
    return ["\n".join(results)]


if __name__ == "__main__":
    main()
