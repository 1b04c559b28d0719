"""What a family of models gives: recorded, weights only, refused (and why), or not built. A file for each; `table` writes the page."""

from __future__ import annotations

import inspect
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import transformers as t

import eyeline as el
from eyeline.models.opening import covers_pairs
from tests.families.small_models import own_inputs

#: Where the outcomes of one run of the tests lie until the page is written.
FOLDER = Path(__file__).parents[2] / "out" / "families"
RECORDED, WEIGHTS_ONLY, REFUSED, NOT_BUILT = "recorded", "weights only", "refused", "not built"
#: What an error says → the reason in the table. The first that matches counts.
REASONS = (
    (r"reports no attention weights\.", "no softmax attention over tokens (state-space, convolution, pooling), or none reported"),
    (r"in windows, pooled|in blocks", "attention in windows, in blocks or over pooled tokens: no weight for every pair of tokens"),
    (r"built for an attention", "reports weights only if it was loaded with the eager implementation, as `el.load` does"),
    (r"is not: numbers from", "reports scores before the softmax as attention"),
    (r" reads (\[?'|sound, but)", "reads something else than tokens, images or sound, or does not say of what size"),
    (r"computes nan", "computes nan by itself in this small configuration"),
    (
        r"could not be run",
        "needs several kinds of input at once (image and text, prompts, boxes), or does not run so small",
    ),
)


@dataclass(frozen=True)
class FamilyKind:
    """One line of the table."""

    family: str
    kind: str
    reason: str = ""

    def write(self) -> None:
        FOLDER.mkdir(parents=True, exist_ok=True)
        (FOLDER / f"{self.family}.json").write_text(json.dumps(asdict(self)), encoding="utf-8")


def read_kinds() -> list[FamilyKind]:
    return [FamilyKind(**json.loads(path.read_text(encoding="utf-8"))) for path in sorted(FOLDER.glob("*.json"))]


def kind_of_model(family: str, model: el.Model) -> FamilyKind:
    if model.layout.recorded:
        return FamilyKind(family, RECORDED)
    reason = re.sub(r"\(.*\)", "(an error in the model's own code)", model.layout.why_weights_only)
    return FamilyKind(family, WEIGHTS_ONLY, reason.removesuffix(", so only its weights are available"))


def kind_of_refusal(family: str, error: Exception | None) -> FamilyKind:
    text = str(error)
    return FamilyKind(family, REFUSED, next((reason for pattern, reason in REASONS if re.search(pattern, text)), text.splitlines()[0]))


def reports_maps(hf: t.PreTrainedModel) -> bool:
    """Whether the model itself, asked in transformers' own way, gives a weight for every pair of tokens: refusing it is a defect."""
    takes = inspect.signature(hf.forward).parameters
    inputs: dict[str, Any] = own_inputs(hf)
    options = {"use_cache": False} if "use_cache" in takes else {}
    try:
        hf.set_attn_implementation("eager")
        with torch.no_grad():
            output = hf(**inputs, **options, output_attentions=True)
        maps = [
            (stack, weights)
            for name, stack in (("attentions", ""), ("encoder_attentions", "encoder"), ("decoder_attentions", "decoder"))
            for weights in output.get(name) or ()
            if isinstance(weights, torch.Tensor) and weights.ndim == 4 and covers_pairs(stack, weights, inputs)
        ]
    except Exception:  # noqa: BLE001 - any model's code; one that does not run has nothing to report
        return False
    return any(weights.shape[-1] > 1 and torch.allclose(weights.float().sum(-1).max(), torch.ones(()), atol=1e-3) for _, weights in maps)
