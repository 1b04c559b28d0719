"""The options of a space, checked: which projections and gauges are possible for which points."""

from __future__ import annotations

from dataclasses import dataclass

from eyeline.analyses.space.gauge import check_gauge
from eyeline.errors import Advice, TraceError, nearest
from eyeline.measures.space.gauge import SHARED_GAUGES
from eyeline.measures.space.project import METHODS, check_method
from eyeline.measures.space.search_gauge import DISTANCES, WHERE, Agreement
from eyeline.results.space.record import KINDS

PROJECTIONS = ("fitted", "freed", *METHODS)


def check_seed(seed: int) -> None:
    """Refuse a seed that UMAP and t-SNE do not take."""
    if not 0 <= seed < 1 << 32:
        raise TraceError(f"A seed of {seed}.", "Give a number from 0 to 4,294,967,295.")


@dataclass(frozen=True)
class Chosen:
    """The projection and the gauge of a space, defaults filled in."""

    project: str
    gauge: str


def check_options(of: str, how: str | None, gauge: str | None, dims: int, shared_scale: bool, agreement: Agreement) -> Chosen:
    """Refuse options that cannot be combined; the error names them."""
    if of not in KINDS:
        raise TraceError(f"A space of {of!r}.", nearest(of, KINDS))
    how = how or ("fitted" if of == "queries-keys" else "pca")
    if how not in PROJECTIONS:
        raise TraceError(f"A projection named {how!r}.", nearest(how, PROJECTIONS))
    if of == "values" and how not in METHODS:
        raise TraceError(f"Values cannot be {how}: there is no attention between them.", f"Choices: {', '.join(METHODS)}.")
    if of == "shared" and how not in METHODS:
        raise TraceError(f"A shared space cannot be {how}: a fit is of one head.", f"Choices: {', '.join(METHODS)}.")
    if how in METHODS:
        check_method(how)
    if of == "values" and gauge not in (None, "none"):
        raise TraceError(f"The gauge {gauge} of values.", "Gauges are of queries and keys: leave it out.")
    default = "none" if of == "values" else "ring" if of == "shared" else "lifted" if how not in METHODS else "attentionviz"
    gauge = gauge or default
    if of == "shared" and gauge not in SHARED_GAUGES:
        raise TraceError(f"The gauge {gauge} of a shared space.", f"Choices: {', '.join(SHARED_GAUGES)}.")
    if of != "shared":
        check_gauge(gauge)
    if shared_scale and of == "shared":
        without = Advice("Leave out shared_scale=True.", "Leave out --shared-scale.")
        raise TraceError("A shared space always has one scale for all heads.", without)
    if shared_scale and gauge != "attentionviz":
        which = Advice("Give gauge='attentionviz'.", "Give --gauge attentionviz.")
        raise TraceError(f"A shared scale in the gauge {gauge}, which has no scale.", which)
    for given, choices in ((agreement.distance, DISTANCES), (agreement.where, WHERE)):
        if given not in choices:
            raise TraceError(f"The searched gauge with {given!r}.", nearest(given, choices))
        if given != choices[0] and gauge != "searched":
            only = "Only the searched gauge has this choice"
            raise TraceError(f"The gauge {gauge} with {given!r}.", Advice(f"{only}: gauge='searched'.", f"{only}: --gauge searched."))
    if dims not in (2, 3):
        raise TraceError(f"A picture in {dims} dimensions.", "Choices: 2, 3.")
    return Chosen(how, gauge)
