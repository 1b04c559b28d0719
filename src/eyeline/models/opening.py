"""What is found out about a model when it is opened, in tiny passes: which attention call is which layer, and the part attention needs."""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import torch
from torch import nn
from transformers import PreTrainedConfig, PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from eyeline.errors import ModelError
from eyeline.messages import Message
from eyeline.models.attention import IMPLEMENTATION, AttentionCall, changing, recording
from eyeline.models.evaluation import (
    can_set,
    configs_of,
    give_own_configs,
    mark_as_replacing,
    no_cache,
    restored,
    use_implementation,
)
from eyeline.models.inputs import decoder_start, longest_text, vocabulary_size
from eyeline.models.layout import HIDDEN_BELOW, Layout, Slot
from eyeline.models.passes import class_names, run_head

log = logging.getLogger("eyeline")

#: Whether a model is being opened in this context: its tiny passes are none of the user's.
opening: ContextVar[bool] = ContextVar("eyeline_opening", default=False)


def layout_and_body(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None) -> tuple[Layout, PreTrainedModel]:
    """Which call is which layer, and the model without its head. The model is left as it was.

    An audio model is first tried with a short input. Where no input works, the error is that of the last: an input of the model's own size.
    """
    token = opening.set(True)
    try:
        with short_audio(model) as shortened:
            if shortened:
                with suppress(ModelError):
                    return _from_first_input(model, tokenizer)
        return _from_first_input(model, tokenizer)
    finally:
        opening.reset(token)


def _from_first_input(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None) -> tuple[Layout, PreTrainedModel]:
    """On the quickest of the small inputs that the model takes."""
    *others, last = tiny_candidates(model, tokenizer)
    for tiny in others:
        with suppress(ModelError):
            return _layout_and_body_with(model, tiny)
    return _layout_and_body_with(model, last)


def _layout_and_body_with(model: PreTrainedModel, tiny: Mapping[str, torch.Tensor]) -> tuple[Layout, PreTrainedModel]:
    with restored(model):  # a pass may change a model: Swin keeps the window of a small image, BigBird replaces its attention
        layout, output_of_model, weights = find_layout(model, tiny)
        return layout, body_of(model, layout, tiny, output_of_model, weights)


# ---- Which layer each attention call of a forward pass belongs to: found once, by comparison with the model's own maps


#: How far a family's weights may lie from softmax(q·kᵀ·scale + mask + bias) and still count as plain softmax attention.
PLAIN_WITHIN = 1e-5

#: Standard deviation of the scores in the test for plain softmax: large enough for a softcap of 50 to show.
TEST_SCORE_DEVIATION = 30.0

#: How far the logarithm of a learned sink may differ between the queries of a head.
SINK_WITHIN = 1e-2

#: Queries in that test: the last ones, which see the most keys.
TEST_QUERIES = 64


#: The name of a module within a layer: the list of layers, and the number of this one.
OF_LAYER = re.compile(r"(.*?)\.(\d+)(?:\.|$)")


def layout_of_inputs(model: PreTrainedModel, base: Layout, inputs: Mapping[str, torch.Tensor]) -> Layout:
    """The layout for one input with more in it than the model was opened with: a text and pictures.

    It is found in the same way, on this input itself: the calls of the text's layers are those that reproduce the maps that the model
    reports. What is left is the stack `vision` where it is one tower with one call a layer; otherwise it is left out, with a notice.
    The model is left as it was. Nobody else may run it meanwhile.
    """
    name = type(model).__name__
    with restored(model):
        try:
            watched = _watched(model, inputs)
            own, notices = own_maps(watched.output, watched.watch, inputs, {}, None)
            single = len(own) == len(base.outputs) == 1  # a prefix may look ahead (PaliGemma): its text is the same stack as without
            own = dict(zip(base.outputs, own.values(), strict=True)) if single else own
            if own.keys() != base.outputs.keys():
                raise ModelError(Message("refusal.no_weights_to_show", model=name), *notices)
            calls, why = _recorded_calls(model, inputs, watched.output)
            slots = _match(own, calls) if calls else None
            if slots is None:
                raise ModelError(f"{name} cannot be recorded on this input.", why or Message("notice.weights_only.other_maps"))
            names = _names(model, calls)
            slots, others = _with_vision(slots, calls, names)
        finally:
            use_implementation(model, base.implementation, force=base.forced)
    return replace(
        base,
        calls=slots,
        outputs={**base.outputs, "vision": ""} if any(slot is not None and slot.stack == "vision" for slot in slots) else base.outputs,
        causal=tuple(is_causal(recorded.call.mask) for recorded in calls),
        notices=(*notices, *others, *_without_softmax(model, calls), *_sink_notice(slots)),
        read=tuple(inputs),
        modules=names,
    )


def _with_vision(
    slots: Sequence[Slot | None], calls: Sequence[_RecordedCall], names: Sequence[str]
) -> tuple[tuple[Slot | None, ...], tuple[Message, ...]]:
    """The calls that belong to no layer of the text as layers of the tower that reads the picture, one each; or why they are not shown."""
    found = [OF_LAYER.match(name) if slot is None else None for name, slot in zip(names, slots, strict=True)]
    towers = sorted({match[1] if match else name for match, slot, name in zip(found, slots, names, strict=True) if slot is None})
    layers = [int(match[2]) for match in found if match is not None]
    why = ""
    if len(towers) > 1 or None in [match for match, slot in zip(found, slots, strict=True) if slot is None]:
        why = Message("notice.model.other_tower.several")
    elif len(set(layers)) < len(layers):
        why = Message("notice.model.other_tower.pieces", calls=str(len(layers)), layers=str(len(set(layers))))
    elif any(slot is None and len(recorded.call.queries) > 1 for slot, recorded in zip(slots, calls, strict=True)):
        why = Message("notice.model.other_tower.pictures")
    if why:
        return tuple(slots), (Message("notice.model.other_tower.left_out", towers=", ".join(towers), why=why),)
    return tuple(
        Slot("vision", int(match[2]), *_heads_of(recorded.call), recorded.plain) if match is not None else slot
        for slot, recorded, match in zip(slots, calls, found, strict=True)
    ), ()


