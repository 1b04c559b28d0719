"""The notices beside the pictures: how fidelity was measured, a gauge that does harm, and what a shared space approximates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from eyeline.analyses.space.capture import Captured, CapturedStack
from eyeline.analyses.space.held_out import held_out_by
from eyeline.heads import HeadRef
from eyeline.measures.bootstrap import bootstrap_share
from eyeline.measures.space.fidelity import Fidelity
from eyeline.measures.space.project import METHODS
from eyeline.results.facts import FidelityFacts, SpaceOptions
from eyeline.results.space.stack import SpaceStack
from eyeline.words import Words
from eyeline.words.percent import percent

ENGLISH = Words()


def gauge_notices(stacks: Mapping[str, SpaceStack], options: SpaceOptions) -> list[str]:
    """A notice for each stack whose gauge makes distance follow the dot product less closely than no gauge does."""
    notices = []
    for name, stack in stacks.items() if options.of == "queries-keys" and options.project in METHODS else ():
        before, after = stack.facts["correlation_before"], stack.facts["correlation_after"]
        known = np.isfinite(before) & np.isfinite(after)
        if known.any() and after[known].mean() > before[known].mean():
            means = {"before": f"{before[known].mean():.2f}", "after": f"{after[known].mean():.2f}"}
            counts = {"worse": int((after > before)[known].sum()), "heads": int(known.sum())}
            notices.append(ENGLISH("notice.space.gauge_worse", gauge=options.gauge, stack=name, **means, **counts))
    return notices


def fidelity_interval(shown: Sequence[Fidelity], seed: int) -> FidelityFacts | None:
    """The confidence interval of the mean over heads, from resampled tokens of all stacks; None where nothing was counted."""
    hits, of = (np.concatenate([getattr(item, name) for item in shown] or [np.zeros(0)]) for name in ("hits", "of"))
    if not of.sum():
        return None
    low, high = bootstrap_share(hits, of, seed=seed)
    return FidelityFacts(int((of > 0).sum()), round(low, 4), round(high, 4))


def fidelity_notices(
    captured: Captured, options: SpaceOptions, background: CapturedStack | None, interval: FidelityFacts | None
) -> list[str]:
    """How the fidelity that is shown was measured or why none is shown, on how many tokens its mean rests, and how sure it is."""
    if options.of == "values":
        return []
    texts = min(len(stack.weights) for stack in captured.stacks.values())
    by = held_out_by(options, texts, background=background is not None)
    if background is not None:
        counts = {"paragraphs": len(background.weights), "more": f"{len(background.query_tokens):,}"}
        notices = [ENGLISH("notice.space.background", tokens=f"{captured.counts['tokens']:,}", **counts)]
    elif by in ("texts", "queries"):
        how = "pca" if options.project == "pca" else "fitted"
        notices = [ENGLISH(f"notice.space.{how}_{by}", n=f"{texts:,}")]
    elif by == "picture":
        notices = [ENGLISH("notice.space.picture")]
    else:
        notices = [ENGLISH("notice.space.no_fidelity", gauge=options.gauge, project=options.project)]
    if interval is not None:
        shares = {"low": percent(interval.low), "high": percent(interval.high)}
        notices.append(ENGLISH("notice.space.interval", tokens=f"{interval.tokens:,}", **shares))
    return notices


def shared_notices(captured: Captured, stacks: Mapping[str, SpaceStack]) -> list[str]:
    """How far the scores of a shared space are the model's own, and what was approximated."""
    notices = []
    for name, stack in captured.stacks.items():
        if stack.shared is None:
            continue
        correlation, error = stacks[name].facts["score_correlation"], stacks[name].facts["score_error"]
        if not stack.shared.rotary and not stack.shared.norm:
            notices.append(ENGLISH("notice.space.shared_exact", stack=name, error=f"{np.nanmax(error):.0e}"))
            continue
        worst = np.unravel_index(int(np.nanargmin(correlation)), correlation.shape)
        head = HeadRef("", stack.layers[worst[0]], stack.heads[worst[1]])
        why = "_".join(what for what in ("rotary", "norm") if getattr(stack.shared, what))
        shares = {"mean": f"{np.nanmean(correlation):.2f}", "lowest": f"{correlation[worst]:.2f}"}
        notices.append(ENGLISH(f"notice.space.shared_{why}", stack=name, head=head, **shares))
    return notices
