"""What each part of a prompt did for what was written: its log-probabilities without the part, or without looking at it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from eyeline.errors import EyelineError, TraceError
from eyeline.look.generation import Generation, PartEffects
from eyeline.look.interventions import Intervention, KnockOut
from eyeline.look.stack import free_memory
from eyeline.measure.statistics.model_statistic import log_probabilities
from eyeline.models.inputs import Example
from eyeline.models.model import Model, check_model
from eyeline.text.conversation import FIRST, TEMPLATE
from eyeline.text.tokenized import TokenizedText

#: Both ways of taking a part away.
WAYS = ("removed", "cut")


def part_effects(model: Model, generation: Generation, parts: Sequence[str] | None = None, *, ways: Sequence[str] = WAYS) -> PartEffects:
    """The change of the log-probability of every written token when a part of the prompt is taken away: what did the part do?

        removed[t, p] = log P(token t | prompt without p, tokens before t) − log P(token t | prompt, tokens before t)

    parts   names of parts of the prompt; all but the first position and the template unless given
    ways    removed: the part is not in the prompt, and later tokens move up; cut: no written token may look at it, in any layer (what the
            prompt's own tokens carried over from it stays)

    The text that was written is the same throughout: one pass over it for each part and way. Numbers below zero: the part made the token
    more probable. `generation.with_effects(effects)` keeps them with the generation, and its view draws them beside the shares.
    """
    check_model(model)
    if generation.model != model.name:
        raise TraceError(f"A generation of {generation.model}, and the model {model.name}.", "Give the model that wrote it.")
    wrong = [way for way in ways if way not in WAYS]
    if wrong or not ways:
        raise EyelineError(f"ways={list(ways)!r}.", f"Choices: {', '.join(WAYS)}.")
    prompt = _prompt(generation)
    chosen = _chosen(prompt, parts)
    n, source = generation.n_written, generation.source
    read = generation.text.only(range(len(generation.text) - 1))
    whole = _example(read, source)
    queries = list(range(len(read) - n, len(read)))
    _check_memory(model, len(read), ways)
    before = _log_probabilities(model, whole, generation)
    removed, cut = (np.full((n, len(chosen)), np.nan) for _ in WAYS)
    for index, part in enumerate(chosen):
        of_part = set(prompt.in_part(part))
        if "removed" in ways:
            left = [position for position in range(len(prompt)) if position not in of_part]
            if left:
                shorter = source.only(left) if source is not None else read.only([*left, *range(len(prompt), len(read))])
                changed = _example(read, shorter) if source is not None else _example(shorter, None)
                removed[:, index] = _log_probabilities(model, changed, generation) - before
        if "cut" in ways:
            stack = "cross" if source is not None else "decoder"
            edges = KnockOut(queries, sorted(of_part), stack=stack)
            cut[:, index] = _log_probabilities(model, whole, generation, [edges]) - before
    return PartEffects(tuple(chosen), removed, cut)


def _prompt(generation: Generation) -> TokenizedText:
    """What was read before anything was written."""
    return generation.source or generation.text.only(range(generation.n_prompt))


def _chosen(prompt: TokenizedText, parts: Sequence[str] | None) -> list[str]:
    there = [part for index, part in enumerate(prompt.parts) if index in prompt.part_of]
    if parts is None:
        return [part for part in there if part not in (FIRST, TEMPLATE)] or there
    for part in parts:
        if part not in there:
            raise TraceError(f"The prompt has no part {part!r}.", f"It has: {', '.join(there)}.")
    return list(parts)


def _example(read: TokenizedText, source: TokenizedText | None) -> Example:
    """What the model reads; token types are left to the model, since the prompt's tokeniser gave none for what was written."""
    return Example(replace(read, types=())) if source is None else Example(source, replace(read, types=()))


def _log_probabilities(model: Model, example: Example, generation: Generation, changes: Sequence[Intervention] = ()) -> np.ndarray:
    """Of every written token, after these tokens: [written]."""
    n, n_read = generation.n_written, len(example.target or example.source)
    at = torch.arange(n_read - n, n_read)[None]
    fused = model.gives.streamed
    with torch.no_grad():
        logits = model._passes.output([example], [list(changes)], at=at, fused=fused)["logits"][0]  # [written, token]
    chosen = torch.tensor(generation.written_ids, device=logits.device)
    return np.asarray(log_probabilities(logits, chosen)[0].cpu().numpy())


def _check_memory(model: Model, n: int, ways: Sequence[str]) -> None:
    """Cutting edges needs a mask for each head of a layer: [head, query, key] of numbers and of booleans."""
    need = 6 * max(slot.n_heads for slot in model.layout.slots) * n * n if "cut" in ways else 0
    free = free_memory()
    if free is not None and need > free:
        raise TraceError(
            f"Cutting edges in a text of {n:,} tokens needs {need / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free.",
            'Take parts out instead: ways=("removed",).',
        )