def _heads_of(call: AttentionCall) -> tuple[int, int]:
    return call.weights.shape[1], call.keys.shape[1]


@dataclass(frozen=True)
class _RecordedCall:
    """An attention call of the tiny pass: whether it is plain softmax attention, which layer of the model was running, and which module
    reads its outputs behind gates (`Slot.reader`), and whether it has a learned sink."""

    call: AttentionCall
    plain: bool
    layer: int | None
    reader: str = ""
    sink: bool = False


def find_layout(model: PreTrainedModel, tiny: Mapping[str, torch.Tensor]) -> tuple[Layout, Any, list[torch.Tensor]]:
    """Run a tiny input twice, once the model's own way and once recorded, and match every recorded call to one of its own maps.

    With the model's own output, and the weights of every recorded call.

    Where recording would change the output, or does not reproduce the maps, only the model's own maps are used: its weights alone.
    """
    name = type(model).__name__
    give_own_configs(model)
    parts = [(module, dict(module._modules)) for module in model.modules()]
    watched = _watched(model, tiny)
    replacing = [module for module, before in parts if any(module._modules.get(key) is not part for key, part in before.items())]
    mark_as_replacing(replacing)
    longer = with_padding(tiny) if "input_ids" in tiny else None
    padded: Any = {} if longer is None else run_tiny(model, longer)
    own, notices = own_maps(watched.output, watched.watch, tiny, padded, longer)
    if not own:
        if notices:
            raise ModelError(Message("refusal.no_weights_to_show", model=name), *notices)
        raise ModelError(Message("refusal.no_weights", model=name), Message("refusal.no_weights_help"))
    padding_shows = longer is not None and not all(
        same_but_for_padding(maps.maps, [padded[maps.name][index] for index in maps.indices]) for maps in own.values()
    )
    calls, why_weights_only = _recorded_calls(model, tiny, watched.output)
    slots = _match(own, calls) if calls else None
    if calls and slots is None:
        why_weights_only = Message("notice.weights_only.other_maps")
    recorded = slots is not None
    if slots is None:
        watched.set_implementation()
        slots = tuple(
            Slot(stack, layer, weights.shape[1], weights.shape[1], False)
            for stack, maps in own.items()
            for layer, weights in zip(maps.layers, maps.maps, strict=True)
        )
    if recorded:
        notices = (*notices, *_without_softmax(model, calls), *_sink_notice(slots))
    layout = Layout(
        slots,
        recorded=recorded,
        outputs={stack: maps.name for stack, maps in own.items()},
        indices={stack: maps.indices for stack, maps in own.items()},
        padding_shows=padding_shows,
        causal=tuple(is_causal(recorded_call.call.mask) for recorded_call in calls) if recorded else (),
        notices=notices,
        why_weights_only="" if recorded else why_weights_only,
        read=tuple(tiny),
        implementation=IMPLEMENTATION if recorded else "eager",
        forced=watched.forced or (recorded and not can_set(model)),
        parts=class_names(model) if replacing else (),
        modules=_names(model, calls) if recorded else (),
    )
    return layout, watched.output, [recorded_call.call.weights for recorded_call in calls]


def _without_softmax(model: PreTrainedModel, calls: Sequence[_RecordedCall]) -> Iterator[Message]:
    """A notice for each list of layers of which some made no attention call (linear attention, state spaces)."""
    lists = {name: len(part) for name, part in model.named_modules() if isinstance(part, nn.ModuleList)}
    attending: dict[str, set[int]] = {}
    for name in _names(model, calls):
        parts = name.split(".")
        outermost = next((n for n in range(1, len(parts)) if ".".join(parts[:n]) in lists), None)
        if outermost is not None:
            attending.setdefault(".".join(parts[:outermost]), set()).add(int(parts[outermost]))
    for name, layers in attending.items():
        without = sorted(set(range(lists[name])) - layers)
        if without:
            yield Message("notice.model.no_softmax", numbers=", ".join(map(str, without)), n=str(lists[name]))


def _sink_notice(slots: Sequence[Slot | None]) -> Iterator[Message]:
    if any(slot is not None and slot.sink for slot in slots):
        yield Message("notice.model.sink")


def _names(model: PreTrainedModel, calls: Sequence[_RecordedCall]) -> tuple[str, ...]:
    """The name of the module that made each call; empty for one that is no part of the model."""
    names = {id(module): name for name, module in model.named_modules()}
    return tuple(names.get(id(recorded.call.module), "") for recorded in calls)


def _recorded_calls(model: PreTrainedModel, tiny: Mapping[str, torch.Tensor], reference: Any) -> tuple[list[_RecordedCall], str]:
    """The attention calls of the recorded tiny pass; none where it cannot be recorded, and why."""
    calls: list[_RecordedCall] = []
    use_implementation(model, IMPLEMENTATION, force=not can_set(model))
    try:
        output = _record(model, tiny, calls)
    except Exception as error:  # noqa: BLE001 - any model's code runs here, and its own maps can still be used
        if not calls and not can_set(model):
            return [], Message("notice.weights_only.outside")
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        return [], Message("notice.weights_only.not_recorded", why=reason)
    if not calls:
        return [], Message("notice.weights_only.outside")
    if torch.equal(output[0], reference[0]):
        return calls, ""
    if bool(reference[0].isnan().any()):
        raise ModelError(
            Message("refusal.nan_alone", model=type(model).__name__),
            Message("refusal.damaged"),
            Message("refusal.load_float32"),
        )
    return [], Message("notice.weights_only.changed")


def _record(model: PreTrainedModel, tiny: Mapping[str, torch.Tensor], calls: list[_RecordedCall]) -> Any:
    """The model's output while it is recorded; its attention calls are added to `calls`, in order."""
    with watching_layers(model) as watch, _watching_readers(model) as readers:

        def keep(call: AttentionCall) -> None:
            plain = is_plain(call)
            calls.append(_RecordedCall(call, plain, watch.current, sink=not plain and has_sink(call)))
            readers.begin(call)

        with torch.no_grad(), recording(keep):
            output = model(**tiny, **no_cache(model))
    calls[:] = [replace(known, reader=reader) for known, reader in zip(calls, readers.names(), strict=True)]
    return output


