"""A decoder: sinks and induction heads."""

# ruff: noqa: E501 - a paragraph of a text cell is one line
from __future__ import annotations

from scripts.notebook_cells.cell import Cell

CELLS: tuple[Cell, ...] = (
    {
        "en": "# A decoder: sinks and induction heads\n\nsmollm2 is a Llama with 30 layers of 9 heads; three heads share each key. A decoder sees only what came before."
    },
    "import eyeline as el\n\n"
    'model = el.load("smollm2")\n'
    'text = "kite plum frost anchor drum violet " * 2 + "kite plum frost"  # what comes next?\n'
    "trace = model.trace(text)\n"
    "print(trace)\n"
    "print(model.predict(text))",
    {
        "en": "## Sinks\n\nMost heads put attention that they do not need on the first token (Xiao et al. 2023). The share of each layer, mean over heads and later tokens:"
    },
    "share = trace.weights[:, :, 1:, 0].mean((1, 2))  # [layer]\n"
    'print([f"L{layer} {value:.2f}" for layer, value in enumerate(share) if layer % 5 == 0])\n'
    "el.model_view(trace, layers=[0, 10, 20, 29])",
    {
        "en": "## Induction heads\n\nAn induction head looks at the token after an earlier copy of the present token: *… frost anchor … frost* → *anchor* (Olsson et al. 2022). Random tokens, read twice, find these heads; 0.5 is the most that a head can reach."
    },
    "scores = el.attributions.head_scores(model, length=20)\n"
    'strongest = sorted(scores.rows(), key=lambda row: -row["induction"])[:5]\n'
    'heads = [(int(row["layer"]), int(row["head"])) for row in strongest]\n'
    "print([(f\"L{row['layer']}·H{row['head']}\", round(row[\"induction\"], 2)) for row in strongest])\n"
    "layer, head = heads[0]\n"
    "el.head_view(trace, layer=layer, heads=[head])",
    {
        "en": "## Do they matter?\n\nWithout the five strongest, the model no longer knows how the list goes on. Without five others it does."
    },
    'print("with all heads  ", model.predict(text))\n'
    'print("without the five", model.predict(text, interventions=[el.Ablate(heads)]))\n'
    "others = [(2, 0), (6, 4), (12, 2), (22, 5), (26, 8)]\n"
    'print("without others  ", model.predict(text, interventions=[el.Ablate(others)]))',
    {"en": "## What one weight is made of\n\nQuery and key of that head, after rotary embedding."},
    "el.neuron_view(trace, layer=layer, head=head, query=len(trace.text.tokens) - 1)",
)
