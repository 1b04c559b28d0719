"""The page, the tables and the paragraph of methods that `eyeline paper` writes from the run of all analyses of Clark et al. 2019."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from eyeline.figures import available, figure, record_of
from eyeline.heads import HeadRef
from eyeline.look.views.graph import attention_graph
from eyeline.measure.paper.run import ENTROPY_SMOOTHING, KINDS, PaperTable, Statement, figure_1, statements, tables
from eyeline.measure.runs.figure import Style, formula_html, provenance
from eyeline.measure.runs.pictures import save_pictures
from eyeline.measure.runs.run import Run, left_out
from eyeline.show.report import POLICY, STYLE
from eyeline.storage.files import make_folder, path_in, write_whole
from eyeline.text.tokenized import printable
from eyeline.words import Words

PAGE, TABLES, FIGURES, METHODS = "paper.html", "tables", "figures", "methods"

#: The paper's figures → our figures, in its order. Figure 1 is drawn from single heads; see `figure_1`.
OURS = {
    "2": ("average_attention",),
    "3": ("importance",),
    "4": ("entropy",),
    "5": ("syntax_examples", "coreference_example"),
    "6": ("head_map",),
}
#: Pixels of a figure in one column of a page, and of one across both: at 96 pixels an inch, printed at two thirds of their size.
COLUMN, BOTH = 480, 1000
#: Figures with several panels side by side.
WIDE = ("average_attention", "syntax_examples", "coreference_example")


def write_paper(run: Run, folder: Path, *, pictures: Sequence[str] = (), language: str = "en") -> Path:
    """Write paper.html, tables/*.md and *.tex, methods.md and .tex, references.bib, and figures; the path of the page.

    pictures   kinds of picture files, such as pdf, for figures at column width; they need a Chromium
    """
    words = Words(language)
    for name in (TABLES, FIGURES):
        make_folder(path_in(folder, name))
    found, printed = statements(run), tables(run)
    for table in printed:
        for ending, write in (("md", markdown), ("tex", latex)):
            write_whole(path_in(folder / TABLES, f"table-{table.number}.{ending}"), [write(table, words).encode()])
    text = methods(run)
    write_whole(folder / f"{METHODS}.md", [text.encode()])
    write_whole(folder / f"{METHODS}.tex", [escape_latex(text).encode()])
    write_whole(folder / "references.bib", [REFERENCES.encode()])
    graphs = _save_figure_1(run, folder, language)
    _save_pictures(run, folder, pictures, words)
    write_whole(folder / PAGE, (piece.encode() for piece in _page(run, found, printed, graphs, words)))
    return folder / PAGE


# ---- Figure 1: heads that do one thing, on one text


def _save_figure_1(run: Run, folder: Path, language: str) -> dict[str, tuple[HeadRef, str]]:
    """Draw these heads on the example of the run; the kind → the head and its SVG."""
    example = run.parts["analyse"].example
    if example is None:
        return {}
    drawn = {}
    for kind, head in figure_1(run).items():
        path = path_in(folder / FIGURES, f"figure-1-{kind}.svg")
        attention_graph(example, head.layer, head.head, language=language).save(path)
        drawn[kind] = (head, path.read_text(encoding="utf-8"))
    return drawn


def _save_pictures(run: Run, folder: Path, kinds: Sequence[str], words: Words) -> None:
    style = Style(words, titled=False)
    drawings: dict[Path, Any] = {}
    for number, names in OURS.items():
        for name in names:
            if kinds and name in available(run):
                drawing = figure(run, name, style)
                drawing.update_layout(width=BOTH if name in WIDE else COLUMN, margin={"t": 40, "r": 16}, font={"size": 14})
                drawings |= {path_in(folder / FIGURES, f"figure-{number}-{name}.{kind}"): drawing for kind in kinds}
    if drawings:
        save_pictures(drawings)


# ---- Tables as Markdown and LaTeX


def titles(table: PaperTable, words: Words) -> list[str]:
    return [words(f"paper.column.{column}") for column in table.columns]


def markdown(table: PaperTable, words: Words) -> str:
    """A table of Markdown with its title.

    >>> print(markdown(PaperTable(3, ("probe", "uas"), (("a|b", "1.0"),)), Words()), end="")
    **Table 3.** Governors found by probes, in per cent of words without punctuation (UAS)
    <BLANKLINE>
    | probe | found |
    |---|---|
    | a\\|b | 1.0 |
    """
    rows = [titles(table, words), ["---"] * len(table.columns), *table.rows]
    lines = ["|".join(["", *(f" {cell.replace('|', chr(92) + '|')} " if cell != "---" else cell for cell in row), ""]) for row in rows]
    return f"**{words('paper.table', n=table.number)}** {words(f'paper.table_{table.number}')}\n\n" + "\n".join(lines) + "\n"


def latex(table: PaperTable, words: Words) -> str:
    """The same as LaTeX; needs the package booktabs.

    >>> print(latex(PaperTable(3, ("probe", "uas"), (("a & b", ""),)), Words()), end="")
    \\begin{table}
    \\centering
    \\begin{tabular}{lr}
    \\toprule
    probe & found \\\\
    \\midrule
    a \\& b &  \\\\
    \\bottomrule
    \\end{tabular}
    \\caption{Governors found by probes, in per cent of words without punctuation (UAS)}
    \\end{table}
    """
    form = "".join("l" if column in ("relation", "method", "probe", "head", "paper_head") else "r" for column in table.columns)
    rows = [" & ".join(map(escape_latex, row)) + r" \\" for row in (titles(table, words), *table.rows)]
    return "\n".join(
        [
            r"\begin{table}", r"\centering", rf"\begin{{tabular}}{{{form}}}", r"\toprule", rows[0], r"\midrule", *rows[1:], r"\bottomrule",
            r"\end{tabular}", rf"\caption{{{escape_latex(words(f'paper.table_{table.number}'))}}}", r"\end{table}", "",
        ]
    )  # fmt: skip


#: Characters that LaTeX does not print as they are.
LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}", "–": "--", "−": "$-$", "<": "$<$", ">": "$>$", "·": r"$\cdot$", "ε": r"$\varepsilon$",
}  # fmt: skip


def escape_latex(text: str) -> str:
    """Text as LaTeX prints it.

    >>> escape_latex("50 % of L3·H7_a")
    '50 \\\\% of L3$\\\\cdot$H7\\\\_a'
    """
    return "".join(LATEX.get(character, character) for character in printable(text))


# ---- The paragraph of methods

REFERENCES = r"""@inproceedings{clark-etal-2019-bert,
  title = {What Does {BERT} Look at? An Analysis of {BERT}'s Attention},
  author = {Clark, Kevin and Khandelwal, Urvashi and Levy, Omer and Manning, Christopher D.},
  booktitle = {Proceedings of the 2019 ACL Workshop BlackboxNLP},
  pages = {276--286},
  year = {2019}
}
"""


def methods(run: Run) -> str:
    """What was measured, on what, with which seeds and versions: from the facts of the run, in English, as a paper says it."""
    corpus, grammar, reference, probes = (run.parts[kind].facts for kind in KINDS)
    model, versions = corpus.model, corpus.versions
    layers, heads = (next(iter(model.stacks.values()))[index] for index in (0, 1))
    sentences = [
        f"We repeat the analyses of Clark et al. (2019) with eyeline {versions['eyeline']} (PyTorch {versions['torch']}, transformers "
        f"{versions['transformers']}) on {model.name} ({model.class_name}, {layers} layers of {heads} heads, {model.dtype}, weights "
        f"{model.sha256[:16]}).",
        f"Attention statistics are measured on {corpus.counts.get('texts', 0):,} segments of {corpus.corpus.name} "
        f"(SHA-256 {corpus.corpus.sha256[:16]}), each built of two parts of at most 128 tokens in all (seed {_seed(run, 'analyse')}); "
        f"entropies mix in {ENTROPY_SMOOTHING} of even attention and distances between heads 0.001, as in the paper's code.",
        f"Heads as finders of governors are scored on {grammar.counts['sentences']:,} sentences of {grammar.corpus.name} (SHA-256 "
        f"{grammar.corpus.sha256[:16]}); the best head of a relation is chosen on one half of the sentences and scored on the other for "
        "the held-out column.",
        f"Antecedent selection is scored on {reference.corpus.name} (SHA-256 {reference.corpus.sha256[:16]}), probes on "
        f"{probes.counts['sentences']:,} sentences of {probes.corpus.name}, each trained with {_times(run)} of starting weights (seed "
        f"{_seed(run, 'probe')}).",
    ]
    if grammar.corpus.synthetic:
        sentences.append("The treebank is generated text that comes with eyeline, not natural language.")
    return " ".join(sentences) + "\n"


def _option(run: Run, kind: str, name: str) -> object:
    return getattr(run.parts[kind].facts.options, name)


def _times(run: Run) -> str:
    n = _option(run, "probe", "seeds")
    return "one set" if n == 1 else f"{n} sets"


def _seed(run: Run, kind: str) -> object:
    return _option(run, kind, "seed")


# ---- The page


def _page(
    run: Run, found: Sequence[Statement], printed: Sequence[PaperTable], graphs: dict[str, tuple[HeadRef, str]], words: Words
) -> Iterator[str]:
    from plotly.offline import get_plotlyjs

    title = html.escape(words("paper.title", model=printable(run.parts["analyse"].facts.model.name)))
    yield (
        f'<!doctype html>\n<html lang="{words.language}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{STYLE}{OWN_STYLE}</style>\n"
        f"<script>{get_plotlyjs().replace('</script', chr(92) + 'x3c/script')}</script>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
    )
    yield f"<p>{words('paper.about')}</p>\n"
    said: set[str] = set()
    for part in run.parts.values():
        notes = [words("report.synthetic")] if part.facts.corpus.synthetic else []
        notes += [words("report.left_out.analysis", name=name, reason=words.of(why)) for name, why in part.facts.left_out.items()]
        yield f"<p class=quiet>{_plain(provenance(part, words))}</p>\n"
        new = [note for note in dict.fromkeys([*notes, *left_out(part, words)]) if note not in said]
        said |= set(new)
        yield "".join(f"<p class=notice>{_plain(note)}</p>\n" for note in new)
    yield from _statements(found, words)
    yield f"<h2>{words('paper.figure', n=1)} {words('paper.figure_1')}</h2>\n<div class=graphs>\n"
    for kind, (head, picture) in graphs.items():
        yield f"<figure><figcaption>{words(f'paper.kind.{kind}')}: {head}</figcaption>{picture[picture.index('<svg') :]}</figure>\n"
    yield "</div>\n"
    for number, names in OURS.items():
        for name in (name for name in names if name in available(run)):
            record, stack = record_of(name)
            drawn = figure(run, name, Style(words, titled=False)).to_html(
                full_html=False, include_plotlyjs=False, config={"displaylogo": False, "responsive": True}
            )
            yield f"<section>\n<h2>{words('paper.figure', n=number)} {html.escape(record.title(words, stack))}</h2>\n"
            yield f'<div class="figure {name}">{drawn}</div>\n<p>{html.escape(record.meaning(words))}</p>\n'
            yield f"<p class=formula><span>{formula_html(record.formula)}</span> {formula_html(record.symbols(words))}</p>\n</section>\n"
        if not any(name in available(run) for name in names):
            yield f"<p class=notice>{words('paper.figure', n=number)} {words(f'paper.missing_{number}')}</p>\n"
    for table in printed:
        title = f"{words('paper.table', n=table.number)} {words(f'paper.table_{table.number}')}"
        yield f"<section>\n<h2>{title}</h2>\n{_html_table(table, words)}</section>\n"
    yield f"<h2>{words('paper.differs')}</h2>\n<ul>\n"
    yield "".join(f"<li>{line}</li>\n" for line in words.part("paper.difference").values())
    yield f"</ul>\n<h2>{words('paper.methods')}</h2>\n<p>{_plain(methods(run))}</p>\n</main>\n</body>\n</html>\n"


def _statements(found: Sequence[Statement], words: Words) -> Iterator[str]:
    yield f"<h2>{words('paper.statements')}</h2>\n<div class=wide><table>\n<thead><tr>"
    yield (
        "".join(f"<th>{words(f'paper.{name}')}</th>" for name in ("of_figure", "says", "published", "measured"))
        + "</tr></thead>\n<tbody>\n"
    )
    for item in found:
        cells = (item.figure, words(f"paper.statement.{item.key}"), item.published, item.measured)
        yield f"<tr>{''.join(f'<td>{_plain(cell)}</td>' for cell in cells)}</tr>\n"
    yield "</tbody>\n</table></div>\n"


def _html_table(table: PaperTable, words: Words) -> str:
    head = "".join(f"<th>{html.escape(title)}</th>" for title in titles(table, words))
    rows = "".join(
        "<tr>" + "".join(f"<td{' class=paper' if column.startswith('paper') else ''}>{_plain(cell) or '—'}</td>"
        for column, cell in zip(table.columns, row, strict=True)) + "</tr>\n" for row in table.rows
    )  # fmt: skip
    return f"<div class=wide><table class=numbers>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n"


def _plain(text: str) -> str:
    return html.escape(printable(text))


#: What the report's style does not have: figure 1 side by side, published numbers in grey.
OWN_STYLE = """
.graphs { display: flex; flex-wrap: wrap; gap: 16px }
.graphs figure { margin: 0; max-width: 100%; overflow-x: auto }
.graphs svg { height: 420px; width: auto }
td.paper { color: #5b6472 }
"""