# ---- Gates: which module reads what heads write, where that is not the outputs of the attention function themselves


#: How far a product of outputs and gates may lie from what the module reads, as a part of the largest number.
GATES_WITHIN, GATES_STEPS = 1e-5, 8


@dataclass
class _Readers:
    """The calls of a tiny pass, and for each what its attention module was given and whether its outputs were read as they are."""

    entered: dict[int, tuple[tuple[Any, ...], dict[str, Any]]] = field(default_factory=dict)
    calls: list[AttentionCall] = field(default_factory=list)
    given: list[tuple[tuple[Any, ...], dict[str, Any]] | None] = field(default_factory=list)
    as_they_are: list[bool] = field(default_factory=list)
    _outputs: torch.Tensor | None = None

    def begin(self, call: AttentionCall) -> None:
        """A call was made; the modules that run from now on may read its outputs."""
        self.calls.append(call)
        self.given.append(self.entered.get(id(call.module)))
        self.as_they_are.append(False)
        self._outputs = call.head_outputs().transpose(1, 2).flatten()

    def enter(self, module: nn.Module, args: tuple[Any, ...], options: dict[str, Any]) -> None:
        """A module is about to run."""
        self.entered[id(module)] = args, options
        if self._outputs is not None and args and _equal_numbers(args[0], self._outputs):
            self.as_they_are[-1], self._outputs = True, None

    def names(self) -> list[str]:
        """The reader of each call; empty where it has no gates."""
        calls = zip(self.calls, self.given, self.as_they_are, strict=True)
        return ["" if plain or given is None else _reader(call, *given) for call, given, plain in calls]


@contextmanager
def _watching_readers(model: nn.Module) -> Iterator[_Readers]:
    readers = _Readers()
    handles = [module.register_forward_pre_hook(readers.enter, with_kwargs=True) for module in model.modules()]
    try:
        yield readers
    finally:
        for handle in handles:
            handle.remove()


def _reader(call: AttentionCall, args: tuple[Any, ...], options: dict[str, Any]) -> str:
    """The first module within an attention module that reads its outputs multiplied with numbers that do not depend on them.

    The attention module runs again, once with ones for outputs: what the module reads then are the gates."""
    outputs = call.head_outputs().transpose(1, 2).flatten()
    try:
        own, gates = (dict(_read_within(call.module, args, options, change)) for change in (None, _Ones()))
    except Exception as error:  # noqa: BLE001 - any model's code runs here, on its own; without an answer nothing is said of gates
        log.debug("%s does not run again by itself: %s", type(call.module).__name__, error)
        return ""
    for name, gate in gates.items():
        if gate.numel() == outputs.numel() and name in own and _equal_numbers(own[name], outputs * gate.flatten()):
            return name
    return ""


class _Ones:
    """A change (`models.attention.Changes`) of one pass: every call gives ones."""

    calls_made, needs_weights = 0, False

    def next_change(self) -> _Ones:
        return self

    def before(self, call: AttentionCall) -> AttentionCall:
        return call

    def after(self, output: torch.Tensor, weights: torch.Tensor | None, _call: AttentionCall) -> tuple[torch.Tensor, torch.Tensor | None]:
        return torch.ones_like(output), weights

    def gated(self, gates: torch.Tensor) -> torch.Tensor:
        return gates

    def written(self, output: torch.Tensor) -> torch.Tensor:
        return output


def _read_within(module: nn.Module, args: tuple[Any, ...], options: dict[str, Any], change: _Ones | None) -> list[tuple[str, torch.Tensor]]:
    """What each module within an attention module reads after the attention call, when the attention module runs again."""
    read: list[tuple[str, torch.Tensor]] = []
    called: list[bool] = []

    def enter(name: str) -> Any:
        def hook(_module: nn.Module, args: tuple[Any, ...]) -> None:
            if called and args and isinstance(args[0], torch.Tensor) and name not in dict(read):
                read.append((name, args[0]))

        return hook

    handles = [part.register_forward_pre_hook(enter(name)) for name, part in module.named_modules() if name]
    try:
        with torch.no_grad(), recording(lambda _call: called.append(True)), changing(change) if change else nullcontext():
            module(*args, **options)
    finally:
        for handle in handles:
            handle.remove()
    return read


def _equal_numbers(read: Any, expected: torch.Tensor) -> bool:
    """Whether a tensor of any shape holds these numbers, to the precision that it is in."""
    if not isinstance(read, torch.Tensor) or read.numel() != expected.numel() or not read.is_floating_point():
        return False
    within = max(GATES_WITHIN, GATES_STEPS * torch.finfo(read.dtype).eps)
    expected = expected.float()
    return bool((read.flatten().float() - expected).abs().max() <= within * expected.abs().max().clamp_min(1e-30))


def is_causal(mask: torch.Tensor | None) -> bool:
    """Whether a mask [batch, 1 or head, query, key] that is added to the scores hides every key after its query.

    >>> is_causal(torch.tensor([[[[0.0, -1e30], [0.0, 0.0]]]])), is_causal(torch.zeros(1, 1, 2, 2)), is_causal(None)
    (True, False, False)
    """
    if mask is None or mask.shape[2] != mask.shape[3] or mask.shape[2] < 2:
        return False
    hidden = ~mask if mask.dtype == torch.bool else mask <= HIDDEN_BELOW
    ahead = torch.ones(mask.shape[2:], dtype=torch.bool, device=mask.device).triu(1)
    return bool(hidden[..., ahead].all())


def is_plain(call: AttentionCall) -> bool:
    """Whether this module computes softmax(q·kᵀ·scale + mask + bias) and nothing else, tested with large scores in single precision."""
    call = call.rows(slice(-TEST_QUERIES, None)).in_single_precision()
    scores = _scores(call.queries, call)
    large_queries = call.queries * (TEST_SCORE_DEVIATION / scores.std().clamp_min(1e-6))
    expected = _scores(large_queries, call)
    for term in (call.bias, call.mask):
        expected = expected if term is None else expected + term
    weights = replace(call, queries=large_queries).own()[1]
    return bool(weights.shape == expected.shape and (weights.float() - expected.float().softmax(-1)).abs().max() < PLAIN_WITHIN)


