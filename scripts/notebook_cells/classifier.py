"""Debug your own fine-tuned classifier: attention first, then causes."""

# ruff: noqa: E501 - a paragraph of a text cell is one line
from __future__ import annotations

from scripts.notebook_cells.cell import Cell

CELLS: tuple[Cell, ...] = (
    {
        "en": '# Debug your fine-tuned classifier\n\nAttention first, then causes. The example is a sentiment classifier; put yours in its place: `el.load("path/to/your-model")`, or `el.wrap(model, tokenizer)` for one in memory.'
    },
    "import eyeline as el\n\n"
    'model = el.load("e5-small-sentiment")\n'
    'text = "The food was cold but the waiter was kind."\n'
    "print(model.predict(text))\n"
    "trace = model.trace(text)",
    {
        "en": "## 1. Where does it look?\n\nA classifier reads its answer from `[CLS]` or from the mean over tokens. Look at the last layer first. These lines show where information may flow, not why the model decided."
    },
    "el.head_view(trace, layer=11)",
    {
        "en": "## 2. What does the answer rest on?\n\nDecompX divides the logit of the answer among the tokens; the numbers sum to it. Orange raises the answer, blue lowers it."
    },
    'decompx = el.attribute(model, text, method="decompx")\n'
    "for token, score in zip(decompx.text.tokens, decompx.quantity.scores, strict=True):\n"
    '    print(f"{token:>8} {score:+.2f}")\n'
    "el.head_view(trace, also=[decompx], drawn=1)",
    {"en": "## 3. Is that true? Change the text\n\nA division is a claim. The test is to change the word."},
    'for other in (text, text.replace("kind", "rude"), text.replace("cold", "hot"), text.replace("but", "and")):\n'
    '    print(f"{other:50} {model.predict(other)}")',
    {
        "en": "## 4. Which heads matter? Switch them off\n\nEvery head of three layers over a few reviews: how much the probability of the model's own answer falls without it. In the live view, `el.head_view(trace, model=model)`, a right click on a head does the same for one text."
    },
    'reviews = [text, "A lovely place with friendly staff.", "We waited an hour and left hungry.", "The soup was fine, the bill was not."]\n'
    "run = el.causes(model, reviews, layers=[9, 10, 11], pruning=False)\n"
    'el.figure(run, "causes")',
    'rows = sorted(run.table("causes").rows(), key=lambda row: -abs(row["answer_change"]))[:3]\n'
    'heads = [(int(row["layer"]), int(row["head"])) for row in rows]\n'
    'print("without", heads, model.predict(text, interventions=[el.Ablate(heads)]))',
    {
        "en": "## What to keep\n\nIf attention, the division and the ablation name the same word, say so. If they disagree, believe the ablation: it is the only one that ran the model again."
    },
)
