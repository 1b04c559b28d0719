"""What a reader is told beside the pictures: how fidelity was measured, a gauge that does harm, and what a common space leaves out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from eyeline.analyses.space.capture import Captured, CapturedStack
from eyeline.heads import HeadRef
from eyeline.measures.bootstrap import bootstrap_share
from eyeline.measures.space.fidelity import Fidelity
from eyeline.measures.space.project import METHODS
from eyeline.results.facts import FidelityFacts, SpaceOptions
from eyeline.results.space.stack import SpaceStack


def gauge_notices(stacks: Mapping[str, SpaceStack], options: SpaceOptions) -> list[str]:
    """Said where a projected picture stands in a gauge that brings distance and dot product less together than no gauge at all."""
    notices = []
    for name, stack in stacks.items() if options.of == "queries-keys" and options.project in METHODS else ():
        before, after = stack.facts["correlation_before"], stack.facts["correlation_after"]
        known = np.isfinite(before) & np.isfinite(after)
        worse = int((after > before)[known].sum())
        if known.any() and after[known].mean() > before[known].mean():
            notices.append(
                f"The gauge {options.gauge} is worse than none ({name}): dot product and distance correlate at {after[known].mean():.2f}"
                f" in it and at {before[known].mean():.2f} before (−1 is best); {worse} of {int(known.sum())} heads lose."
                " The gauge searched never does."
            )
    return notices


def fidelity_interval(shown: Sequence[Fidelity], seed: int) -> FidelityFacts | None:
    """How sure the mean over heads is, with the tokens of all stacks drawn again; None where there is nothing to count."""
    hits, of = (np.concatenate([getattr(item, name) for item in shown] or [np.zeros(0)]) for name in ("hits", "of"))
    if not of.sum():
        return None
    low, high = bootstrap_share(hits, of, seed=seed)
    return FidelityFacts(int((of > 0).sum()), round(low, 4), round(high, 4))


def fidelity_notices(
    captured: Captured, options: SpaceOptions, background: CapturedStack | None, interval: FidelityFacts | None
) -> list[str]:
    """How the fidelity that is shown was measured, on how many tokens its mean rests, and how sure it is."""
    if options.project in METHODS:
        return []
    sure = ""
    if interval is not None:
        sure = (
            f" Its mean over heads rests on {interval.tokens:,} tokens and lies between {interval.low:.0%} and {interval.high:.0%}"
            " when they are drawn again (95 % interval)."
        )
    if background is not None:
        return [
            f"These texts have {captured.counts['tokens']:,} tokens, too few to settle a picture: the projections were fitted on them"
            f" together with {len(background.weights)} built-in paragraphs ({len(background.query_tokens):,} tokens). The"
            f" fidelity shown is that of projections fitted on the paragraphs alone, with these texts unseen.{sure}"
        ]
    texts = min(len(stack.weights) for stack in captured.stacks.values())
    what = f"over {texts:,} texts" if texts > 1 else "over the tokens of the one text"
    return [f"The fidelity shown is held out: cross-validated {what}, each measured by projections that were fitted without it.{sure}"]


def shared_notices(captured: Captured, stacks: Mapping[str, SpaceStack]) -> list[str]:
    """How far the scores of a common space are the model's own, and what was approximated."""
    notices = []
    for name, stack in captured.stacks.items():
        if stack.shared is None:
            continue
        correlation, error = stacks[name].facts["score_correlation"], stacks[name].facts["score_error"]
        if not stack.shared.rotary and not stack.shared.norm:
            notices.append(
                f"One space for all heads and layers ({name}): keys are the vectors that enter each layer, queries are pulled back to"
                f" them. It is exact: scores differ from the model's own by at most {np.nanmax(error):.0e}."
            )
            continue
        worst = np.unravel_index(int(np.nanargmin(correlation)), correlation.shape)
        head = HeadRef("", stack.layers[worst[0]], stack.heads[worst[1]])
        why = []
        if stack.shared.rotary:
            why.append(
                "this model rotates queries and keys by position (rotary embedding), which no single vector for a query can hold:"
                " each query is turned back by the mean rotation of the keys that it sees"
            )
        if stack.shared.norm:
            why.append("it normalises keys, for which one factor for each head stands")
        notices.append(
            f"One space for all heads and layers ({name}) is approximate: {'; '.join(why)}. Scores correlate with the model's own at"
            f" {np.nanmean(correlation):.2f} on average, at {correlation[worst]:.2f} in {head}, the lowest."
        )
    return notices