def has_sink(call: AttentionCall) -> bool:
    """Whether each row is a softmax over the keys and one number more, learned for each head, which takes the rest (gpt-oss).

    rest / (1 − rest) · Σ_k exp s_k = exp(sink)          the same for every query of a head
    """
    call = call.rows(slice(-TEST_QUERIES, None)).in_single_precision()
    scores = _scores(call.queries, call)
    for term in (call.bias, call.mask):
        scores = scores if term is None else scores + term
    sums = call.own()[1].float().sum(-1)  # [batch, head, query]
    if not bool(((sums > 0) & (sums < 1)).all()):
        return False
    sinks = ((1 - sums) / sums).log() + scores.logsumexp(-1)
    return bool((sinks - sinks[:, :, :1]).abs().max() < SINK_WITHIN)


def _scores(queries: torch.Tensor, call: AttentionCall) -> torch.Tensor:
    return queries @ call.keys_by_head().transpose(2, 3) * call.scale  # [batch, head, query, key]


def _match(own: Mapping[str, OwnMaps], calls: list[_RecordedCall]) -> tuple[Slot | None, ...] | None:
    """Walk the calls in order; each takes the first stack whose next map it reproduces. None: some map has no call."""
    stacks: list[str | None] = []
    for recorded in calls:
        taken = {stack: stacks.count(stack) for stack in own}
        fits = (s for s, maps in own.items() if taken[s] < len(maps.maps) and _same(maps.maps[taken[s]], recorded.call.maps))
        stacks.append(next(fits, None))
    slots: list[Slot | None] = [None] * len(calls)
    for stack, maps in own.items():
        indices = [index for index, name in enumerate(stacks) if name == stack]
        if len(indices) != len(maps.maps):
            return None
        numbers = layer_numbers([calls[index].layer for index in indices], maps.layers)
        for index, layer in zip(indices, numbers, strict=True):
            call = calls[index].call
            slots[index] = Slot(
                stack, layer, call.weights.shape[1], call.keys.shape[1], calls[index].plain, calls[index].reader, calls[index].sink
            )
    return tuple(slots)


def _same(weights: torch.Tensor, other: torch.Tensor | None) -> bool:
    if other is None:
        return False
    return weights.shape == other.shape and (
        torch.equal(weights, other) or torch.allclose(weights.float(), other.float(), rtol=0, atol=1e-6)
    )


def layer_numbers(seen: Sequence[int | None], positions: Sequence[int]) -> tuple[int, ...]:
    """The number of each map's layer.

    seen       the layer that was running, where known; used if every map has its own and they ascend (not where layers share weights)
    positions  otherwise: the map's position among those that the model reports, layers without one counted

    >>> layer_numbers([1, 3], [0, 1]), layer_numbers([0, 0, 0], [0, 1, 2]), layer_numbers([None, 1], [0, 2])
    ((1, 3), (0, 1, 2), (0, 2))
    """
    known = [number for number in seen if number is not None]
    if len(known) == len(seen) and all(a < b for a, b in pairwise(known)):
        return tuple(known)
    return tuple(positions)


# ---- The model's own answer: the same with its maps as without them


#: How far the answer may move when the maps are requested, as a part of its largest number: in single precision, and in rounding steps of
#: lower ones between two implementations of attention.
ANSWER_WITHIN, ANSWER_STEPS = 1e-4, 16


@dataclass(frozen=True)
class _Watched:
    """The tiny pass with the model's own maps, in eager attention.

    forced            eager attention is used against transformers' advice (`use_implementation`)
    implementations   that of each configuration
    answers_alike     whether the model answers the same without its maps
    same_as_first     and the same as in the implementation that it came with
    largest_distance  by how much not, as a part of its largest number
    """

    model: PreTrainedModel
    output: Any
    watch: LayerWatch
    forced: bool
    implementations: Sequence[str | None]
    answers_alike: bool
    same_as_first: bool
    largest_distance: float

    @property
    def reports(self) -> bool:
        """Whether it reports any map."""
        return any(weights is not None for name in REPORTED for weights in self.output.get(name) or ())

    def set_implementation(self) -> None:
        """Back to it, after the model was tried with another."""
        for config, name in zip(configs_of(self.model), self.implementations, strict=True):
            config._attn_implementation_internal = name


def _watched(model: PreTrainedModel, tiny: Mapping[str, torch.Tensor]) -> _Watched:
    """The model's maps, where it answers the same with and without them; an error otherwise, since they are not of what it computes.

    transformers' code outside the attention interface may take another way when maps are requested (Falcon's SDPA drops its causal mask).
    Its eager implementation is tried then.
    """
    first = None if can_set(model) else run_tiny(model, tiny, maps=False)
    attempts: list[_Watched] = []
    for force in [False] if first is None else [False, True]:
        try:
            attempts.append(_watched_in_eager(model, tiny, first, force))
        except ModelError:
            if not force:
                raise
        if attempts[-1].reports and attempts[-1].answers_alike and attempts[-1].same_as_first:
            return attempts[-1]
    usable = [watched for watched in attempts if watched.answers_alike and watched.same_as_first]
    if usable:  # it answers the same because it reports nothing
        usable[0].set_implementation()
        return usable[0]
    distance = max(watched.largest_distance for watched in attempts)
    raise ModelError(
        f"{type(model).__name__} answers differently when its attention is requested: by {distance:.2g} of its largest number.",
        "The weights that it reports are not those that it computes with, so they are not shown.",
        *(
            ('Its eager attention computes with the weights that it reports: from_pretrained(…, attn_implementation="eager").',)
            if attempts[-1].forced and attempts[-1].answers_alike
            else ()
        ),
    )


