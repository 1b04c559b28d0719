"""Reproduce "What Does BERT Look At?" (Clark et al. 2019)."""

# ruff: noqa: E501 - a paragraph of a text cell is one line
from __future__ import annotations

from scripts.notebook_cells.cell import Cell

CELLS: tuple[Cell, ...] = (
    {
        "en": "# Reproduce “What Does BERT Look At?”\n\nClark, Khandelwal, Levy and Manning (2019), section by section, on the embedded model of BERT's shape (12 layers of 12 heads, counted from 0). The corpus here is small, so that the notebook runs in a few minutes; docs/results.md has the numbers of larger corpora beside the paper's."
    },
    "from IPython.display import display\n\nimport eyeline as el\n\n"
    'model = el.load("e5-small")\n'
    'paragraphs = el.corpora.sample_text().split("\\n\\n")[:6]  # or el.corpora.read_corpus("wikipedia.txt")\n'
    "run = el.analyse(model, paragraphs)\n"
    "run",
    {
        "en": "## Section 3.1: relative position, and 3.2: separators\n\nThe paper finds heads that look at the previous or the next token, and much attention to `[SEP]` in the middle layers."
    },
    'shares = run.table("average_attention")\n'
    'for target in ("previous", "next", "sep"):\n'
    '    rows = sorted(shares.where(target=target).rows(), key=lambda row: -row["mean"])[:3]\n'
    "    print(target, [(f\"L{row['layer']}·H{row['head']}\", round(row[\"mean\"], 2)) for row in rows])\n"
    'el.figure(run, "average_attention")',
    {"en": "## Section 3.3: how broadly heads look\n\nThe entropy of each head, in nats. Heads of the lowest layers look most broadly."},
    'el.figure(run, "entropy")',
    {"en": "## Section 4.2: single heads as parsers (table 1)\n\nThe treebank is generated and small: it shows how, not how well."},
    'el.treebanks.write_sample("sample.conllu", 80)  # or a CoNLL-U file of your own\n'
    'syntax = el.syntax(model, "sample.conllu", min_count=40)\n'
    'display(syntax.table("syntax").to_frame()[["relation", "count", "layer", "head", "accuracy", "baseline"]].round(1))\n'
    'el.figure(syntax, "syntax_examples")',
    {"en": "## Section 4.3: coreference (table 2), and section 5: probes (table 3)"},
    'coreference = el.coreference(model, "sample.conllu")\n'
    'probes = el.probe(model, "sample.conllu", seeds=1, epochs=10)\n'
    'display(coreference.table("coreference").to_frame()[["method", "layer", "head", "all", "pronoun", "n"]].round(1))\n'
    'display(probes.table("probes").to_frame()[["probe", "uas"]].round(1))',
    {"en": "## Section 6: heads of a layer behave alike\n\nDistances between heads in the plane. Colours are layers."},
    'el.figure(run, "head_map")',
)
