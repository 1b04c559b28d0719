"""The attention of one text: plain NumPy arrays with the tokens they belong to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from eyeline.capture.answer.prediction import Prediction
from eyeline.capture.arrays import stack_from_arrays
from eyeline.capture.quantity import KEY, Quantity
from eyeline.capture.sources.nnsight import saved_attention
from eyeline.capture.sources.outputs import stacks_of_outputs
from eyeline.capture.sources.transformer_lens import name_in, stacks_of_cache
from eyeline.capture.stack import Stack
from eyeline.capture.trace_facts import TraceFacts
from eyeline.capture.trace_file import write_trace
from eyeline.errors import Advice, TraceError
from eyeline.text.tokenized import TokenizedText


@dataclass(frozen=True)
class Trace:
    """What a model's attention did on one text, or one pair of texts.

    Models with one tower answer `trace.weights` directly; encoder-decoder models have `trace.encoder`, `trace.decoder` and
    `trace.cross`, each with its own queries' and keys' tokens. `prediction` is what the model answered; None for a model without a head,
    a masked language model without a mask in the text, and files of older versions. `about`: see `TraceFacts`.
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
    def notices(self) -> tuple[str, ...]:
        """What a reader should know: attention that cannot be shown, a text that the tokeniser does not know."""
        return tuple(map(str, self.about.get("notices", ())))

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
        """[layer, head, query, dim]: o_i = Σ_j a_ij · v_j, what each head writes, before the output projection"""
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
        model: str = "transformers",
    ) -> Trace:
        """A trace from what a model of transformers returned with `output_attentions=True`, or from its attentions alone.

        outputs         of one text: of the model, or of `generate(…, return_dict_in_generate=True)`, whose steps are joined
        tokens          of the text (of the encoder): tokenizer.convert_ids_to_tokens(input_ids[0]); of `generate`: without the last token
        decoder_tokens  of the decoder, in a model with two towers
        second_from     where the second text of a pair begins

        `el.wrap(model, tokenizer).trace(text)` records more: words, queries, keys and values, and the model's answer.
        """
        return cls(model=model, stacks=stacks_of_outputs(outputs, tokens, decoder_tokens, second_from))

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