def _watched_in_eager(model: PreTrainedModel, tiny: Mapping[str, torch.Tensor], first: Any, force: bool) -> _Watched:
    """The tiny pass with and without maps in the eager implementation. first: without maps, in the model's own, if that is another."""
    use_implementation(model, "eager", force=force)
    unwatched = run_tiny(model, tiny, maps=False)
    with watching_layers(model) as watch:
        output = run_tiny(model, tiny)
    distance, noise = _distance(unwatched, output), 0.0
    if distance > ANSWER_WITHIN:
        noise = _distance(unwatched, run_tiny(model, tiny, maps=False))  # of a model that draws random numbers
    from_first = 0.0 if first is None else _distance(first, output)
    return _Watched(
        model=model,
        output=output,
        watch=watch,
        forced=force,
        implementations=[config._attn_implementation_internal for config in configs_of(model)],
        answers_alike=distance <= max(ANSWER_WITHIN, 2 * noise),
        same_as_first=from_first <= max(_rounding(output), 2 * noise),
        largest_distance=max(distance, from_first),
    )


def _distance(output: Any, other: Any) -> float:
    """How far two answers lie apart, as a part of the largest number of the first; nan in both counts as equal."""
    first, second = _answer(output), _answer(other)
    if first is None or second is None:
        return 0.0
    if first.shape != second.shape or not torch.equal(first.isnan(), second.isnan()):
        return float("inf")
    first, second = first.float().nan_to_num(), second.float().nan_to_num()
    return float((first - second).abs().max() / first.abs().max().clamp_min(1e-12)) if first.numel() else 0.0


def _answer(output: Any) -> torch.Tensor | None:
    return next((value for value in output.values() if isinstance(value, torch.Tensor) and value.is_floating_point()), None)


def _rounding(output: Any) -> float:
    answer = _answer(output)
    return ANSWER_WITHIN if answer is None else max(ANSWER_WITHIN, ANSWER_STEPS * torch.finfo(answer.dtype).eps)


# ---- The model's own maps: from a tiny pass that is run safely, and checked to be attention between tokens at all


#: Names under which models report maps → the stack; empty: a model with one tower, whose maps show which stack it is.
REPORTED = {"encoder_attentions": "encoder", "decoder_attentions": "decoder", "attentions": "", "cross_attentions": "cross"}

#: How far rows may sum above 1 (half precision), and how far padding may move a weight before it counts as seen.
ROWS_WITHIN, PADDING_WITHIN = 1e-2, 1e-5

PADDING = 3  # tokens of padding to try with


def run_tiny(model: PreTrainedModel, inputs: Mapping[str, torch.Tensor], *, maps: bool = True) -> Any:
    """The model's own answer, with its own maps; whatever it raises on a tiny input becomes an error that says so."""
    requested = {"output_attentions": True} if maps else {}
    try:
        with torch.no_grad():
            output = model(**inputs, **requested, **no_cache(model))
    except Exception as error:  # any model's code runs here
        own_words = " ".join(str(error).split())[:300]
        what = "text" if "input_ids" in inputs else "input"
        raise ModelError(
            *_what_it_reads(model, inputs), f"It could not be run on a tiny {what} alone: {type(error).__name__}: {own_words}"
        ) from error
    if not isinstance(output, Mapping):
        raise ModelError(
            f"{type(model).__name__} returns a {type(output).__name__}, in which nothing has a name.", "Set hf.config.return_dict = True."
        )
    return output


def _what_it_reads(model: PreTrainedModel, inputs: Mapping[str, torch.Tensor]) -> list[str]:
    """Why a model did not run on a small input of one kind, as far as its code says, and what can be opened instead."""
    name, takes = type(model).__name__, inspect.signature(model.forward).parameters
    inner = [name for name, part in model.named_modules() if name and isinstance(part, PreTrainedModel)]
    outermost = [name for name in inner if not any(name.startswith(f"{other}.") for other in inner)]
    parts = [f"Its parts can be opened by themselves: {', '.join(f'el.wrap(hf.{name})' for name in outermost[:4])}."] if outermost else []
    known, largest = vocabulary_size(model), int(inputs["input_ids"].max()) if "input_ids" in inputs else 0
    if known is not None and largest >= known:
        return [f"The tokeniser gives token {largest}, and {name} knows {known} tokens.", "Is the tokeniser that of this model?"]
    given = next(name for name in inputs if name in MAIN_INPUTS)
    others = [name for name in MAIN_INPUTS if name in takes and name not in inputs]
    if others:
        return [f"{name} reads {given} together with {' or '.join(others)}; models are opened on one kind of input.", *parts]
    if given == "input_ids" and _takes_choices(model, inputs):
        return [f"{name} reads several texts at once, as choices [text, choice, token].", *parts]
    return [f"{name} does not run on {given} alone, the kind of input that it names first.", *parts]


def _takes_choices(model: PreTrainedModel, inputs: Mapping[str, torch.Tensor]) -> bool:
    try:
        with torch.no_grad():
            model(**{name: tensor[:, None] for name, tensor in inputs.items()}, **no_cache(model))
    except Exception:  # noqa: BLE001 - any model's code runs here, and it has failed before
        return False
    return True


@dataclass(frozen=True)
class OwnMaps:
    """The maps that a model reports of one stack: under which name, at which indices of it, and of which of its layers."""

    name: str
    maps: tuple[torch.Tensor, ...]
    layers: tuple[int, ...]
    indices: tuple[int, ...]


