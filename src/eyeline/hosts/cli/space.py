"""`eyeline space` and `eyeline compare`: the queries and keys of a corpus in one picture, and two models side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from eyeline.hosts.cli.corpus import numbers
from eyeline.hosts.cli.corpus_options import (
    Address,
    Column,
    CorpusPath,
    EngineOption,
    GpusPerWorker,
    Kind,
    Limit,
    MaxTokens,
    Output,
    Seed,
    Split,
    Workers,
    chosen_engine,
)
from eyeline.hosts.cli.language import Language
from eyeline.hosts.cli.models import ModelName
from eyeline.hosts.cli.progress import progress_bars
from eyeline.hosts.cli.terminal import console, print_gauges, print_notices
from eyeline.hosts.report.text import PAGES
from eyeline.text.named_pairs import NamedPair, named_pairs
from eyeline.words import Words
from eyeline.words.percent import percent

if TYPE_CHECKING:
    from eyeline.results.space.fidelity_summary import FidelitySummary
    from eyeline.results.space.space import Space

#: The pages with the pictures, in the folder of the run.
PAGE, COMPARE_PAGE = (PAGES[kind] for kind in ("space", "compare"))

Layers = Annotated[str | None, typer.Option(help="Layers, from 0, such as 0,5. Default: all.")]
Pictures = Annotated[
    Path | None,
    typer.Option(help="Also pictures of each head and layer (PNG, SVG, PDF, HTML), in this folder.", show_default=False),
]
Red = Annotated[
    list[str] | None,
    typer.Option(help="A pair in red, on the page and in pictures, such as it → cat or brown:##bara; may be repeated.", show_default=False),
]


def space(
    corpus: CorpusPath,
    output: Output,
    model: ModelName,
    of: Annotated[str, typer.Option(help="queries-keys, values or shared.")] = "queries-keys",
    shared: Annotated[bool, typer.Option("--shared", help="One space for all heads and layers, as --of shared.")] = False,
    project: Annotated[
        str | None, typer.Option(help="fitted, freed, pca, umap or tsne.", show_default="fitted; for values and shared pca")
    ] = None,
    gauge: Annotated[
        str | None,
        typer.Option(
            help="attentionviz, searched, lifted or none; with --of shared also ring.",
            show_default="lifted for fitted and freed, ring for shared, else attentionviz",
        ),
    ] = None,
    dims: Annotated[int, typer.Option(help="2 or 3 dimensions.")] = 2,
    shared_scale: Annotated[bool, typer.Option("--shared-scale", help="For the gauge attentionviz: one scale for all heads.")] = False,
    distance: Annotated[str, typer.Option(help="For the gauge searched: euclidean or cosine.")] = "euclidean",
    correlate: Annotated[str, typer.Option(help="For the gauge searched: full, or plane (distances in the PCA plane).")] = "full",
    background: Annotated[
        bool | None,
        typer.Option(help="Fit together with the built-in paragraphs.", show_default="where the texts have fewer than 1,000 tokens"),
    ] = None,
    layers: Layers = None,
    heads: Annotated[str | None, typer.Option(help="Heads, from 0, such as 0,5. Default: all.")] = None,
    limit: Limit = None,
    max_tokens: MaxTokens = None,
    seed: Seed = 0,
    kind: Kind = None,
    column: Column = None,
    split: Split = None,
    vectors: Annotated[bool, typer.Option(help="Keep the vectors too, for search and other projections (large).")] = True,
    pictures: Pictures = None,
    red: Red = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the space that the folder holds.")] = False,
    engine: EngineOption = "local",
    workers: Workers = None,
    address: Address = None,
    gpus_per_worker: GpusPerWorker = None,
    language: Language = "en",
) -> None:
    """The queries and keys of every head in one picture, so that near means attends, and how far each picture can be trusted.

    [dim]eyeline space articles.txt --limit 50 -o run[/dim]
    """
    chosen_layers, chosen_heads, pairs = numbers(layers), numbers(heads), named_pairs(red or [])
    if shared and of not in ("queries-keys", "shared"):
        raise typer.BadParameter(f"--shared and --of {of} do not go together.")
    of = "shared" if shared else of
    from eyeline.analyses.space.red_pairs import check_red_pairs
    from eyeline.analyses.space.run import space as joint_space
    from eyeline.hosts.report.write import write_report
    from eyeline.models.load import load
    from eyeline.results.facts import present
    from eyeline.results.folder import check_free
    from eyeline.results.space.fidelity_summary import summarise_fidelity
    from eyeline.results.status import writing_run
    from eyeline.text.corpora.read import read_corpus
    from eyeline.views.space import space_view

    where = chosen_engine(engine, workers, address, gpus_per_worker)
    check_free(output, "space", overwrite=overwrite)
    opened, loaded = read_corpus(corpus, kind=kind, column=column, split=split), load(model)
    check_red_pairs(loaded, opened, pairs, of=of, limit=limit, max_tokens=max_tokens, seed=seed)
    with progress_bars() as report_progress, writing_run(output, "space", overwrite=overwrite):
        result = joint_space(
            loaded, opened, of=of, project=project, gauge=gauge, dims=dims, shared_scale=shared_scale,
            distance=distance, correlate=correlate, background=background,
            limit=limit, max_tokens=max_tokens, seed=seed, layers=chosen_layers, heads=chosen_heads,
            engine=where, progress=report_progress,
        )  # fmt: skip
        result.save(output, vectors=vectors)
        space_view(result, pairs=pairs, language=language).save(output / PAGE)
        report = write_report(output, language)  # last: it links to the page
    for name, stack in result.stacks.items():
        if of != "values":
            table = replace(result, stacks={name: stack}).table()
            console.print(f"{escape(name)}: {_summary(summarise_fidelity(table), result.held_out)}", highlight=False)
    facts = present(result.facts, "facts")
    check = facts.gauge_check
    if check is not None:
        checked = f"Attention recomputed from the gauged vectors is within {check.largest_difference:.0e} of the model's."
        doubt = "" if check.holds else " [bold]That is a large difference: is the model in half precision?[/bold]"
        console.print(f"{checked}{doubt}", highlight=False)
    print_gauges(result.gauges)
    counts = facts.counts
    _skipped(counts)
    print_notices(facts.notices)
    amount = f"{Words().count('texts', counts['texts'])}, {Words().count('tokens', counts['tokens'])}"
    console.print(f"{amount}. Pictures: {escape(str(output / PAGE))}", highlight=False)
    console.print(f"Report: {escape(str(report))}", highlight=False)
    if pictures is not None:
        _save_pictures(result, pictures, pairs, language)


def compare(
    corpus: CorpusPath,
    output: Output,
    model: ModelName,
    other: Annotated[
        str | None, typer.Option("--with", help="The second model: embedded, a local folder, or a hub id.", show_default=False)
    ] = None,
    untrained: Annotated[
        bool, typer.Option("--untrained", help="Instead of --with: a copy of the model with its embeddings, all other weights random.")
    ] = False,
    layers: Layers = None,
    limit: Limit = None,
    max_tokens: MaxTokens = None,
    seed: Seed = 0,
    kind: Kind = None,
    column: Column = None,
    split: Split = None,
    spaces: Annotated[bool, typer.Option(help="Also make the two spaces of queries and keys, side by side in one page.")] = True,
    pictures: Pictures = None,
    red: Red = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the comparison that the folder holds.")] = False,
    language: Language = "en",
) -> None:
    """How far the attention of two models lies apart, head by head: for example before and after fine-tuning.

    [dim]eyeline compare articles.txt --model base --with tuned -o run[/dim]
    [dim]eyeline compare articles.txt --untrained -o run[/dim]
    """
    chosen, pairs = numbers(layers), named_pairs(red or [])
    if pairs and not spaces:
        raise typer.BadParameter("--red and --no-spaces do not go together: pairs are drawn in the spaces.")
    if (other is None) is not untrained:
        raise typer.BadParameter("Give the second model: either --with MODEL or --untrained.")
    from eyeline.analyses.compare.run import compare as run_compare
    from eyeline.analyses.space.red_pairs import check_red_pairs
    from eyeline.hosts.report.write import write_report
    from eyeline.models.load import load
    from eyeline.models.reinitialise import reinitialised
    from eyeline.results.comparison import summarise_divergence
    from eyeline.results.folder import check_free
    from eyeline.results.space.one_head import distinct_names
    from eyeline.results.status import writing_run
    from eyeline.text.corpora.read import read_corpus
    from eyeline.views.space import space_view

    check_free(output, "compare", overwrite=overwrite)
    opened, first = read_corpus(corpus, kind=kind, column=column, split=split), load(model)
    second = reinitialised(first, seed) if other is None else load(other)
    check_red_pairs([first, second], opened, pairs, limit=limit, max_tokens=max_tokens, seed=seed)
    with progress_bars() as report_progress, writing_run(output, "compare", overwrite=overwrite):
        result = run_compare(
            first, second, opened, layers=chosen, limit=limit, max_tokens=max_tokens, seed=seed, spaces=spaces, progress=report_progress
        )
        result.save(output)
        (output / COMPARE_PAGE).unlink(missing_ok=True)
        if result.spaces is not None:
            space_view(*result.spaces, pairs=pairs, language=language).save(output / COMPARE_PAGE)
        report = write_report(output, language)  # last: it links to the page
    for name, reason in result.facts.left_out.items():
        console.print(f"[bold]Left out[/bold] {escape(name)}: {escape(reason)}", highlight=False)
    print_notices(result.facts.notices)
    divergence = summarise_divergence(result.table)
    console.print(
        f"Divergence between {result.facts.level}s, in nats: mean {divergence.mean:.4f},"
        f" most {divergence.largest:.4f} ({divergence.head}).",
        highlight=False,
    )
    if result.spaces is not None:
        console.print(f"Both spaces: {escape(str(output / COMPARE_PAGE))}", highlight=False)
    console.print(f"{Words().count('texts', result.facts.counts['texts'])}. Report: {escape(str(report))}", highlight=False)
    if result.spaces is not None:
        from eyeline.plots.space.head_pictures import came_nearer

        before, after = result.spaces
        if pictures is not None:
            named = distinct_names(before.model, after.model)
            for name, space, folder in zip(named, (before, after), ("first", "second"), strict=True):
                _save_pictures(replace(space, model=name), pictures / folder, pairs, language)
        for line in came_nearer(before, after, pairs):
            console.print(escape(line), highlight=False)


def _save_pictures(shown: Space, folder: Path, red: tuple[NamedPair, ...], language: str) -> None:
    from eyeline.plots.space.head_pictures import save_pictures
    from eyeline.views.sheets import save_sheets

    paths = save_pictures(shown, folder, red=red) + save_sheets(shown, folder, red=red, language=language)
    console.print(f"{len(paths)} pictures of {escape(shown.model)}: {escape(str(folder))}", highlight=False)


def _summary(trust: FidelitySummary | None, held_out: str) -> str:
    if trust is None:
        return "no fidelity: every head attends to all keys alike." if held_out else "no held-out fidelity can be measured."
    from eyeline.results.space.shown_fidelity import UNSEEN

    unseen = " on unseen text" if held_out in UNSEEN else ""
    nearest, among_five, before = (percent(share, 1) for share in (trust.top1, trust.top5, trust.top1_full))
    return (
        f"the most attended key is the nearest for {nearest} of queries{unseen}, among the nearest five for {among_five};"
        f" before projection {before}. Rank correlation {trust.rank:.2f}."
    )


def _skipped(counts: Mapping[str, int]) -> None:
    for what, reason in (
        ("too_long", "longer than --max-tokens or the model allows"),
        ("unreadable", "not readable as text"),
        ("broke", "each broke the worker that read it, twice (named in run.json)"),
    ):
        if counts.get(what):
            console.print(f"{counts[what]:,} of {counts['documents']:,} documents skipped: {reason}.", highlight=False)
