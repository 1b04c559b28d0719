"""The commands about what counts for a model's answers: `eyeline attribute`, `circuit`, `faithfulness` and `causes`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from eyeline.heads import HeadRef
from eyeline.measure.causes.options import AttributeOptions, CausesOptions, CircuitFacts, CircuitOptions, FaithfulnessOptions
from eyeline.measure.runs.options import arguments_of, chosen, given_options
from eyeline.show.cli.options import (
    ANSWERING_DEFAULT,
    AnsweringModel,
    CorpusPath,
    Language,
    MeasuringCorpus,
    Output,
    Overwrite,
    PageLanguage,
    Truncate,
)
from eyeline.show.cli.terminal import console, print_notices, progress_bars

if TYPE_CHECKING:
    from eyeline.look.trace import Trace
    from eyeline.measure.runs.run import Run


# ---- `eyeline attribute`: a quantity beside attention, printed token by token, or written as a page, a picture or a trace


METHOD = arguments_of(AttributeOptions)["method"]


def attribute(
    text: Annotated[str, typer.Argument(help="The text to look at; [MASK] where a masked model is to answer.", show_default=False)],
    model: AnsweringModel = ANSWERING_DEFAULT,
    method: Annotated[
        list[str] | None,
        typer.Option(help=f"{METHOD.option.help}; may be repeated. Default: {METHOD.default}."),
    ] = None,
    pair: Annotated[str | None, typer.Option(help="A second text.")] = None,
    *,
    options: AttributeOptions,
    truncate: Truncate = False,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="x.html: a page; x.svg, x.pdf, x.png: a picture; x.safetensors: a trace.", show_default=False),
    ] = None,
    language: PageLanguage = "en",
) -> None:
    """What counts for what, beside attention: one number a token, and the maps on a page with a switch "what is drawn".

    [dim]eyeline attribute "The cat sat on the [MASK]." --model e5-small-mlm --method decompx -o cat.html[/dim]
    """
    from eyeline.measure.causes.attribute import attribute as compute
    from eyeline.measure.causes.attribute import chosen_method
    from eyeline.models.load import load

    each = [chosen(AttributeOptions, given_options(replace(options, method=name))) for name in method or [options.method]]
    for one in each:
        chosen_method(one)  # refused before the model is opened
    loaded = load(model)
    traces = [compute(loaded, text, pair, **given_options(one), truncate=truncate) for one in each]
    console.print(score_table(traces))
    if traces[0].prediction is not None:
        console.print(f"The model answers: {escape(str(traces[0].prediction))}", highlight=False)
    print_notices(tuple(dict.fromkeys(notice for trace in traces for notice in trace.notices)))
    if output is None:
        return
    if output.suffix == ".safetensors":
        traces[0].save(output)
    else:
        from eyeline.look.views.head import head_view

        attention = loaded.trace(text, pair, truncate=truncate)
        head_view(attention, also=traces, drawn=1, layer=traces[0].layers[-1], language=language).save(output)
    console.print(f"Saved to {escape(str(output))}", highlight=False, soft_wrap=True)


def score_table(traces: list[Trace]) -> Table:
    """A row for each token, a column for each quantity."""
    quantities = [quantity for trace in traces if (quantity := trace.quantity) is not None]
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("token")
    for quantity in quantities:
        about = f" → {quantity.answer.strip()}" if quantity.answer.strip() else ""
        table.add_column(escape(quantity.name + about), justify="right")
    for position, token in enumerate(traces[0].text.tokens):
        table.add_row(escape(token), *(f"{quantity.scores[position]:.3f}" for quantity in quantities))
    return table


# ---- `eyeline circuit`: which heads carry an answer, and which head feeds which


#: Heads and edges that are printed.
CONNECTIONS_SHOWN = 5


def circuit(
    *,
    clean: Annotated[str, typer.Option(help="A text that the model answers in one way.", show_default=False)],
    corrupt: Annotated[
        str,
        typer.Option(help="The same text with a change that changes the answer; both have the same number of tokens.", show_default=False),
    ],
    output: Output,
    model: AnsweringModel = ANSWERING_DEFAULT,
    options: CircuitOptions,
    overwrite: Overwrite = False,
    language: Language = "en",
) -> None:
    """Which heads carry an answer, and which head feeds which: two texts, and patching between them.

    [dim]eyeline circuit --clean "He drank a cup of [MASK]." --corrupt "He drove a kind of [MASK]." --model e5-small-mlm -o run[/dim]
    """
    from eyeline.measure.causes.circuit import circuit as run_circuit
    from eyeline.measure.causes.result import strongest_connections
    from eyeline.measure.runs.run import writing_run
    from eyeline.models.load import load
    from eyeline.show.report import write_report

    loaded = load(model)
    with progress_bars() as report_progress, writing_run(output, "circuit", overwrite=overwrite):
        run = run_circuit(
            loaded,
            clean,
            corrupt,
            **given_options(options),
            progress=report_progress,
        )
        report = write_report(run.save(output), language)
    known = run.facts.of_kind(CircuitFacts).options
    console.print(
        f"{escape(repr(known.answer))} against {escape(repr(known.against))}: logits differ by {known.clean_metric:+.3f} on the clean"
        f" text, {known.corrupt_metric:+.3f} on the corrupt one.",
        highlight=False,
    )
    rows = sorted(run.table("patching").rows(), key=lambda row: -abs(float(row["restored"])))
    console.print("Share of the answer that a head's output on the clean text brings back (below 0: takes away):", highlight=False)
    for row in rows[:CONNECTIONS_SHOWN]:
        console.print(f"  {HeadRef.of_row(row)}  {float(row['restored']):+.3f}", highlight=False)
    console.print("Strongest connections, with their share of the answer by estimate:", highlight=False)
    for edge in strongest_connections(run)[:CONNECTIONS_SHOWN]:
        console.print(f"  {edge.sender} → {edge.receiver} ({edge.reads})  {edge.score:+.3f}", highlight=False)
    console.print(f"Report: {escape(str(report))}", highlight=False)


# ---- `eyeline faithfulness`: how faithful each quantity is to a model's answers, over a corpus


def faithfulness(
    corpus: CorpusPath,
    output: Output,
    model: AnsweringModel = ANSWERING_DEFAULT,
    *,
    method: Annotated[
        list[str] | None, typer.Option(help="Only this quantity; may be repeated. Default: all that the model allows, except flow.")
    ] = None,
    options: FaithfulnessOptions,
    measuring: MeasuringCorpus,
    language: Language = "en",
) -> None:
    """How faithful each quantity is to the model's answers: the tokens that it ranks first are erased, or left alone.

    For classifiers, masked language models and decoders. Runs over parts of a corpus are merged by: eyeline merge

    [dim]eyeline faithfulness reviews.txt --model e5-small-sentiment --limit 200 -o run[/dim]
    """
    from eyeline.measure.causes.faithfulness import Faithfulness
    from eyeline.measure.corpus.run import analyse

    statistic = Faithfulness(method, longest=options.max_tokens)
    engine, opened, loaded = measuring.open(corpus, model)
    run, report = measuring.write(output, language, partial(analyse, loaded, opened, [statistic], **given_options(options), engine=engine))
    console.print(printed(run))
    for name, reason in statistic.refused.items():
        console.print(f"[bold]Left out[/bold] {escape(name)}: {escape(reason.splitlines()[0])}", highlight=False)
    console.print(f"Report: {escape(str(report))}", highlight=False)


def printed(run: Run) -> Table:
    """The table of a run, the most faithful quantity first."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    names = ("method", "comprehensiveness", "sufficiency", "aopc", "texts")
    for name in names:
        table.add_column(name, justify="left" if name == "method" else "right")
    for row in sorted(run.table("faithfulness").rows(), key=lambda row: -float(row["aopc"])):
        table.add_row(*(f"{row[name]:.3f}" if isinstance(row[name], float) else str(row[name]) for name in names))
    return table


