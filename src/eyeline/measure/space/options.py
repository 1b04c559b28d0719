"""The options of `el.space` and which of them go together; the facts of its runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from eyeline.errors import Advice, TraceError, nearest
from eyeline.measure.runs.facts import RunFacts
from eyeline.measure.runs.options import Options, layers_option, limit_option, option, seed_option

#: What the points of a space are.
KINDS = ("queries-keys", "shared", "values")

#: Which distance a gauge brings closer to the dot product, and where it is measured.
DISTANCES = ("euclidean", "cosine")

WHERE = ("full", "plane")

#: What the searched gauge adds to the keys, and which correlation it searches.
SHIFTS, SIGNS = ("vector", "constant"), ("negative", "either")

GAUGES = ("attentionviz", "searched", "lifted", "none")

#: Of one space for all heads and layers.
SHARED_GAUGES = ("ring", "lifted", "attentionviz", "none")

#: Projections that are fitted to attention. The others know only the vectors.
FITTED = ("fitted", "freed")

#: The largest seed that UMAP and t-SNE take.
MOST_SEED = 2**32 - 1


def projections(options: SpaceOptions) -> tuple[str, ...]:
    """The projections that points of this kind can have."""
    from eyeline.mathematics import METHODS

    return (*FITTED, *METHODS) if options.of == "queries-keys" else tuple(METHODS)


def gauges(options: SpaceOptions) -> tuple[str, ...]:
    """The gauges that points of this kind can have."""
    return {"values": ("none",), "shared": SHARED_GAUGES}.get(options.of, GAUGES)


def usual_gauge(options: SpaceOptions) -> str:
    """The gauge of a space for which none is given."""
    return {"values": "none", "shared": "ring"}.get(options.of, "lifted" if options.project in FITTED else "attentionviz")


@dataclass(frozen=True)
class SpaceOptions(Options):
    """The options of `space`. project, gauge: None until they are chosen from the options before them."""

    run_kind: ClassVar[str] = "space"

    of: str = option(
        "queries-keys",
        "queries-keys, values or shared.",
        about="queries-keys; values: the value vectors of every head; shared: one space for all heads and layers, in which keys are the "
        "vectors that enter each layer and queries are pulled back to them",
        choices=KINDS,
        refused="A space of {value!r}.",
        message="space.of",
    )
    project: str = option(
        None,
        "fitted, freed, pca, umap or tsne.",
        about="fitted (near means attends), freed (fitted, then each point of these texts moved by itself), pca, umap or tsne; unless "
        "given: fitted; of values and shared pca",
        choices=projections,
        unless_given=lambda options: "fitted" if options.of == "queries-keys" else "pca",
        default_help="fitted; for values and shared pca",
        message="space.project",
    )
    gauge: str = option(
        None,
        "attentionviz, searched, lifted or none; with --of shared also ring.",
        about="lifted (distances in the order of attention), attentionviz (theirs), searched (their shift and scale searched together) or "
        "none; unless given: ring for shared (queries around the keys), lifted for fitted and freed, which need none, attentionviz else",
        choices=gauges,
        unless_given=usual_gauge,
        default_help="lifted for fitted and freed, ring for shared, else attentionviz",
        message="space.gauge",
    )
    dims: int = option(
        2, "2 or 3 dimensions.", about="2 or 3", choices=(2, 3), refused="A picture in {value} dimensions.", message="space.dims"
    )
    shared_scale: bool = option(
        False,
        "For the gauge attentionviz: one scale for all heads.",
        about="of attentionviz: one scale for all heads instead of one for each",
    )
    distance: str = option(
        DISTANCES[0],
        "For the gauge searched: euclidean or cosine.",
        about="of searched: euclidean or cosine, the distance that should follow the dot product",
        choices=lambda options: DISTANCES if options.gauge == "searched" else DISTANCES[:1],
        message="space.distance",
    )
    correlate: str = option(
        WHERE[0],
        "For the gauge searched: full, or plane (distances in the PCA plane).",
        about="of searched: full, or plane: the distance is that in the picture's PCA plane",
        choices=lambda options: WHERE if options.gauge == "searched" else WHERE[:1],
        message="space.correlate",
    )
    shift: str = option(
        SHIFTS[0],
        "For the gauge searched: vector, or constant (one number added to every dimension of the keys).",
        about="of searched: vector, or constant: one number is added to every dimension of the keys",
        choices=lambda options: SHIFTS if options.gauge == "searched" else SHIFTS[:1],
    )
    sign: str = option(
        SIGNS[0],
        "For the gauge searched: negative, or either (the strongest correlation of either sign).",
        about="of searched: negative, the most negative correlation of dot product and distance; either: the strongest of either sign",
        choices=lambda options: SIGNS if options.gauge == "searched" else SIGNS[:1],
    )
    background: bool | None = option(
        None,
        "Fit together with the built-in paragraphs.",
        about="of fitted and freed: whether the built-in paragraphs are used in the fit; unless given: where the texts have fewer than "
        "1,000 tokens. Fidelity is then that of projections fitted on the paragraphs alone; else it is cross-validated",
        default_help="where the texts have fewer than 1,000 tokens",
    )
    layers: tuple[int, ...] | None = layers_option()
    heads: tuple[int, ...] | None = option(None, "Heads, from 0, such as 0,5. Default: all.", about="only these heads of each layer")
    limit: int | None = limit_option(about="this many documents, chosen at random with the seed", message="space.limit")
    max_tokens: int | None = option(
        None, "Skip longer documents.", about="longer documents are skipped and counted; the model's own limit always holds"
    )
    seed: int = seed_option(about="for everything that is drawn at random", least=0, most=MOST_SEED, refused="A seed of {value}.")

    def check(self) -> None:
        """Refuse options that do not go together; the error names them."""
        from eyeline.mathematics import METHODS, check_method

        of, how, gauge = self.of, self.project, self.gauge
        methods = f"Choices: {', '.join(METHODS)}."
        if how not in (*FITTED, *METHODS):
            raise TraceError(f"A projection named {how!r}.", nearest(how, (*FITTED, *METHODS)))
        if of == "values" and how in FITTED:
            raise TraceError(f"Values cannot be {how}: there is no attention between them.", methods)
        if of == "shared" and how in FITTED:
            raise TraceError(f"A shared space cannot be {how}: a fit is of one head.", methods)
        if how in METHODS:
            check_method(how)
        if of == "values" and gauge != "none":
            raise TraceError(f"The gauge {gauge} of values.", "Gauges are of queries and keys: leave it out.")
        if of == "shared" and gauge not in SHARED_GAUGES:
            raise TraceError(f"The gauge {gauge} of a shared space.", f"Choices: {', '.join(SHARED_GAUGES)}.")
        if of != "shared":
            check_gauge(gauge)
        if self.shared_scale and of == "shared":
            without = Advice("Leave out shared_scale=True.", "Leave out --shared-scale.")
            raise TraceError("A shared space always has one scale for all heads.", without)
        if self.shared_scale and gauge != "attentionviz":
            which = Advice("Give gauge='attentionviz'.", "Give --gauge attentionviz.")
            why = "which finds a shift and a scale for each head" if gauge == "searched" else "which has no scale"
            raise TraceError(f"A shared scale in the gauge {gauge}, {why}.", which)
        for value, choices in ((self.distance, DISTANCES), (self.correlate, WHERE), (self.shift, SHIFTS), (self.sign, SIGNS)):
            if value not in choices:
                raise TraceError(f"The searched gauge with {value!r}.", nearest(value, choices))
            if value != choices[0] and gauge != "searched":
                only = "Only the searched gauge has this choice"
                raise TraceError(f"The gauge {gauge} with {value!r}.", Advice(f"{only}: gauge='searched'.", f"{only}: --gauge searched."))


def check_gauge(gauge: str) -> None:
    """Refuse a name that is not a gauge."""
    if gauge not in GAUGES:
        raise TraceError(f"A gauge named {gauge!r}.", nearest(gauge, GAUGES))


@dataclass(frozen=True)
class StackCheck:
    """error: the largest difference in one stack; whole: whether attention is nothing but softmax of the scores."""

    error: float
    whole: bool


@dataclass(frozen=True)
class GaugeCheck:
    """How far attention recomputed from the gauged vectors is from the model's, and whether that is near enough."""

    largest_difference: float
    within: float
    holds: bool
    stacks: Mapping[str, StackCheck | None] = field(default_factory=dict)


@dataclass(frozen=True)
class FidelityFacts:
    """How sure the fidelity shown of a space is: the 95 % interval of its mean over heads when the tokens are drawn again (bootstrap)."""

    tokens: int
    low: float
    high: float


@dataclass(frozen=True)
class SpaceFacts(RunFacts):
    """gauge_check: whether attention is still the model's; fidelity: how sure the fidelity is that is shown."""

    options: SpaceOptions
    gauge_check: GaugeCheck | None = None
    fidelity: FidelityFacts | None = None