def own_maps(
    output: Mapping[str, Any],
    watch: LayerWatch,
    tiny: Mapping[str, torch.Tensor],
    longer_output: Mapping[str, Any],
    longer: Mapping[str, torch.Tensor] | None,
) -> tuple[dict[str, OwnMaps], tuple[Message, ...]]:
    """The maps in a model's output, by stack, in the order encoder, decoder, cross; and a notice for each stack or layer that is left out.

    longer   an input of another length, and the output for it: weights for the tokens of a window look like a map at one length alone.
    A model with a single tower reports `attentions`: it counts as a decoder where no token looks ahead.
    """
    stacks: dict[str, OwnMaps] = {}
    notices: list[Message] = []
    for name, stack in REPORTED.items():
        reported = [(index, weights) for index, weights in enumerate(output.get(name) or ()) if weights is not None]
        if not reported:
            if output.get(name):
                notices.append(Message("notice.model.built_without_maps"))
            continue
        if not all(isinstance(weights, torch.Tensor) and weights.ndim == 4 for _, weights in reported):
            notices.append(Message("notice.model.blocks", stack=_named(stack)))
            continue
        numbers = layer_numbers([watch.layer_of(weights) for _, weights in reported], [index for index, _ in reported])
        uncovered = {i: bad for i in range(len(reported)) if (bad := _uncovered(stack, name, reported[i][0], output, tiny)) is not None}
        if longer is not None:
            others = {i: _uncovered(stack, name, reported[i][0], longer_output, longer) for i in range(len(reported)) if i not in uncovered}
            uncovered |= {i: bad for i, bad in others.items() if bad is not None}
        kept = [i for i in range(len(reported)) if i not in uncovered]
        if uncovered:
            notices.append(_left_out(stack, [(numbers[i], shape) for i, shape in sorted(uncovered.items())], bool(kept)))
        if kept:
            maps = tuple(reported[i][1] for i in kept)
            if (lowest := min(float(w.min()) for w in maps)) < 0 or max(float(w.sum(-1).max()) for w in maps) > 1 + ROWS_WITHIN:
                notices.append(_not_weights(stack, lowest, max(float(w.sum(-1).max()) for w in maps)))
                continue
            looks_ahead = any(weights.triu(1).any() for weights in maps)
            indices, layers = (tuple(reported[i][0] for i in kept), tuple(numbers[i] for i in kept))
            stacks[stack or ("encoder" if looks_ahead else "decoder")] = OwnMaps(name, maps, layers, indices)
    return stacks, tuple(notices)


def covers_pairs(stack: str, weights: torch.Tensor, tiny: Mapping[str, torch.Tensor]) -> bool:
    """Whether a map has one weight for every query and key: not so for windows, pooled or hashed attention."""
    lengths = {side: tiny[key].shape[1] for side, key in (("read", "input_ids"), ("written", "decoder_input_ids")) if key in tiny}
    query, key = ("written" if stack in ("decoder", "cross") else "read"), ("written" if stack == "decoder" else "read")
    expected = (lengths.get(query, weights.shape[2]), lengths.get(key, weights.shape[3]))
    is_square = stack == "cross" or weights.shape[2] == weights.shape[3]
    return len(weights) == 1 and tuple(weights.shape[2:]) == expected and is_square


def _uncovered(stack: str, name: str, index: int, output: Mapping[str, Any], inputs: Mapping[str, torch.Tensor]) -> list[int] | None:
    """The shape of a map that does not cover pairs of tokens; None where it does."""
    weights = (output.get(name) or ())[index : index + 1]
    if len(weights) == 1 and isinstance(weights[0], torch.Tensor) and weights[0].ndim == 4:
        return None if covers_pairs(stack, weights[0], inputs) else list(weights[0].shape)
    return []


def _named(stack: str) -> str:
    return stack or Message("notice.model.whole")


def _left_out(stack: str, shapes: list[tuple[int, list[int]]], some_are_kept: bool) -> Message:
    """A notice on maps that do not cover pairs of tokens: all of a stack, or those of some layers."""
    numbers = ", ".join(str(number) for number, _ in shapes)
    which = Message("notice.model.some_layers", numbers=numbers) if some_are_kept else Message("notice.model.all_layers")
    return Message("notice.model.windows", stack=_named(stack), layers=which, shape=str(shapes[0][1]))


def _not_weights(stack: str, lowest: float, highest: float) -> Message:
    """A notice on maps that are not attention: weights are not negative and sum to at most 1."""
    return Message("notice.model.not_weights", stack=_named(stack), lowest=f"{lowest:.3g}", highest=f"{highest:.3g}")