# ---- `eyeline causes`: which heads of a model matter for its answers, over a corpus


#: Heads that are printed.
HEADS_SHOWN = 5


def causes(
    corpus: CorpusPath,
    output: Output,
    model: AnsweringModel = ANSWERING_DEFAULT,
    *,
    options: CausesOptions,
    measuring: MeasuringCorpus,
    language: Language = "en",
) -> None:
    """What each head does to the model's answers: ablated one at a time, estimated by gradients, and pruned together.

    [dim]eyeline causes corpus.txt --model e5-small-mlm --limit 100 -o run[/dim]
    """
    from eyeline.measure.causes.run import causes as run_causes
    from eyeline.measure.runs.run import amounts

    engine, opened, loaded = measuring.open(corpus, model)
    run, report = measuring.write(output, language, partial(run_causes, loaded, opened, **given_options(options), engine=engine))
    _print(run)
    console.print(f"{amounts(run)}. Report: {escape(str(report))}", highlight=False)


def _print(run: Run) -> None:
    """The heads that the answers need most, and how well the estimates agree with the ablations."""
    from eyeline.measure.causes.result import correlation
    from eyeline.measure.heads.profile import effects

    every = effects(run)
    needed = [effect for effect in every if effect.loss_change > 0]
    title = f"The loss rises without {len(needed)} of {len(every)} heads{'; most without these' if len(needed) > 1 else ''}"
    table = Table(title=title, title_justify="left", title_style="bold", box=None)
    for name in ("head", "change of the loss", "standard error", "answer less probable by"):
        table.add_column(name, justify="left" if name == "head" else "right")
    for effect in needed[:HEADS_SHOWN]:
        table.add_row(effect.head.full_label, f"{effect.loss_change:+.4f} nats", f"{effect.error:.4f}", f"{effect.answer_change:+.4f}")
    console.print(table)
    for first, second, about in (
        ("loss_change", "attribution", "Change of the loss, by ablation and by attribution patching"),
        ("|loss_change|", "gradient", "Size of that change, by ablation and by the gradient"),
        ("|loss_change|", "entropy", "Size of that change, and how broadly a head looks (entropy)"),
    ):
        value = correlation(run, first, second)
        if value is not None:
            console.print(f"{about}: rank correlation {value:+.2f}.", highlight=False)
