"""The attention of one text: plain NumPy arrays with the tokens they belong to, and its file. Read without torch."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypedDict

import numpy as np

from eyeline.errors import Advice, TraceError
from eyeline.look.answer import Prediction
from eyeline.look.sources import name_in, saved_attention, stacks_of_cache, stacks_of_outputs
from eyeline.look.stack import HalfLayers, Stack, as_kept, stack_from_arrays, stacked
from eyeline.messages import Message
from eyeline.storage.files import as_path
from eyeline.storage.records import to_json
from eyeline.storage.sealed import FileKind, read_sealed, write_sealed
from eyeline.text.tokenized import TokenizedText, index_of

# ---- What a trace says of itself beside its arrays, and keeps in its file


#: Where a trace keeps the record: `trace.about[KEY]`.
KEY: Final = "quantity"


@dataclass(frozen=True)
class Quantity:
    """A quantity between tokens that is not attention itself.

    method    how it was computed, by the name that `el.attribute` takes
    name      its name in words, for titles
    signed    whether numbers below zero mean something: then colours have two sides
    answer    the token or label that the numbers are about; empty where they are about none
    position  the token at which the answer is read
    scores    one number per token: how much it counts for the answer (or for the token at `position`)
    """

    method: str
    name: str
    signed: bool
    answer: str
    position: int
    scores: tuple[float, ...]

    def at_word_level(self, groups: Sequence[Sequence[int]]) -> Quantity:
        """One number per word, the sum over its pieces. groups: the token positions of each word; see `TokenizedText.word_groups`.

        >>> Quantity("m", "M", False, "", 2, (1.0, 2.0, 3.0)).at_word_level([[0], [1, 2]])
        Quantity(method='m', name='M', signed=False, answer='', position=1, scores=(1.0, 5.0))
        """
        if len(groups) == len(self.scores):
            return self
        position = next(index for index, group in enumerate(groups) if self.position in group)
        return replace(self, position=position, scores=tuple(sum(self.scores[i] for i in group) for group in groups))

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "scores": list(self.scores)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Quantity:
        try:
            return cls(
                method=str(data["method"]),
                name=str(data["name"]),
                signed=bool(data["signed"]),
                answer=str(data["answer"]),
                position=int(data["position"]),
                scores=tuple(map(float, data["scores"])),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise TraceError(f"This trace names a quantity that cannot be read: {error}.", "Compute it again: el.attribute(…).") from error


#: `trace.about`. Every entry may be missing: traces of arrays have none.
#:
#: model, revision, class   the model by name, its commit (None where it has none) and its class
#: dtype, device, tokens    of its weights; where the pass was made, such as cpu; how many tokens the text has
#: weights                  the identity of the weights that compute attention, when the pass was made
#: context                  what was around the pass that changes numbers (autocast, hooks …): name → value; missing: nothing
#: eyeline                  the version that recorded it
#: notices                  what a reader should know
#: rounded                  weights were kept in float16: the largest change of one by it
#: interventions            how the model was changed for this pass, a sentence each
#: quantity                 what the numbers are, where they are not attention (`Quantity.to_json`)
TraceFacts = TypedDict(
    "TraceFacts",
    {
        "model": str,
        "revision": str | None,
        "class": str,
        "dtype": str,
        "device": str,
        "tokens": int,
        "weights": str,
        "context": dict[str, str],
        "eyeline": str,
        "notices": list[Message],
        "rounded": float,
        "interventions": list[str],
        "quantity": dict[str, Any],
    },
    total=False,
)


# ---- A trace


TRACE = FileKind(
    "trace",
    format=3,
    reads=(2,),
    written_by="Traces are written by trace.save(path) or: eyeline trace TEXT -o FILE.safetensors",
    otherwise="Does it hold a model's weights? el.load opens those.",
)

#: What a trace can keep. With queries or keys come the mask and the bias, since the weights are made of all four.
KEEPABLE = ("weights", "queries", "keys", "values")

ARRAYS = (*KEEPABLE, "mask", "bias", "gates")

#: How precisely weights are kept. auto: as the model computes them (those of bfloat16 in float16, which holds them within 3e-8).
PRECISIONS = ("auto", "float16", "float32")


@dataclass(frozen=True)
class Selection:
    """What of a pass a trace keeps, as a user asks for it: see `model.trace`."""

    layers: Iterable[int] | None = None
    heads: Iterable[int] | None = None
    rows: Iterable[int] | None = None
    keep: Collection[str] = KEEPABLE
    precision: str = "auto"

    def __post_init__(self) -> None:
        for name in ("layers", "heads", "rows"):  # they are read more than once
            given = getattr(self, name)
            object.__setattr__(self, name, list(given) if isinstance(given, Iterable) else given)


#: Where a user chooses nothing.
EVERYTHING: Final = Selection()


@dataclass(frozen=True)
class Trace:
    """What a model's attention did on one text, or one pair of texts.

    Models with one tower answer `trace.weights` directly; encoder-decoder models have `trace.encoder`, `trace.decoder` and
    `trace.cross`, each with its own queries' and keys' tokens. `prediction` is what the model answered; None for a model without a head
    and a masked language model without a mask in the text. `about`: see `TraceFacts`.
    """

    model: str
    stacks: Mapping[str, Stack]
    about: TraceFacts = field(default_factory=TraceFacts)
    prediction: Prediction | None = None

    def __post_init__(self) -> None:
        if not self.stacks:
            raise TraceError("A trace without any attention.", "Give at least one stack.")

    def __repr__(self) -> str:
        stacks = ", ".join(
            f"{name} {len(s.layers)} layers, {len(s.query_text)} x {len(s.key_text)} {s.level}s" for name, s in self.stacks.items()
        )
        return f"<trace of {self.model}: {stacks}>"

    @property
    def notices(self) -> tuple[Message, ...]:
        """What a reader should know: attention that cannot be shown, a text that the tokeniser does not know."""
        return tuple(self.about.get("notices", ()))

    @property
    def quantity(self) -> Quantity | None:
        """What the numbers are, where they are not attention weights (`el.attribute`); None for attention."""
        record = self.about.get(KEY)
        return None if record is None else Quantity.from_json(record)

    def stack(self, name: str | None = None) -> Stack:
        """The stack of that name; the only one where there is no name."""
        if name is None:
            return self.only
        if name not in self.stacks:
            raise TraceError(f"{self.model} has no {name} attention.", f"It has: {', '.join(self.stacks)}.")
        return self.stacks[name]

    @property
    def encoder(self) -> Stack:
        return self.stack("encoder")

    @property
    def decoder(self) -> Stack:
        return self.stack("decoder")

    @property
    def cross(self) -> Stack:
        return self.stack("cross")

    @property
    def only(self) -> Stack:
        """The one stack of a model that has one; otherwise an error that lists the choices."""
        if len(self.stacks) > 1:
            calls, options = (", ".join(f"{before}{name}" for name in self.stacks) for before in ("trace.", "--stack "))
            which = Advice(f"Say which: {calls}.", f"Say which: {options}.")
            raise TraceError(f"{self.model} has {len(self.stacks)} kinds of attention.", which)
        return next(iter(self.stacks.values()))

    @property
    def text(self) -> TokenizedText:
        return self.only.query_text

    @property
    def layers(self) -> tuple[int, ...]:
        return self.only.layers

    @property
    def weights(self) -> np.ndarray:
        """[layer, head, query, key]"""
        return self.only.weights

    @property
    def queries(self) -> np.ndarray:
        """[layer, head, query, dim]"""
        return self.only.queries

    @property
    def keys(self) -> np.ndarray:
        """[layer, key head, key, dim]"""
        return self.only.keys

    @property
    def values(self) -> np.ndarray:
        """[layer, key head, key, dim]"""
        return self.only.values

    @property
    def outputs(self) -> np.ndarray:
        """[layer, head, query, dim]: what each head writes, as the output projection reads it (`Stack.outputs`)"""
        return self.only.outputs

    @property
    def scales(self) -> tuple[float, ...]:
        """What q·k is multiplied with before the softmax, one number per layer."""
        return self.only.scales

    def words(self) -> Trace:
        """The same trace at word level; rows still sum to 1."""
        about, quantity = self.about, self.quantity
        if quantity is not None:
            about = {**about, KEY: quantity.at_word_level(self.text.word_groups).to_json()}
        return replace(self, stacks={name: stack.words() for name, stack in self.stacks.items()}, about=about)

    def save(self, path: str | Path) -> Path:
        """Write to a safetensors file, whole or not at all; its path. `el.open` reads it, without torch."""
        write_trace(path, self.model, self.stacks, self.about, self.prediction)
        return Path(path)

    @classmethod
    def from_arrays(
        cls,
        weights: Any,
        tokens: Sequence[str],
        *,
        key_tokens: Sequence[str] | None = None,
        second_from: int | None = None,
        special: Sequence[bool] | None = None,
        queries: Any = None,
        keys: Any = None,
        values: Any = None,
        scale: float | Sequence[float] | None = None,
        layers: Sequence[int] | None = None,
        stack: str | None = None,
        model: str = "arrays",
    ) -> Trace:
        """A trace from arrays and their tokens, without a model.

        weights              [layer, head, query, key], of NumPy, torch, JAX or TensorFlow; or a list with one array per layer, whose head
                             counts may differ; a batch axis of size 1 is dropped
        tokens, key_tokens   of the queries, and of the keys where they are other ones (the stack is then called cross)
        second_from          where the second text of a pair begins
        special              True for the tokens that a tokeniser added
        queries, keys, values  [layer, head, token, dim], for the neuron view and the value layout
        scale                what q·k is multiplied with, one number or one per layer; 1/√dim unless given

        >>> Trace.from_arrays([[[[0.5, 0.5], [1.0, 0.0]]]], ["a", "b"]).weights.shape
        (1, 1, 2, 2)
        """
        query_text = TokenizedText.from_tokens(tokens, special=() if special is None else special, second_from=second_from)
        key_text = None if key_tokens is None else TokenizedText.from_tokens(key_tokens)
        name = stack or ("encoder" if key_text is None else "cross")
        vectors = {"queries": queries, "keys": keys, "values": values}
        only = stack_from_arrays(weights, query_text, key_text, name=name, layers=layers, scale=scale, **vectors)
        return cls(model=model, stacks={name: only})

    @classmethod
    def from_transformers(
        cls,
        outputs: Any,
        tokens: Sequence[str],
        *,
        decoder_tokens: Sequence[str] | None = None,
        second_from: int | None = None,
        row: int | None = None,
        padding: int = 0,
        model: str = "transformers",
    ) -> Trace:
        """A trace from what a model of transformers returned with `output_attentions=True`, or from its attentions alone.

        outputs         of one text: of the model, or of `generate(…, return_dict_in_generate=True)`, whose steps are joined
        tokens          of the text (of the encoder): tokenizer.convert_ids_to_tokens(input_ids[0]); of `generate`: without the last token
        decoder_tokens  of the decoder, in a model with two towers
        second_from     where the second text of a pair begins
        row, padding    of a batch, or of several texts that `generate` returned (beams too): which of them, and how many tokens of padding
                        stand before it

        `el.wrap(model, tokenizer).trace(text)` records more: words, queries, keys and values, and the model's answer.
        """
        return cls(model=model, stacks=stacks_of_outputs(outputs, tokens, decoder_tokens, second_from, row, padding))

    @classmethod
    def from_transformer_lens(
        cls,
        cache: Any,
        tokens: Sequence[str] | None = None,
        *,
        decoder_tokens: Sequence[str] | None = None,
        model: str | None = None,
    ) -> Trace:
        """A trace from TransformerLens' `logits, cache = model.run_with_cache(text)`.

        tokens   model.to_str_tokens(text); else those of the ids in the cache, where it knows its model's tokeniser

        Queries, keys and values are in the trace where softmax(q·kᵀ/√dim) of the cached ones is the cached pattern.
        """
        return cls(model=model or name_in(cache), stacks=stacks_of_cache(cache, tokens, decoder_tokens))

    @classmethod
    def from_nnsight(
        cls,
        saved: Any,
        tokens: Sequence[str],
        *,
        decoder_tokens: Sequence[str] | None = None,
        second_from: int | None = None,
        model: str = "nnsight",
    ) -> Trace:
        """A trace from what was saved inside `with model.trace(text):` of nnsight.

        saved    a value for each layer: the weights, or the whole result of the attention module; or the model's output, of a trace
                 with output_attentions=True. The model needs attn_implementation="eager".
        """
        return cls(model=model, stacks=stacks_of_outputs(saved_attention(saved), tokens, decoder_tokens, second_from))


def check_trace(trace: object) -> None:
    """Refuse anything else where a view or a graph takes a trace."""
    if not isinstance(trace, Trace):
        raise TraceError(
            f"A {type(trace).__name__} where a trace was expected.", "Record one: model.trace(text). Or open one: el.open(path)."
        )


# ---- Traces on disk: safetensors for the arrays, a JSON header for the rest; written whole or not at all


def write_trace(path: str | Path, model: str, stacks: Mapping[str, Stack], about: TraceFacts, prediction: Prediction | None) -> None:
    """Write the parts of a trace to `path`. A full disk or a missing folder is a StorageError, and leaves no file behind."""
    arrays: dict[str, np.ndarray] = {}
    texts: list[TokenizedText] = []
    described = {name: _describe(stack, texts, arrays) for name, stack in stacks.items()}
    header = {"model": model, "about": to_json(about), "texts": [text.to_json() for text in texts], "stacks": described}
    if prediction is not None:
        header["prediction"] = prediction.to_json()
    write_sealed(path, TRACE, header, arrays)


def _describe(stack: Stack, texts: list[TokenizedText], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """The header entry of a stack; its arrays are added to `arrays`, whole where every layer has one shape, else layer by layer."""
    kept: dict[str, list[int] | str] = {}
    halves: dict[str, str] = {}  # of arrays in 16 bits, what the bits are
    for what in ARRAYS:
        given = getattr(stack, f"{what}_by_layer")
        if not given:
            continue
        if isinstance(given, HalfLayers):
            halves[what] = given.precision
        layers: tuple[np.ndarray | None, ...] = as_kept(given)
        if what in KEEPABLE and len({array.shape for array in layers if array is not None}) == 1:
            arrays[f"{stack.name}.{what}"] = stacked(layers) if what in halves else stack._stacked(what)
            kept[what] = "stacked"
            continue
        indices: list[int] = []
        distinct: list[np.ndarray] = []
        for array in layers:
            if array is None:
                indices.append(-1)
                continue
            known = next((i for i, other in enumerate(distinct) if other is array), len(distinct))
            if known == len(distinct):
                distinct.append(array)
                arrays[f"{stack.name}.{what}.{known}"] = np.ascontiguousarray(array)
            indices.append(known)
        kept[what] = indices

    return {
        "query_text": index_of(stack.query_text, texts),
        "key_text": index_of(stack.key_text, texts),
        "layers": list(stack.layers),
        "scales": list(stack.scales),
        "plain": stack.plain,
        "sink": stack.sink,
        "level": stack.level,
        "heads": list(stack.heads),
        "rows": list(stack.rows),
        "why_missing": to_json(stack.why_missing),
        "kept": kept,
        "halves": halves,
    }


def open_trace(path: str | Path) -> Trace:
    """Read a trace that `trace.save` wrote. Damaged, truncated or foreign files are refused by name, never half-read."""
    path = as_path(path)
    sealed = read_sealed(path, TRACE)
    header, arrays = sealed.header, sealed.arrays
    try:
        texts = [TokenizedText.from_json(text) for text in header["texts"]]
        stacks = {name: _restore(name, data, texts, arrays) for name, data in header["stacks"].items()}
        about = header["about"]
        if "notices" in about:
            about["notices"] = [Message.from_json(notice) for notice in about["notices"]]
        return Trace(header["model"], stacks, about, Prediction.from_json(header.get("prediction")))
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise TRACE.damaged(path, f"{type(error).__name__}: {error}") from error


def _restore(name: str, data: dict[str, Any], texts: list[TokenizedText], arrays: dict[str, np.ndarray]) -> Stack:
    by_layer: dict[str, Any] = {}
    halves = data.get("halves", {})  # since format 3, as heads and rows
    for what, indices in data["kept"].items():
        if what not in ARRAYS:
            raise ValueError(f"unknown array {what!r}")
        if indices == "stacked":
            by_layer[f"{what}_by_layer"] = tuple(arrays[f"{name}.{what}"])
        else:
            by_layer[f"{what}_by_layer"] = tuple(None if i < 0 else arrays[f"{name}.{what}.{i}"] for i in indices)
        if what in halves:
            by_layer[f"{what}_by_layer"] = HalfLayers(by_layer[f"{what}_by_layer"])
            if by_layer[f"{what}_by_layer"].precision != halves[what]:
                raise ValueError(f"{what} in {halves[what]}, and arrays of another type")
    return Stack(
        name=name,
        query_text=texts[data["query_text"]],
        key_text=texts[data["key_text"]],
        layers=tuple(data["layers"]),
        scales=tuple(data["scales"]),
        plain=data["plain"],
        sink=data.get("sink", False),
        level=data["level"],
        heads=tuple(data.get("heads", ())),
        rows=tuple(data.get("rows", ())),
        why_missing=Message.from_json(data["why_missing"]),
        **by_layer,
    )
