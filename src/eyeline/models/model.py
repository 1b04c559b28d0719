"""A loaded model whose attention can be recorded: from texts to traces, or to a stream of layers."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from eyeline.capture.collect import Collector, Sides
from eyeline.capture.inputs import batch_inputs, check_memory, check_tensors, longest_text, probe_inputs
from eyeline.capture.layer import LayerAttention, LayerScores, Receive, ReceiveScores
from eyeline.capture.layout import Slot, settle_layout
from eyeline.capture.recorder import Call, ScoreTerms, recording, recording_scores
from eyeline.capture.selection import check_keep, check_layers
from eyeline.capture.sides import SidesReader, Source, as_source, as_sources, as_words, label_positions
from eyeline.capture.tiny_pass import lean_pass
from eyeline.capture.trace import KEEPABLE, Trace
from eyeline.errors import EyelineError, ModelError
from eyeline.models.fingerprint import Fingerprint
from eyeline.text.batches import batches
from eyeline.version import __version__

if TYPE_CHECKING:
    from eyeline.models.trace_cache import TraceCache

#: Texts go through the model in batches of at most this many texts and tokens, padding included.
BATCH_TEXTS, BATCH_TOKENS = 32, 4096


@dataclass(frozen=True)
class Gives:
    """What can be had from a model."""

    stacks: Mapping[str, tuple[int, int, int]]  # stack → layers, heads, key heads (of the first layer)
    recorded: bool
    plain: bool
    streamed: bool  # whether its attention can run through a fused kernel, so that no map is made

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
        return f"<eyeline model {self.name}: {stacks}; gives {self.gives}>"

    @property
    def gives(self) -> Gives:
        layout = self.layout
        stacks = {s: (layout.n_layers(s), layout.n_heads(s)[0], layout.n_key_heads(s)[0]) for s in layout.stacks}
        plain = all(bool(layout.plain(s)) for s in layout.stacks)
        return Gives(stacks, layout.recorded, plain, plain and bool(self.hf._supports_sdpa))

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

        text, pair        the texts; an encoder-decoder model reads `text` and has written `pair` (left out
                          or empty: it writes one itself)
        words, pair_words the same as lists of words, where the words are known (treebanks)
        layers            which layers to keep; all of them otherwise
        keep              any of weights, queries, keys, values: what is not kept is never copied
        truncate          cut a text that is longer than the model takes; otherwise that is an error
        """
        source = Source(text, pair, as_words(words), as_words(pair_words))
        return self._traces([source], layers, keep, truncate)[0]

    def traces(
        self,
        texts: Iterable[str | tuple[str, str] | list[str]],
        *,
        layers: Iterable[int] | None = None,
        keep: Collection[str] = KEEPABLE,
        truncate: bool = False,
    ) -> list[Trace]:
        """A trace for each text, in order: a string, a pair of strings (a tuple) or a list of words. Padding never shows."""
        return self._traces(as_sources(texts), layers, keep, truncate)

    def each_layer(
        self,
        texts: Iterable[str | tuple[str, str] | list[str]],
        receive: Receive,
        *,
        truncate: bool = False,
    ) -> None:
        """Hand every layer of every batch to `receive` as it comes, and keep none: memory does not grow with the layers."""
        read = [self._sides.read(source, truncate) for source in as_sources(texts)]
        for batch in self.in_batches(read):
            self._run([read[i] for i in batch], receive)

    def read(self, item: str | tuple[str, str] | list[str], *, truncate: bool = False) -> Sides:
        """The tokens of a text, a pair or a list of words, as the model reads them."""
        return self._sides.read(as_source(item), truncate)

    def stream_layers(self, sides: Sequence[Sides], receive: Receive, *, rows: int | None = None) -> None:
        """One forward pass over one batch of texts that were read; each layer goes to `receive` while it is there.

        With `rows`, a layer with more queries comes so many rows at a time and its map is never whole (models that can be recorded)."""
        self._run(sides, receive, rows)

    def stream_scores(self, sides: Sequence[Sides], receive: ReceiveScores) -> None:
        """The same without ever forming a map: for models whose attention is plain softmax, and that transformers itself lets run through
        a fused kernel (`model.gives.streamed`)."""
        if not self.gives.streamed:
            why = (
                f"transformers runs {self.name} through no fused kernel (SDPA)" if self.gives.plain else "it is more than a softmax of q·k"
            )
            raise ModelError(f"The attention of {self.name} cannot be streamed: {why}.", "Ask for its maps: model.stream_layers.")
        done = iter(self.layout.calls)

        def receive_call(seen: ScoreTerms) -> None:
            slot = next(done, None)
            if slot is not None:
                texts = [side.of(slot.stack) for side in sides]
                lengths = tuple(len(query) for query, _ in texts), tuple(len(key) for _, key in texts)
                terms = (seen.queries, seen.keys, seen.mask, seen.bias, seen.scale, seen.causal)
                receive(LayerScores(slot.stack, slot.layer, *terms, *lengths))

        pad = getattr(self.tokenizer, "pad_token_id", None) or 0
        with torch.inference_mode(), recording_scores(receive_call, self.layout.causal):
            self.hf(**batch_inputs(self.hf, self.tokenizer, sides, pad), **lean_pass(self.hf))

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
        tensors = check_tensors(inputs)
        try:
            self._forward({name: tensor.to(self.hf.device) for name, tensor in tensors.items()}, None, collector.receive)
        except (TypeError, ValueError, RuntimeError, IndexError) as error:
            if isinstance(error, EyelineError):
                raise
            raise ModelError(
                f"{self.name} could not be run on these tensors.",
                f"{type(error).__name__}: {' '.join(str(error).split())[:300]}",
                f"It reads {self.hf.main_input_name!r}, a batch of one.",
            ) from error
        sides = label_positions(collector.sizes, inputs, tokens, self.tokenizer)
        return Trace(self.name, collector.stacks(0, sides), self._about(sides))

    def _traces(self, sources: Sequence[Source], layers: Iterable[int] | None, keep: Collection[str], truncate: bool) -> list[Trace]:
        chosen, keep = check_layers(self.layout, layers), check_keep(keep, self.layout)
        found: dict[int, Trace] = {}
        keys: list[str] = []
        if self.cache is not None:
            options = {"layers": chosen, "keep": sorted(keep), "truncate": truncate, "longest": self.max_tokens}
            if self.hf.can_generate():
                options["writes"] = self.hf.generation_config.to_dict()
            keys = [self.cache.key(self.fingerprint, source, options) for source in sources]
            hits = {i: trace for i, key in enumerate(keys) if (trace := self.cache.get(key)) is not None}
            found = {i: replace(trace, model=self.name, about={**trace.about, "model": self.name}) for i, trace in hits.items()}
        missing = [i for i in range(len(sources)) if i not in found]
        read = {i: self._sides.read(sources[i], truncate) for i in missing}
        check_memory(self.layout, chosen, keep, read.values())
        for batch in self.in_batches([read[i] for i in missing]):
            indices = [missing[i] for i in batch]
            sides = [read[i] for i in indices]
            collector = Collector(self.layout, chosen, keep)
            self._run(sides, collector.receive)
            for place, i in enumerate(indices):
                found[i] = Trace(self.name, collector.stacks(place, sides[place]), self._about(sides[place]))
                if self.cache is not None:
                    self.cache.put(keys[i], found[i])
        return [found[i] for i in range(len(sources))]

    def in_batches(self, read: Sequence[Sides], max_tokens: int = BATCH_TOKENS) -> list[list[int]]:
        """Indices of texts that may go through the model together: of similar length, or of one length where padding would show."""
        if not self.layout.padding_shows:
            return batches([len(side.source) for side in read], max_batch=BATCH_TEXTS, max_tokens=max_tokens)
        alike: dict[tuple[int, int], list[int]] = {}
        for i, side in enumerate(read):
            alike.setdefault((len(side.source), len(side.target or ())), []).append(i)
        return [
            [same[i] for i in batch]
            for same in alike.values()
            for batch in batches([len(read[i].source) for i in same], max_batch=BATCH_TEXTS, max_tokens=max_tokens)
        ]

    def _run(self, sides: Sequence[Sides], receive: Receive, rows: int | None = None) -> None:
        pad = getattr(self.tokenizer, "pad_token_id", None) or 0
        self._forward(batch_inputs(self.hf, self.tokenizer, sides, pad), sides, receive, rows)

    def _forward(
        self, inputs: Mapping[str, torch.Tensor], sides: Sequence[Sides] | None, receive: Receive, rows: int | None = None
    ) -> None:
        """One forward pass; each layer goes to `receive` while it is there."""
        done = iter(self.layout.calls)
        slot: Slot | None = None

        def receive_call(call: Call) -> None:
            nonlocal slot
            slot = next(done, None) if call.first == 0 else slot
            if slot is not None:
                receive(_layer(slot.stack, slot.layer, call.weights, sides, call))

        options = lean_pass(self.hf)
        with torch.inference_mode():
            if self.layout.recorded:
                with recording(receive_call, rows):
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

    def _about(self, sides: Sides) -> dict[str, Any]:
        return {
            "model": self.name,
            "revision": self.revision,
            "class": type(self.hf).__name__,
            "dtype": str(self.hf.dtype).removeprefix("torch."),
            "tokens": len(sides.source) + (len(sides.target) if sides.target else 0),
            "eyeline": __version__,
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