def with_padding(tiny: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The same input with padding after it."""
    padded = dict(tiny)
    for ids, mask in (("input_ids", "attention_mask"), ("decoder_input_ids", "decoder_attention_mask")):
        if ids in tiny:
            shown = tiny.get(mask, torch.ones_like(tiny[ids]))
            padded[ids] = torch.nn.functional.pad(tiny[ids], (0, PADDING), value=0)
            padded[mask] = torch.nn.functional.pad(shown, (0, PADDING), value=0)
    return padded


def same_but_for_padding(maps: Sequence[torch.Tensor], padded: Sequence[torch.Tensor]) -> bool:
    """Whether the maps of a padded input are those of the input itself, padding cut off, to the precision that they are in."""
    pairs = zip(maps, padded, strict=True)
    return all((m - p[:, :, : m.shape[2], : m.shape[3]]).abs().max() < max(PADDING_WITHIN, 4 * torch.finfo(m.dtype).eps) for m, p in pairs)


# ---- Which layer is running: its index in the model's own list of layers, which also holds layers without attention


class LayerWatch:
    """Follows a forward pass: which item of the outermost list of layers (`nn.ModuleList`) is running, and which maps it returned."""

    def __init__(self) -> None:
        self._running: list[int] = []
        self._maps: list[tuple[torch.Tensor, int]] = []

    @property
    def current(self) -> int | None:
        """The index of the layer that is running now."""
        return self._running[0] if self._running else None

    def layer_of(self, weights: torch.Tensor) -> int | None:
        """The layer that returned this tensor object."""
        return next((index for tensor, index in self._maps if tensor is weights), None)

    def begin(self, index: int) -> None:
        self._running.append(index)

    def end(self) -> None:
        self._running.pop()

    def keep_maps(self, output: Any) -> None:
        if self._running:
            parts = output if isinstance(output, tuple | list) else [output]
            self._maps += [(part, self._running[0]) for part in parts if isinstance(part, torch.Tensor) and part.ndim == 4]


@contextmanager
def watching_layers(model: nn.Module) -> Iterator[LayerWatch]:
    """Within this block a pass of the model is followed. Its hooks are gone afterwards; they change nothing."""
    watch = LayerWatch()
    handles = []
    for module in model.modules():
        handles.append(module.register_forward_hook(lambda _module, _inputs, output: watch.keep_maps(output)))
    for parent in model.modules():
        if isinstance(parent, nn.ModuleList):
            for index, layer in enumerate(parent):
                handles.append(layer.register_forward_pre_hook(lambda _module, _inputs, index=index: watch.begin(index), prepend=True))
                handles.append(layer.register_forward_hook(lambda _module, _inputs, _output: watch.end(), always_call=True))
    try:
        yield watch
    finally:
        for handle in handles:
            handle.remove()


# ---- The part of a model that attention passes through: passes that record attention do not pay for the head on top of it


def body_of(
    model: PreTrainedModel, layout: Layout, tiny: Mapping[str, torch.Tensor], output_of_model: Any, weights: Sequence[torch.Tensor]
) -> PreTrainedModel:
    """The model without its head: the outermost part that gives the same attention on the tiny input (`weights` of every call), and from
    whose result the head computes the same answer (`output_of_model`); otherwise the model itself."""
    if "last_hidden_state" in output_of_model:
        return model  # no head
    inner = (module for module in model.modules() if isinstance(module, PreTrainedModel))  # some heads pass by the base (OPT, Llama 4)
    candidates = {id(part): part for part in (model.base_model, *inner) if isinstance(part, PreTrainedModel) and part is not model}
    for body in candidates.values():
        try:
            result, same = _recorded_again(body, tiny, weights) if layout.recorded else _reported_again(body, layout, tiny)
            has_head = "logits" in result
            if same and not has_head and _same_answer(model, body, result, tiny, output_of_model):
                return body
        except Exception as error:  # noqa: BLE001 - any model's code runs here, and the whole model can be run instead
            log.debug("%s does not run as %s alone: %s", type(model).__name__, type(body).__name__, error)
    return model


def _recorded_again(body: PreTrainedModel, tiny: Mapping[str, torch.Tensor], weights: Sequence[torch.Tensor]) -> tuple[Any, bool]:
    """The output of a part of the model, and whether it makes the same attention calls."""
    calls: list[torch.Tensor] = []
    with torch.no_grad(), recording(lambda call: calls.append(call.weights)):
        result = body(**tiny, **no_cache(body))
    return result, len(calls) == len(weights) and all(map(torch.equal, calls, weights))


def _reported_again(body: PreTrainedModel, layout: Layout, tiny: Mapping[str, torch.Tensor]) -> tuple[Any, bool]:
    """The output of a part of the model, and whether it reports the same stacks."""
    with torch.no_grad():
        result = body(**tiny, **no_cache(body), output_attentions=True)
    return result, all(result.get(name) for name in layout.outputs.values())


def _same_answer(
    model: PreTrainedModel, body: PreTrainedModel, result: Any, tiny: Mapping[str, torch.Tensor], output_of_model: Any
) -> bool:
    """Whether the head computes the answer from this part's result, and, in a language model, at the last position alone."""
    inputs = {**tiny, **no_cache(model)}
    with torch.no_grad():
        if model.get_output_embeddings() is None:
            return _distance(output_of_model, run_head(model, body, result, inputs)) <= ANSWER_WITHIN
        last = output_of_model["logits"].shape[1] - 1
        at = run_head(model, body, result, inputs, torch.tensor([[last]]))
    return _distance({"logits": output_of_model["logits"][:, last:]}, {"logits": at["logits"]}) <= ANSWER_WITHIN


# ---- The small inputs: of the kind that the model reads, within its vocabulary and its longest text


TINY_TEXT = "The cat sat on the mat."

TINY_LENGTH, TINY_TARGET_LENGTH = 8, 5

PATCHES = 4  # along each side of the image

#: Names under which configurations say how many features a frame of sound has, and how many frames are tried.
AUDIO_FEATURES = ("num_mel_bins", "input_feat_per_channel", "feature_projection_input_dim", "num_features", "input_dim")

AUDIO_FRAMES, WAVE_LENGTH = 64, 16_000

MAIN_INPUTS = ("input_ids", "pixel_values", "input_features", "input_values")

FIRST_ID = 3  # ids below are most often special tokens


def tiny_inputs(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None) -> dict[str, torch.Tensor]:
    """The first of the small inputs that the model runs on."""
    *others, last = tiny_candidates(model, tokenizer)
    for inputs in others:
        try:
            with torch.no_grad():
                model(**inputs, **no_cache(model))
            return inputs
        except Exception as error:  # noqa: BLE001 - any model's code runs here; most image models take one size only
            log.debug("%s does not take %s: %s", type(model).__name__, {name: list(v.shape) for name, v in inputs.items()}, error)
    return last


def tiny_candidates(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None) -> list[dict[str, torch.Tensor]]:
    """Small inputs of the kind this model takes, the quickest first; encoder and decoder get different lengths so that their maps differ
    in shape. A text is one input; how large an image or a sound must be is not always in the configuration."""
    main = main_input(model)
    generator = torch.Generator().manual_seed(0)
    candidates: list[dict[str, torch.Tensor]]
    if main == "input_ids":
        ids = _text_ids(model, tokenizer)
        candidates = [{"input_ids": torch.tensor([ids]), "attention_mask": torch.ones(1, len(ids), dtype=torch.long)}]
    elif main == "pixel_values":
        candidates = [{main: torch.randn(1, *shape, generator=generator)} for shape in _image_shapes(model.config)]
    elif main == "input_features":
        candidates = [{main: torch.randn(1, *shape, generator=generator)} for shape in _audio_shapes(model)]
        mask = f"{main}_mask"
        if mask in inspect.signature(model.forward).parameters:
            candidates += [{main: c[main], mask: torch.ones(1, max(c[main].shape[1:]), dtype=torch.long)} for c in candidates]
    elif main == "input_values":
        candidates = [{main: torch.randn(1, *_wave_shape(model.config), generator=generator)}]
    else:
        raise ModelError(
            f"{type(model).__name__} reads {main!r}.",
            "eyeline can open models that read token ids (input_ids), images (pixel_values) or sound (input_features, input_values).",
        )
    parameter = next(model.parameters())
    if model.config.is_encoder_decoder:
        written = torch.tensor([[decoder_start(model), *plain_ids(model, TINY_TARGET_LENGTH)[1:]]])
        candidates = [{**inputs, "decoder_input_ids": written} for inputs in candidates]
    return [
        {name: tensor.to(parameter.device, parameter.dtype if tensor.is_floating_point() else None) for name, tensor in inputs.items()}
        for inputs in candidates
    ]


def main_input(model: PreTrainedModel) -> str:
    """The name of what the model reads: what it says, unless its forward takes no such thing (vision towers that say input_ids)."""
    takes = inspect.signature(model.forward).parameters
    declared = str(model.main_input_name)  # a list of several, in some families
    return declared if declared in takes else next((name for name in MAIN_INPUTS if name in takes), declared)


def _image_shapes(config: PreTrainedConfig) -> list[tuple[int, ...]]:
    """A few patches, which some models take and then open in a fraction of the time; then an image of the model's own size.

    [channels, height, width], of a video [frames, channels, height, width].
    """
    config = config if hasattr(config, "image_size") else getattr(config, "vision_config", config)
    size, patch = getattr(config, "image_size", None) or 224, getattr(config, "patch_size", None)
    height, width = size if isinstance(size, list | tuple) else (size, size)
    frames, channels = getattr(config, "num_frames", None), getattr(config, "num_channels", None) or 3
    before = (channels,) if frames is None else (frames, channels)
    shapes: list[tuple[int, ...]] = [(*before, height, width)]
    in_windows = getattr(config, "window_size", None) is not None  # a small image would be a single window
    if isinstance(patch, int) and 0 < PATCHES * patch < min(height, width) and not in_windows:
        shapes.insert(0, (*before, PATCHES * patch, PATCHES * patch))
    return shapes


def _audio_shapes(model: PreTrainedModel) -> list[tuple[int, int]]:
    """[mel bins, frames] as Whisper reads them, or [frames, features]."""
    config = model.config
    length = getattr(config, "max_source_positions", None)
    if length is not None and getattr(config, "num_mel_bins", None) is not None:
        return [(config.num_mel_bins, 2 * length)]
    configs = [config, *(part for name in config.sub_configs if (part := getattr(config, name, None)) is not None)]
    sizes = [getattr(part, name, None) for part in configs for name in AUDIO_FEATURES]
    known = next((size for size in sizes if isinstance(size, int)), None)
    if known is None:
        raise ModelError(
            f"{type(model).__name__} reads sound, but its configuration does not say how many features a frame has.",
            "Sound models with num_mel_bins and max_source_positions (Whisper) and those that read input_values can be opened.",
        )
    return [(AUDIO_FRAMES, known), (known, AUDIO_FRAMES)]


def _wave_shape(config: PreTrainedConfig) -> tuple[int, ...]:
    """A second of sound; or [frames, mel bins] where that is what is read under this name (audio spectrogram transformers)."""
    frames, bins = getattr(config, "max_length", None), getattr(config, "num_mel_bins", None)
    return (frames, bins) if isinstance(frames, int) and isinstance(bins, int) else (WAVE_LENGTH,)


def _text_ids(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None) -> list[int]:
    if tokenizer is None:
        return plain_ids(model, TINY_LENGTH)
    try:
        ids: list[int] = tokenizer(TINY_TEXT).input_ids
    except Exception:  # noqa: BLE001 - any tokeniser's code runs here; some read something else than a text (TAPAS: a table)
        return plain_ids(model, TINY_LENGTH)
    return ids[: _room(model, len(ids))] or plain_ids(model, TINY_LENGTH)


def plain_ids(model: PreTrainedModel, length: int) -> list[int]:
    """`length` token ids that the model knows and that are not padding; fewer where the model takes fewer."""
    vocabulary = vocabulary_size(model) or FIRST_ID + length
    padding = getattr(model.config.get_text_config(), "pad_token_id", None)
    known = [number for number in range(min(FIRST_ID, vocabulary - 1), vocabulary) if number != padding] or [0]
    known = known if len(known) > 1 else [number for number in range(vocabulary) if number != padding] or [0]
    return [known[index % len(known)] for index in range(_room(model, length))]


def _room(model: PreTrainedModel, length: int) -> int:
    """How many of `length` tokens the model takes when some padding is added to them later."""
    longest = longest_text(model, None)
    return length if longest is None else max(1, min(length, longest - PADDING))


# ---- Models that read audio of one fixed length, opened with a shorter one: Whisper's 3,000 frames would take seconds


#: Positions of the encoder in the tiny pass; another number than those of the decoder, so that their maps differ in shape.
SHORT_POSITIONS = 16


@contextmanager
def short_audio(model: PreTrainedModel) -> Iterator[bool]:
    """Within this block the encoder counts SHORT_POSITIONS positions, the first of its own. Gives whether there was anything to shorten.

    Two numbers are changed and put back: how many positions the configuration names, and how many the table of positions says it has. No
    weight is touched. The number of layers and heads, and which call is which layer, do not depend on the length.
    """
    encoders = [module for module in model.modules() if _has_fixed_length(module)]
    saved: list[tuple[Any, str, int]] = []
    for encoder in encoders:
        for owner, name in ((encoder.embed_positions, "num_embeddings"), (encoder.config, "max_source_positions")):
            saved.append((owner, name, getattr(owner, name)))
    for owner, name, _ in saved:
        setattr(owner, name, SHORT_POSITIONS)
    try:
        yield bool(encoders)
    finally:
        for owner, name, length in saved:
            setattr(owner, name, length)


def _has_fixed_length(module: nn.Module) -> bool:
    """Whether it is an encoder of sound with a table of positions, all of which it reads each time."""
    config, table = getattr(module, "config", None), getattr(module, "embed_positions", None)
    return (
        isinstance(config, PretrainedConfig)
        and type(table) is nn.Embedding
        and getattr(config, "num_mel_bins", None) is not None
        and getattr(config, "max_source_positions", None) == table.num_embeddings > SHORT_POSITIONS
    )
