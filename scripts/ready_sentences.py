"""Record the sentences that the app shows before a model is open, and measure what each head does to their answers.

    python -m scripts.ready_sentences      (make ready-sentences)

writes src/eyeline/look/ready/; tests/look/test_ready.py makes them again and compares.
"""

from __future__ import annotations

import json
from pathlib import Path

import eyeline as el
from eyeline.look.ready import READY

TARGET = Path(__file__).parents[1] / "src/eyeline/look/ready"


def main() -> None:
    TARGET.mkdir(exist_ok=True)
    effects = {}
    for ready in READY:
        model = el.load(ready.model)
        trace = model.trace(ready.text, ready.pair or None, keep=("weights",))
        trace.save(TARGET / f"{ready.name}.safetensors")
        effects[ready.name] = model.head_effects(trace) if trace.prediction is not None else []
    (TARGET / "effects.json").write_text(json.dumps(effects, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
