"""A loaded model whose attention can be recorded: from texts to traces, or to a stream of layers."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from sightline.capture.collect import Collector, Sides
from sightline.capture.fingerprint import Fingerprint
from sightline.capture.inputs import batch_inputs, longest_text, probe_inputs
from sightline.capture.layer import LayerAttention, LayerScores, Receive, ReceiveScores
from sightline.capture.layout import Slot, settle_layout
from sightline.capture.recorder import Call, Ingredients, glancing, recording
from sightline.capture.selection import check_keep, check_layers
from sightline.capture.sides import SidesReader, Source, as_source, label_positions
from sightline.capture.trace import KEEPABLE, Trace
from sightline.errors import ModelError
from sightline.text.batches import batches

if TYPE_CHECKING:
    from sightline.capture.cache import TraceCache

#: Texts go through the model in batches of at most this many texts and tokens, padding included.
BATCH_TEXTS, BATCH_TOKENS = 32, 4096


@dataclass(frozen=True)
class Gives:
    """What can be had from a model."""

    stacks: Mapping[str, tuple[int, int, int]]  # stack → layers, heads, key heads (of the first layer)
    recorded: bool
    plain: bool

    def __str__(self) -> str:
        return "weights, queries, keys, values" if self.recorded else "weights only"


class Model:
    """A Hugging Face model and its tokeniser, checked against the model's own attention when it was opened.

    `hf` is the transformers model itself, `layout` says which layers and heads it has, `max_tokens` how long a text may be.
    """

    def __init__(
        self,
        hf: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase | None,
        *,
        name: str,
        revision: str | None = None,
        cache: TraceCache | None = None,
    ) -> None:
        self.hf = hf.eval()
        self.tokenizer = tokenizer
        self.name = name
        self.revision = revision
        self.cache = cache
        self.layout = settle_layout(self.hf, probe_inputs(self.hf, tokenizer))
        self.max_tokens = longest_text(self.hf, tokenizer)
        self.fingerprint = Fingerprint(self.hf, tokenizer)
        self._sides = SidesReader(self.hf, tokenizer, self.name, self.max_tokens, threading.Lock())

    def __repr__(self) -> str:
        stacks = ", ".join(f"{stack} {n} x {heads}" for stack, (n, heads, _) in self.gives.stacks.items())
        return f"<sightline model {self.name}: {stacks}; gives {self.gives}>"

    @property
    def gives(self) -> Gives:
        layout = self.layout
        stacks = {s: (layout.n_layers(s), layout.n_heads(s)[0], layout.n_key_heads(s)[0]) for s in layout.stacks}
        return Gives(stacks, layout.recorded, all(bool(layout.plain(s)) for s in layout.stacks))

    def trace(
        self,
        text: str | None = None,
        pair: str | None = None,
        *,
        words: Sequence[str] | None = None,
        pair_words: Sequence[str] | None = None,
        layers: Iterable[int] | None = None,
        keep: Collection[str] = KEEPABLE,
        truncate: bool = False,
    ) -> Trace:
        """The attention of one text, or of a pair of texts.

        text, pair        the texts; an encoder-decoder model reads `text` and has written `pair` (left out: it writes one itself)
        words, pair_words the same as lists of words, where the words are known (treebanks)
        layers            which layers to keep; all of them otherwise
        keep              any of weights, queries, keys, values: what is not kept is never copied
        truncate          cut a text that is longer than the model takes; otherwise that is an error
        """
        return self._traces([Source(text, pair, words, pair_words)], layers, keep, truncate)[0]

    def traces(
        self,
        texts: Iterable[str | tuple[str, str] | list[str]],
        *,
        layers: Iterable[int] | None = None,
        keep: Collection[str] = KEEPABLE,
        truncate: bool = False,
    ) -> list[Trace]:
        """A trace for each text, in order: a string, a pair of strings (a tuple) or a list of words. Padding never shows."""
        return self._traces([as_source(item) for item in texts], layers, keep, truncate)

    def each_layer(
        self,
        texts: Iterable[str | tuple[str, str] | list[str]],
        receive: Receive,
        *,
        truncate: bool = False,
    ) -> None:
        """Hand every layer of every batch to `receive` as it comes, and keep none: memory does not grow with the layers."""
        read = [self._sides.read(as_source(item), truncate) for item in texts]
        for batch in batches([len(side.source) for side in read], max_batch=BATCH_TEXTS, max_tokens=BATCH_TOKENS):
            self._run([read[i] for i in batch], receive)

    def read(self, item: str | tuple[str, str] | list[str], *, truncate: bool = False) -> Sides:
        """The tokens of a text, a pair or a list of words, as the model reads them."""
        return self._sides.read(as_source(item), truncate)

    def hand_layers(self, sides: Sequence[Sides], receive: Receive, *, rows: int | None = None) -> None:
        """One forward pass over one batch of texts that were read; each layer goes to `receive` while it is there.

        With `rows`, a layer with more queries comes so many rows at a time and its map is never whole (models that can be recorded)."""
        self._run(sides, receive, rows)

    def hand_scores(self, sides: Sequence[Sides], receive: ReceiveScores) -> None:
        """The same without ever forming a map: for models whose attention is plain softmax (`model.gives.plain`)."""
        if not self.gives.plain:
            raise ModelError(f"The attention of {self.name} is more than a softmax of q·k.", "Ask for its maps: model.hand_layers.")
        done = iter(self.layout.calls)

        def hand_on(seen: Ingredients) -> None:
            slot = next(done, None)
            if slot is not None:
                texts = [side.of(slot.stack) for side in sides]
                lengths = tuple(len(query) for query, _ in texts), tuple(len(key) for _, key in texts)
                terms = (seen.queries, seen.keys, seen.mask, seen.bias, seen.scale, seen.causal)
                receive(LayerScores(slot.stack, slot.layer, *terms, *lengths))

        pad = getattr(self.tokenizer, "pad_token_id", None) or 0
        with torch.inference_mode(), glancing(hand_on):
            self.hf(**batch_inputs(self.hf, self.tokenizer, sides, pad), **self._options())

    def trace_inputs(
        self,
        inputs: Mapping[str, torch.Tensor],
        *,
        tokens: Sequence[str] | None = None,
        layers: Iterable[int] | None = None,
        keep: Collection[str] = KEEPABLE,
    ) -> Trace:
        """The attention on one input given as tensors (images, sound, ids), batch size 1, without padding.

        `tokens` names the positions that the encoder reads; positions are numbered where there are no names and no ids.
        """
        chosen, keep = check_layers(self.layout, layers), check_keep(keep, self.layout)
        collector = Collector(self.layout, chosen, keep)
        self._forward({name: tensor.to(self.hf.device) for name, tensor in inputs.items()}, None, collector.receive)
        sides = label_positions(collector.sizes, inputs, tokens, self.tokenizer)
        return Trace(self.name, collector.stacks(0, sides), self._about(sides))

    def _traces(self, sources: Sequence[Source], layers: Iterable[int] | None, keep: Collection[str], truncate: bool) -> list[Trace]:
        chosen, keep = check_layers(self.layout, layers), check_keep(keep, self.layout)
        found: dict[int, Trace] = {}
        keys: list[str] = []
        if self.cache is not None:
            options = {"layers": chosen, "keep": sorted(keep), "truncate": truncate}
            keys = [self.cache.key(self.fingerprint, source, options) for source in sources]
            found = {i: trace for i, key in enumerate(keys) if (trace := self.cache.get(key)) is not None}
        missing = [i for i in range(len(sources)) if i not in found]
        read = {i: self._sides.read(sources[i], truncate) for i in missing}
        for batch in batches([len(read[i].source) for i in missing], max_batch=BATCH_TEXTS, max_tokens=BATCH_TOKENS):
            indices = [missing[i] for i in batch]
            sides = [read[i] for i in indices]
            collector = Collector(self.layout, chosen, keep)
            self._run(sides, collector.receive)
            for place, i in enumerate(indices):
                found[i] = Trace(self.name, collector.stacks(place, sides[place]), self._about(sides[place]))
                if self.cache is not None:
                    self.cache.put(keys[i], found[i])
        return [found[i] for i in range(len(sources))]

    def _run(self, sides: Sequence[Sides], receive: Receive, rows: int | None = None) -> None:
        pad = getattr(self.tokenizer, "pad_token_id", None) or 0
        self._forward(batch_inputs(self.hf, self.tokenizer, sides, pad), sides, receive, rows)

    def _forward(
        self, inputs: Mapping[str, torch.Tensor], sides: Sequence[Sides] | None, receive: Receive, rows: int | None = None
    ) -> None:
        """One forward pass; each layer goes to `receive` while it is there."""
        done = iter(self.layout.calls)
        slot: Slot | None = None

        def hand_on(call: Call) -> None:
            nonlocal slot
            slot = next(done, None) if call.first == 0 else slot
            if slot is not None:
                receive(_layer(slot.stack, slot.layer, call.weights, sides, call))

        options = self._options()
        with torch.inference_mode():
            if self.layout.recorded:
                with recording(hand_on, rows):
                    self.hf(**inputs, **options)
                if next(done, "end") != "end":
                    raise ModelError(
                        f"{self.name} left out attention calls that it made when it was opened.", "Its layers cannot be told apart."
                    )
                return
            output = self.hf(**inputs, **options, output_attentions=True)
            for stack, name in self.layout.outputs.items():
                for layer, weights in enumerate(m for m in output[name] if m is not None):
                    receive(_layer(stack, layer, weights, sides, None))

    def _options(self) -> dict[str, Any]:
        return {"use_cache": False} if hasattr(self.hf.config, "use_cache") else {}

    def _about(self, sides: Sides) -> dict[str, Any]:
        from sightline import __version__

        return {
            "model": self.name,
            "revision": self.revision,
            "class": type(self.hf).__name__,
            "dtype": str(self.hf.dtype).removeprefix("torch."),
            "tokens": len(sides.source) + (len(sides.target) if sides.target else 0),
            "sightline": __version__,
        }


def _layer(stack: str, layer: int, weights: torch.Tensor, sides: Sequence[Sides] | None, call: Call | None) -> LayerAttention:
    texts = [] if sides is None else [side.of(stack) for side in sides]
    # without sides: tensors of one input, without padding
    n_queries = tuple(len(query) for query, _ in texts) or (weights.shape[2],)
    n_keys = tuple(len(key) for _, key in texts) or (weights.shape[3],)
    if call is None:
        return LayerAttention(stack, layer, weights, None, None, None, None, None, None, n_queries, n_keys)
    terms = (call.queries, call.keys, call.values, call.mask, call.bias, call.scale)
    return LayerAttention(stack, layer, weights, *terms, n_queries, n_keys, call.first, call.in_blocks)
