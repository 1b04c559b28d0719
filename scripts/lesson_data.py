"""Measure what the lesson says of the default model's heads and layers, on the built-in text and treebank.

    python scripts/lesson_data.py

writes src/eyeline/show/app/learn/measured.json, and what every head of the embedded encoders does, src/eyeline/measure/heads/sample.json;
tests/show/app/learn/test_measured.py and tests/measure/heads/test_sample.py measure a part of them again.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict
from pathlib import Path

import eyeline as el
from eyeline.measure.heads.profile import HeadProfile, layer_figures, most_of_each, profiles

MODEL, SENTENCES, LEAST = "e5-small-mlm", 200, 20
#: The roles that the lesson shows, in its order: of the relations of a role, the one that a head finds most clearly.
ROLES = ("previous", "next", "cls", "sep", "noun_phrase", "subject", "object", "dependency", "antecedent")
#: The subject of an active sentence, since those of the lesson are active: passive ones have heads of their own.
RELATIONS = {"subject": "nsubj"}
SOURCE = Path(__file__).parents[1] / "src/eyeline"
TARGET, SAMPLE = SOURCE / "show/app/learn/measured.json", SOURCE / "measure/heads/sample.json"
#: The models whose heads are measured for the app's map.
MODELS = (MODEL, "e5-small", "minilm")
COMMAND = "python scripts/lesson_data.py"


def profiles_of(model: el.Model) -> list[HeadProfile]:
    """Every head on the built-in texts and treebank."""
    with tempfile.TemporaryDirectory() as folder:
        treebank = Path(folder) / "sample.conllu"
        el.treebanks.write_sample(treebank, SENTENCES)
        runs = (
            el.analyse(model, el.corpora.sample_text().split("\n\n"), [el.statistics.AverageAttention(), el.statistics.Entropy()]),
            el.syntax(model, treebank, min_count=LEAST),
            el.coreference(model, treebank),
        )
    return list(profiles(runs[0].join(*runs[1:])))


def main() -> None:
    measured_models = {name: profiles_of(el.load(name)) for name in MODELS}
    sample = {
        "command": COMMAND,
        "sentences": SENTENCES,
        "models": {
            name: [[*profile.head, [list(asdict(role).values()) for role in profile.roles]] for profile in every]
            for name, every in measured_models.items()
        },
    }
    SAMPLE.write_text(json.dumps(sample, separators=(",", ":"), ensure_ascii=False) + "\n", encoding="utf-8")
    every = measured_models[MODEL]
    most = sorted(most_of_each(every), key=lambda pair: -pair[1].strength)
    strongest = [
        next((head, role) for head, role in most if role.name == name and RELATIONS.get(name, "") in ("", role.detail)) for name in ROLES
    ]
    measured = {
        "command": COMMAND,
        "model": MODEL,
        "sentences": SENTENCES,
        "roles": [{"head": str(head), "role": asdict(role)} for head, role in strongest],
        "layers": [asdict(layer) for layer in layer_figures(every)],
    }
    TARGET.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
