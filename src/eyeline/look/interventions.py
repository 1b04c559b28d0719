"""What can be changed inside a model for one pass: one frozen record for each kind of intervention. Read without torch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from eyeline.errors import TraceError
from eyeline.heads import HeadRef
from eyeline.look.trace import Trace

#: A head: (layer, head), (stack, layer, head) or a HeadRef. The stack may be left out of a model that has one.
Head = tuple[int, int] | tuple[str, int, int] | HeadRef

#: What every head writes, by its name: [query, dim].
Outputs = Mapping[Head, Any]


@dataclass(frozen=True, eq=False)
class Ablate:
    """Replace what a head writes, z_h = Σ_j a_ij · v_j, at every position.

    heads    which heads
    by       "zero": z_h := 0
             "mean": z_h := its mean over all positions of the traces in `source`; without `source`, over the positions of the text itself
             "resample": z_h := z_h of another text, the trace `source`; position by position where both have the same length,
             otherwise positions drawn with `seed`
    source   a trace, or several for "mean", with weights and values, of the same model
    """

    heads: Sequence[Head]
    by: Literal["zero", "mean", "resample"] = "zero"
    source: Trace | Sequence[Trace] | None = None
    seed: int = 0

    def __str__(self) -> str:
        whose = {"zero": "", "mean": " of this text" if self.source is None else " of other traces", "resample": " from another text"}
        return f"{listed_heads(self.heads)} ablated ({self.by}{whose.get(self.by, '')})"


@dataclass(frozen=True)
class Scale:
    """Multiply what a head writes: z_h := by · z_h."""

    heads: Sequence[Head]
    by: float

    def __str__(self) -> str:
        factor = f"{self.by:g}" if isinstance(self.by, int | float) else repr(self.by)
        return f"{listed_heads(self.heads)} times {factor}"


@dataclass(frozen=True)
class KnockOut:
    """Hide keys from queries: every query in `queries` no longer sees any key in `keys`.

    queries, keys   positions of tokens; None: all of them
    heads           in which heads; None: in all heads of `stack`
    renormalise     True: the score becomes −∞ and the softmax is computed again, so that rows still sum to 1 (Geva et al. 2023)
                    False: the weight becomes 0 after the softmax, the other weights stay as they were
    stack           for heads=None in a model with several stacks: "encoder", "decoder" or "cross"

    A query that is left without any key writes nothing: its weights and its output are 0.
    """

    queries: Sequence[int] | int | None
    keys: Sequence[int] | int | None
    heads: Sequence[Head] | None = None
    renormalise: bool = True
    stack: str = ""

    def __str__(self) -> str:
        how = "hidden" if self.renormalise else "weight 0"
        queries = "all queries" if self.queries is None else f"queries {_listed(self.queries)}"
        keys = "all keys" if self.keys is None else f"keys {_listed(self.keys)}"
        return f"{keys} {how} from {queries} in {listed_heads(self.heads)}"


@dataclass(frozen=True)
class ZeroValues:
    """Set the values of keys to 0: v_j := 0 for j in `keys`. Weights stay as they are (value zeroing, Mohebbi et al. 2023).

    keys    positions of tokens; None: all of them
    heads   for which heads; None: for all heads of `stack`. A head that shares its values with others (grouped keys) has them
            set to 0 for itself alone.
    stack   for heads=None in a model with several stacks
    """

    keys: Sequence[int] | int | None
    heads: Sequence[Head] | None = None
    stack: str = ""

    def __str__(self) -> str:
        keys = "all keys" if self.keys is None else f"keys {_listed(self.keys)}"
        return f"values of {keys} set to 0 in {listed_heads(self.heads)}"


@dataclass(frozen=True, eq=False)
class Patch:
    """Give a head what it wrote on another text: z_h[i] := z_h[i] of `trace` (activation patching).

    trace       a trace of the other text, with weights and values; or the outputs themselves by head, arrays [query, dim]
    heads       which heads; None: every head of the trace
    positions   at which positions; None: at all of them, and the two texts must have the same number of tokens
    """

    trace: Trace | Outputs
    heads: Sequence[Head] | None = None
    positions: Sequence[int] | int | None = None

    def __str__(self) -> str:
        where = "" if self.positions is None else f" at positions {_listed(self.positions)}"
        return f"{listed_heads(self.heads)} patched from another text{where}"


Intervention = Ablate | Scale | KnockOut | ZeroValues | Patch


def listed_heads(heads: Any) -> str:
    """Heads for a message.

    >>> listed_heads([(3, 7), ("cross", 0, 1)]), listed_heads(None), listed_heads((3, 7))
    ('L3·H7, cross L0·H1', 'all heads', 'L3·H7')
    """
    if heads is None:
        return "all heads"
    return ", ".join(named(head) for head in several_heads(heads))


def several_heads(heads: Any) -> list[Any]:
    """A list of heads; a single head is a list of one."""
    if isinstance(heads, str) or not isinstance(heads, Sequence):
        return list(heads) if hasattr(heads, "__iter__") and not isinstance(heads, str) else [heads]
    single = isinstance(heads, HeadRef) or (len(heads) in (2, 3) and isinstance(heads[-1], int))
    return [heads] if single else list(heads)


def named(head: Any) -> str:
    """The label of a head that was given as a tuple; anything else as it is written in Python."""
    if isinstance(head, tuple) and len(head) in (2, 3):
        return HeadRef(*head).full_label if len(head) == 3 else str(HeadRef("", *head))
    return repr(head)


def _listed(positions: Sequence[int] | int) -> str:
    return ", ".join(map(str, positions)) if isinstance(positions, Sequence) else str(positions)


# ---- Head outputs come only from traces of the same weights: in another model of the same shape, the same head has another basis


#: The entry of a trace's `about` that names the weights it was recorded from. Traces of arrays and of quantities have none.
WEIGHTS: Final = "weights"


def check_same_model(interventions: Iterable[Intervention], weights: Callable[[], str], name: str) -> None:
    """Refuse a trace that was recorded from other weights than those of the model `name`. weights: their identity now."""
    now = None
    for intervention in interventions:
        for trace in _traces(intervention):
            recorded = trace.about.get(WEIGHTS)
            now = weights() if now is None and recorded is not None else now  # all weights are read, so only where a trace relies on it
            if recorded is not None and recorded != now:
                raise TraceError(
                    f"{type(intervention).__name__} of {name} from a trace of another model ({trace.model}), or of other weights.",
                    "Trace the other text with this model. To combine two models on purpose, give arrays: {(layer, head): z}.",
                )


def _traces(intervention: Intervention) -> list[Trace]:
    source = intervention.trace if isinstance(intervention, Patch) else intervention.source if isinstance(intervention, Ablate) else None
    several = source if isinstance(source, Sequence) else [source]
    return [trace for trace in several if isinstance(trace, Trace)]
