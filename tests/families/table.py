"""docs/models.md, from what the tests of every family have seen: `make test-families` writes it."""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

import transformers as t

from tests.families.kinds import NOT_BUILT, RECORDED, REFUSED, WEIGHTS_ONLY, FamilyKind, read_kinds
from tests.families.small_models import FAMILY_NAMES

PAGE = Path(__file__).parents[2] / "docs" / "models.md"
HEAD = """# Which models can be opened

eyeline has no list of models: it opens what transformers can build, compares what it records with the maps that the model itself reports,
and refuses what differs. This page is written by `make test-families`. It builds every family that transformers {version} knows in a
small random configuration, opens it, traces, views, saves and analyses it. Each call must end in a result or in an error of ours, and a
family that reports a weight for every pair of tokens must not be refused.

| | families |
|---|---:|
| recorded: weights, queries, keys and values | {recorded} |
| weights only | {weights} |
| refused, with the reason | {refused} |
| not built: no small configuration is known to these tests | {not_built} |
| all | {all} |

Models that write about pictures take both together: `model.trace_inputs`, tested with LLaVA, PaliGemma, Gemma 3, Qwen2.5-VL, Qwen3-VL,
SmolVLM and InternVL ([how](how-to/models.md)). Of a family that compares images and texts, the parts can often be opened:
`el.wrap(clip.text_model)`.
Quantised checkpoints: bitsandbytes, torchao, FP8 and MXFP4 were tried, GPTQ and AWQ were not ([what holds for each](how-to/models.md)).
"""


def page(kinds: list[FamilyKind]) -> str:
    by_kind: dict[str, list[FamilyKind]] = defaultdict(list)
    for kind in kinds:
        by_kind[kind.kind].append(kind)
    counts = {"recorded": RECORDED, "weights": WEIGHTS_ONLY, "refused": REFUSED, "not_built": NOT_BUILT}
    head = HEAD.format(version=t.__version__, all=len(kinds), **{name: len(by_kind[kind]) for name, kind in counts.items()})
    return "\n".join(
        [
            head,
            f"## Recorded\n\n{_names(by_kind[RECORDED])}\n",
            f"## Weights only\n\n{_by_reason(by_kind[WEIGHTS_ONLY])}\n",
            f"## Refused\n\n{_by_reason(by_kind[REFUSED])}\n",
            f"## Not built\n\n{_names(by_kind[NOT_BUILT])}\n",
        ]
    )


def _names(kinds: list[FamilyKind]) -> str:
    return ", ".join(f"`{kind.family}`" for kind in kinds)


def _by_reason(kinds: list[FamilyKind]) -> str:
    reasons: dict[str, list[FamilyKind]] = defaultdict(list)
    for kind in kinds:
        reasons[kind.reason].append(kind)
    rows = [f"| {reason} | {_names(same)} |" for reason, same in sorted(reasons.items())]
    return "\n".join(["| reason | families |", "|---|---|", *rows])


def main() -> int:
    kinds = read_kinds()
    missing = sorted(set(FAMILY_NAMES) - {kind.family for kind in kinds})
    if missing:
        print(f"{len(missing)} families were not tried, so docs/models.md stays as it is: {', '.join(missing[:10])} …")
        return 1
    PAGE.write_text(page([kind for kind in kinds if kind.family in FAMILY_NAMES]), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
