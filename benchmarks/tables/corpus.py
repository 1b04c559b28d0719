"""The corpus section of docs/results.md: what Clark et al. found for BERT-base, beside what a model here shows on WikiText-2.

python -m benchmarks.tables.corpus --model FOLDER --corpus wikitext2-test.txt.gz [--limit 300]
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

import eyeline as el
from benchmarks.output import PICTURES, existing, markdown_table, put_section, save_picture, section_parser

FIGURE_1, FIGURE_6 = "results-figure1.png", "results-figure6.png"
#: The sentence of figure 1.
SENTENCE = "The cat sat on the mat, because it was tired."


def means(run: el.Run, target: str) -> tuple[np.ndarray, np.ndarray]:
    """(layers, means), one for each head."""
    part = run.table("average_attention").where(target=target)
    return part["layer"].astype(int), part["mean"].astype(float)


def heads_above(run: el.Run, target: str, share: float) -> str:
    part = run.table("average_attention").where(target=target)
    result = [f"L{row['layer']}·H{row['head']}" for row in part.rows() if float(row["mean"]) > share]
    return f"{len(result)} ({', '.join(result)})" if result else "none"


def by_layer(table: el.runs.Table, column: str = "mean") -> np.ndarray:
    """The mean of a column over the heads of each layer: [layer]"""
    layers, values = table["layer"].astype(int), table[column].astype(float)
    return np.array([values[layers == layer].mean() for layer in sorted(set(layers.tolist()))])


def section(run: el.Run, command: str, heads: dict[str, el.HeadRef]) -> str:
    layers, to_sep = means(run, "sep")
    middle = to_sep[(layers >= 5) & (layers <= 9)].mean()  # the paper's layers 6-10
    _, sep_to_sep = means(run, "sep_from_sep")
    to_sep_there = sep_to_sep[(layers >= 5) & (layers <= 9)].mean()
    last = by_layer(run.table("entropy"), "cls")
    entropy = by_layer(run.table("entropy"), "all")
    together = same_layer(run)
    rows = [
        ["attention to `[SEP]`, layers 5-9", "over half", f"{middle:.2f}"],
        ["`[SEP]` to `[SEP]`, same layers", "above 0.90", f"{to_sep_there:.2f}"],
        ["heads with over half on the previous token", "4 (layers 1, 3, 6, 7)", heads_above(run, "previous", 0.5)],
        ["heads with over half on the next token", "5 (layers 0, 1, 1, 2, 5)", heads_above(run, "next", 0.5)],
        ["entropy of `[CLS]` in the last layer", "3.89 nats", f"{last[-1]:.2f} nats"],
        ["layer with the broadest heads", "a low one", str(int(entropy.argmax()))],
        ["mean divergence of heads within a layer", "heads of a layer lie together", f"{together[0]:.3f} nats"],
        ["… and across layers", "", f"{together[1]:.3f} nats"],
    ]
    counts = run.facts.counts
    named = ", ".join(f"{head} looks {why}" for why, head in heads.items())
    return f"""## Where heads look, and how broadly

`{command}`: {run.facts.model.name} on {counts["texts"]:,} segments `[CLS] A [SEP] B [SEP]` ({counts["tokens"]:,} tokens) of
{run.facts.corpus.name}, seed {run.facts.options.seed}.
The paper's are of BERT-base on Wikipedia, its layers counted from 0 here: another model, trained for sentence embeddings, and other text:
agreement is a finding and difference is no failure.

{markdown_table(["", "Clark et al., BERT-base", str(run.facts.model.name)], rows)}

Figure 1 of the paper has a head for each way of looking. Here they are by measurement: {named}.

![Four heads on one sentence: {", ".join(heads)}](pictures/{FIGURE_1})

Figure 6, the heads of this run by the divergence of their attention (multidimensional scaling); colour: role; shape: the paper’s rule:

![Which heads are alike](pictures/{FIGURE_6})"""


def telling_heads(run: el.Run) -> dict[str, el.HeadRef]:
    """For each way of looking, the head that does it most."""
    entropy = run.table("entropy")
    broad = max(entropy.rows(), key=lambda row: float(row["all"]))
    chosen = {"most broadly": broad}
    for why, target in (("most at the next token", "next"), ("most at the one before", "previous"), ("most at `[SEP]`", "sep")):
        chosen[why] = max(run.table("average_attention").where(target=target).rows(), key=lambda row: float(row["mean"]))
    return {why: el.HeadRef("", int(row["layer"]), int(row["head"])) for why, row in chosen.items()}


def draw(run: el.Run, model: el.Model, heads: dict[str, el.HeadRef]) -> None:
    """The two pictures of the section."""
    trace = model.trace(SENTENCE)
    graphs = []
    for head in heads.values():
        graph = el.figures.attention_graph(trace, head.layer, head.head)
        graphs.append(Image.open(io.BytesIO(graph._repr_png_())).convert("RGB"))
    width, height = graphs[0].size
    sheet = Image.new("RGB", (2 * width, 2 * height), "white")
    for index, picture in enumerate(graphs):
        sheet.paste(picture, (index % 2 * width, index // 2 * height))
    save_picture(sheet.quantize(64), PICTURES / FIGURE_1)
    el.figures.save_figure(run, "head_map", PICTURES / FIGURE_6)
    alike = Image.open(PICTURES / FIGURE_6).convert("RGB")
    alike.thumbnail((1200, 1200))
    save_picture(alike.quantize(128), PICTURES / FIGURE_6)


def same_layer(run: el.Run) -> tuple[float, float]:
    """The mean divergence between heads of one layer, and between heads of different layers."""
    table = run.table("distances")
    names = list(map(str, table.columns["head"]))
    square = np.array([table[name] for name in names], dtype=float)
    layer = np.array([name.split("·")[0] for name in names])
    same = layer[:, None] == layer[None]
    apart = ~np.eye(len(names), dtype=bool)
    return float(square[same & apart].mean()), float(square[~same].mean())


@dataclass(frozen=True)
class PairsRun:
    """A run over pairs of neighbouring sentences of a corpus, and the command that made it."""

    model: el.Model
    run: el.Run
    command: str
    printed: bool

    @classmethod
    def of_command(cls, about: str | None, name: str, statistics: Sequence[el.statistics.Statistic], model: str, limit: int) -> PairsRun:
        """Read the command line of the script of this name in benchmarks/tables, and do what it asks for."""
        parser = section_parser(about)
        parser.add_argument("--model", default=model, help="an embedded name, a folder or a hub id")
        parser.add_argument("--corpus", type=Path, required=True)
        parser.add_argument("--limit", type=int, default=limit, help="documents")
        given = parser.parse_args()
        loaded = el.load(given.model)
        run = el.analyse(loaded, el.corpora.read_corpus(existing(given.corpus)), statistics, pairs=True, limit=given.limit)
        command = f"python -m benchmarks.tables.{name} --model {Path(given.model).name} --corpus {given.corpus.name} --limit {given.limit}"
        return cls(loaded, run, command, given.print)


def main() -> None:
    statistics = [el.statistics.AverageAttention(), el.statistics.Entropy(), el.statistics.HeadDistances()]
    measured = PairsRun.of_command(__doc__, "corpus", statistics, model="e5-small", limit=300)
    heads = telling_heads(measured.run)
    text = section(measured.run, measured.command, heads)
    print(text)
    if not measured.printed:
        draw(measured.run, measured.model, heads)
        put_section("corpus", text)


if __name__ == "__main__":
    main()
