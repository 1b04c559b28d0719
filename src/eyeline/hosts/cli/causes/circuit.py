"""`eyeline circuit`: which heads carry an answer, and which head feeds which."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape

from eyeline.heads import HeadRef
from eyeline.hosts.cli.corpus_options import Output, Overwrite
from eyeline.hosts.cli.language import Language
from eyeline.hosts.cli.models import ANSWERING_DEFAULT, AnsweringModel
from eyeline.hosts.cli.progress import progress_bars
from eyeline.hosts.cli.terminal import console

#: Heads and edges that are printed.
SHOWN = 5


def circuit(
    clean: Annotated[str, typer.Option(help="A text that the model answers in one way.", show_default=False)],
    corrupt: Annotated[
        str,
        typer.Option(help="The same text with a change that changes the answer; both have the same number of tokens.", show_default=False),
    ],
    output: Output,
    model: AnsweringModel = ANSWERING_DEFAULT,
    answer: Annotated[str | None, typer.Option(help="The clean text's answer: one token, such as ' Mary'.", show_default=False)] = None,
    against: Annotated[str | None, typer.Option(help="The corrupt text's answer.", show_default=False)] = None,
    method: Annotated[str, typer.Option(help="How edges are scored: eap-ig, or eap.")] = "eap-ig",
    steps: Annotated[int, typer.Option(help="Inputs between the two texts at which eap-ig takes gradients.")] = 5,
    positions: Annotated[bool, typer.Option("--positions/--no-positions", help="Also patch every head at every token.")] = True,
    overwrite: Overwrite = False,
    language: Language = "en",
) -> None:
    """Which heads carry an answer, and which head feeds which: two texts, and patching between them.

    [dim]eyeline circuit --clean "He drank a cup of [MASK]." --corrupt "He drove a kind of [MASK]." --model e5-small-mlm -o run[/dim]
    """
    from eyeline.analyses.causes.circuits.run import circuit as run_circuit
    from eyeline.hosts.report.write import write_report
    from eyeline.models.load import load
    from eyeline.results.circuit import strongest_connections
    from eyeline.results.facts import CircuitOptions
    from eyeline.results.status import writing_run

    loaded = load(model)
    with progress_bars() as report_progress, writing_run(output, "circuit", overwrite=overwrite):
        run = run_circuit(
            loaded, clean, corrupt, answer=answer, against=against, method=method, steps=steps, positions=positions,  # type: ignore[arg-type]
            progress=report_progress,
        )  # fmt: skip
        report = write_report(run.save(output), language)
    options = run.facts.options_as(CircuitOptions)
    console.print(
        f"{escape(repr(options.answer))} against {escape(repr(options.against))}: logits differ by {options.clean_metric:+.3f} on the clean"
        f" text, {options.corrupt_metric:+.3f} on the corrupt one.",
        highlight=False,
    )
    rows = sorted(run.table("patching").rows(), key=lambda row: -abs(float(row["restored"])))
    console.print("Share of the answer that a head's output on the clean text brings back (below 0: takes away):", highlight=False)
    for row in rows[:SHOWN]:
        console.print(f"  {HeadRef('', int(row['layer']), int(row['head']))}  {float(row['restored']):+.3f}", highlight=False)
    console.print("Strongest connections, with their share of the answer by estimate:", highlight=False)
    for edge in strongest_connections(run)[:SHOWN]:
        console.print(f"  {edge.sender} → {edge.receiver} ({edge.reads})  {edge.score:+.3f}", highlight=False)
    console.print(f"Report: {escape(str(report))}", highlight=False)
