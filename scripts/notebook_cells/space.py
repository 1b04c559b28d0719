"""Queries and keys in one space."""

# ruff: noqa: E501 - a paragraph of a text cell is one line
from __future__ import annotations

from scripts.notebook_cells.cell import Cell

CELLS: tuple[Cell, ...] = (
    {
        "en": "# Queries and keys in one space\n\nAfter AttentionViz (Yeh et al. 2023). A query (blue) attends to a key (orange) when their dot product is large. Here the picture is fitted, so that near means attends, and each head says how often that holds."
    },
    "import eyeline as el\n\n"
    'model = el.load("e5-small")\n'
    'paragraphs = el.corpora.sample_text().split("\\n\\n")[:8]\n'
    "space = el.space(model, paragraphs, layers=[2, 4], heads=[2, 4, 10])\n"
    "space",
    {
        "en": "## All heads, then one\n\nClick a head to open it, a point to see its sentence. L2·H2 looks at the token before, L4·H4 goes from determiners to their nouns."
    },
    "el.space_view(space)",
    "el.space_view(space, layer=4, head=4)",
    {
        "en": "## How far can the picture be trusted?\n\n`top1_held_out`: how often the nearest key is the most attended one, on texts that the fit has not seen; `kl`: what is lost, in nats, beside the head's `entropy`."
    },
    'space.table().to_frame()[["layer", "head", "top1_held_out", "kl", "entropy"]].round(2)',
    {
        "en": "## A new sentence in the same picture, and a search\n\nThe projections are linear, so they place unseen text: here the nearest key of each token. The search uses the scores of all texts: which queries look at this key?"
    },
    'trace = model.trace("The old dog slept near the warm fire.")\n'
    "placed = space.transform(trace)\n"
    "queries, keys = placed.queries[1, 1], placed.keys[1, 1]  # of L4·H4, the second layer and head of this space: [token, 2]\n"
    "nearest = ((queries[:, None] - keys[None]) ** 2).sum(-1).argmin(1)\n"
    "tokens = trace.text.tokens\n"
    'print(", ".join(f"{token} → {tokens[key]}" for token, key in zip(tokens, nearest, strict=True)))\n'
    'for match in space.search(6, "key", layer=4, head=4, text=0)[:3]:\n'
    "    print(match)",
    {
        "en": "## One space for all heads and layers\n\nKeys are what enters each layer; queries are pulled back to the same space. A query lies on a circle, on the side of the keys that it attends to."
    },
    'el.space_view(el.space(model, paragraphs[:4], of="shared"))',
)
