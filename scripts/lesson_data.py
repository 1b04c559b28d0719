"""Measure what the lesson says of e5-small's heads and layers, on the built-in text and treebank.

    python scripts/lesson_data.py

writes src/eyeline/hosts/app/learn/measured.json; tests/hosts/app/learn/test_measured.py measures a part of it again.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict
from pathlib import Path

import eyeline as el
from eyeline.results.head_roles import head_roles, layer_figures
from eyeline.sample.text import sample_text
from eyeline.sample.treebank import write_sample

MODEL, SENTENCES, LEAST = "e5-small", 200, 20
TARGET = Path(__file__).parents[1] / "src/eyeline/hosts/app/learn/measured.json"


def main() -> None:
    model = el.load(MODEL)
    with tempfile.TemporaryDirectory() as folder:
        treebank = Path(folder) / "sample.conllu"
        write_sample(treebank, SENTENCES)
        runs = (
            el.analyse(model, sample_text().split("\n\n"), [el.statistics.AverageAttention(), el.statistics.Entropy()]),
            el.syntax(model, treebank, min_count=LEAST),
            el.coreference(model, treebank),
        )
    tables = {name: table for run in runs for name, table in run.tables.items()}
    measured = {
        "command": "python scripts/lesson_data.py",
        "model": MODEL,
        "sentences": SENTENCES,
        "roles": [asdict(role) for role in head_roles(tables)],
        "layers": [asdict(layer) for layer in layer_figures(tables)],
    }
    TARGET.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
