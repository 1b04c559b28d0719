"""The options of `el.attribute`, `el.causes`, `el.circuit` and `eyeline faithfulness`, and the facts of a circuit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from eyeline.errors import EyelineError
from eyeline.measure.runs.facts import RunFacts
from eyeline.measure.runs.options import Options, layers_option, limit_option, option, seed_option
from eyeline.measure.statistics.options import MAX_TOKENS

#: How edges of a circuit are scored.
EdgeMethod = Literal["eap", "eap-ig", "eap-through-mlps", "eap-ig-through-mlps"]


@dataclass(frozen=True)
class CausesOptions(Options):
    """The options of `causes`; its runs are of kind `analyse`, and have the facts of such a run."""

    by: str = option(
        "zero",
        "How a head is ablated: zero, or mean (its mean over the text).",
        about='how a head is ablated: "zero" or "mean" (its mean over the positions of the text)',
        choices=("zero", "mean"),
        python="By",
    )
    pruning: bool = option(
        True,
        "Also remove more and more heads together.",
        about="also measure what is left when more and more heads go: those with the least effect first, and in random order",
    )
    limit: int | None = limit_option(about="this many documents, chosen at random with the seed")
    max_tokens: int | None = option(None, "Skip longer documents.", about="longer documents are skipped and counted")
    layers: tuple[int, ...] | None = layers_option(" to ablate")
    seed: int = seed_option(about="for everything that is drawn at random")


@dataclass(frozen=True)
class AttributeOptions(Options):
    """The options of `attribute`."""

    error: ClassVar[type[EyelineError]] = EyelineError

    method: str = option(
        "norms",
        "norms, rollout, value-zeroing, gradient, integrated-gradients, alti, decompx …",
        about="attention, norms, norms-summed, n-resout, rollout, flow, value-zeroing, value-zeroing-rollout, gradient, relevance, "
        "integrated-gradients, globenc, alti, decompx, logits (docs/how-to/causes.md says what each means)",
    )
    answer: str | int | None = option(
        None,
        "The token or label that it is about. Default: the model's own first choice.",
        about="for methods that are about an answer: a token (a masked or causal language model) or a label (a classifier), by name or "
        "number; the model's own first choice unless given",
        python="str | int | None",
    )
    steps: int | None = option(
        None,
        "For integrated-gradients: how many points. Default: as many as the sum needs.",
        about="for integrated-gradients: at how many points gradients are taken; unless given, as many as their sum needs to be right to "
        "2 %",
        least=1,
    )


@dataclass(frozen=True)
class FaithfulnessOptions(Options):
    """The options of a run of `analyse` with the statistic `Faithfulness`."""

    limit: int | None = limit_option()
    max_tokens: int = option(MAX_TOKENS, "Skip longer documents.")
    seed: int = seed_option()


@dataclass(frozen=True)
class CircuitOptions(Options):
    """The options of `circuit`, its texts and answers, and the metric logit(answer) − logit(against) on the clean and the corrupt text."""

    run_kind: ClassVar[str] = "circuit"

    clean: str = ""
    corrupt: str = ""
    answer: str | int | None = option(
        None,
        "The clean text's answer: one token, such as ' Mary'.",
        about="the clean text's answer: a token, or a label of a classifier; the model's own first choice unless given. The metric is "
        "logit(answer) − logit(against)",
        python="str | int | None",
    )
    against: str | int | None = option(None, "The corrupt text's answer.", about="the same of the corrupt text", python="str | int | None")
    method: str = option(
        "eap-ig",
        "How edges are scored: eap-ig or eap; …-through-mlps: between heads alone.",
        about='how edges are scored: "eap", or "eap-ig" with `steps` inputs between the two texts. Heads and feed-forward blocks (MLPs) '
        'are nodes; with "eap-through-mlps" and "eap-ig-through-mlps" heads alone: an edge may then pass through MLPs',
        choices=get_args(EdgeMethod),
        python="EdgeMethod",
    )
    steps: int = option(
        5,
        "Inputs between the two texts at which eap-ig takes gradients.",
        about="of eap-ig: inputs between the two texts at which gradients are taken",
        least=1,
    )
    positions: bool = option(
        True, "Also patch every head at every token.", about="also patch every head at every token: heads × tokens passes"
    )
    clean_metric: float = 0.0
    corrupt_metric: float = 0.0


@dataclass(frozen=True)
class CircuitFacts(RunFacts):
    """The facts of a circuit."""

    options: CircuitOptions
