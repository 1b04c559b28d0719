"""From texts to traces: what was traced before comes from the cache, the rest goes through the model in batches."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from eyeline.capture.collect import Collector, Sides
from eyeline.capture.inputs import check_memory, check_tensors
from eyeline.capture.interventions.records import Intervention
from eyeline.capture.interventions.same_model import WEIGHTS
from eyeline.capture.selection import check_keep, check_layers
from eyeline.capture.sides import SidesReader, Source, label_positions
from eyeline.capture.trace import Trace
from eyeline.capture.trace_facts import TraceFacts
from eyeline.errors import TraceError
from eyeline.models.answer.predict import Answerer
from eyeline.models.fingerprint import Fingerprint, WeightsName
from eyeline.models.passes import Passes
from eyeline.text.batches import batches
from eyeline.text.unknown import unknown_notices
from eyeline.version import __version__

if TYPE_CHECKING:
    from eyeline.models.trace_cache import TraceCache

#: Texts go through the model in batches of at most this many texts and tokens, padding included.
BATCH_TEXTS, BATCH_TOKENS = 32, 4096


@dataclass(frozen=True)
class Tracer:
    """Makes the traces of one model."""

    passes: Passes
    reader: SidesReader
    answerer: Answerer
    revision: str | None
    weights_name: WeightsName

    def traces(
        self,
        sources: Sequence[Source],
        layers: Iterable[int] | None,
        keep: Collection[str],
        truncate: bool,
        cache: TraceCache | None,
        fingerprint: Fingerprint,
    ) -> list[Trace]:
        """A trace for each text, in order."""
        layout, hf, name = self.passes.layout, self.passes.hf, self.passes.name
        chosen, keep = check_layers(layout, layers), check_keep(keep, layout)
        traces: dict[int, Trace] = {}
        keys: list[str] = []
        if cache is not None:
            options = {"layers": chosen, "keep": sorted(keep), "truncate": truncate, "longest": self.reader.max_tokens}
            if hf.can_generate():
                options["writes"] = hf.generation_config.to_dict()
            keys = [cache.key(fingerprint, source, options) for source in sources]
            hits = {i: trace for i, key in enumerate(keys) if (trace := cache.get(key)) is not None}
            traces = {i: replace(trace, model=name, about={**trace.about, "model": name}) for i, trace in hits.items()}
        missing = [i for i in range(len(sources)) if i not in traces]
        read = {i: self.reader.read(sources[i], truncate) for i in missing}
        check_memory(layout, chosen, keep, read.values())
        for batch in self.in_batches([read[i] for i in missing]):
            indices = [missing[i] for i in batch]
            new = self._trace_batch([read[i] for i in indices], chosen, keep)
            for i, trace in zip(indices, new, strict=True):
                traces[i] = trace
                if cache is not None:
                    cache.put(keys[i], trace)
        return [traces[i] for i in range(len(sources))]

    def _trace_batch(
        self, sides: Sequence[Sides], chosen: dict[str, tuple[int, ...]], keep: Collection[str], changes: tuple[Intervention, ...] = ()
    ) -> list[Trace]:
        collector = Collector(self.passes.layout, chosen, keep)
        inputs = self.passes.inputs(sides)
        result = self.passes.layers(inputs, sides, collector.receive, interventions=changes)
        answers = self.answerer.answers(result, inputs, sides)
        return [
            Trace(self.passes.name, collector.stacks(i, side), self._about(side), answer)
            for i, (side, answer) in enumerate(zip(sides, answers, strict=True))
        ]

    def changed_trace(
        self, source: Source, changes: tuple[Intervention, ...], layers: Iterable[int] | None, keep: Collection[str], truncate: bool
    ) -> Trace:
        """The attention of one text while the model is changed: never from the cache, and never kept there."""
        layout = self.passes.layout
        chosen, keep = check_layers(layout, layers), check_keep(keep, layout)
        sides = self.reader.read(source, truncate)
        check_memory(layout, chosen, keep, [sides])
        trace = self._trace_batch([sides], chosen, keep, changes)[0]
        names = [str(change) for change in changes]
        if not all(np.isfinite(weights).all() for stack in trace.stacks.values() for weights in stack.weights_by_layer):
            raise TraceError(f"With {'; '.join(names)} the model computes nan or infinite.", "Scale by a smaller number.")
        notices = [*trace.notices, *(f"The model was changed for this pass: {change}." for change in names)]
        return replace(trace, about={**trace.about, "interventions": names, "notices": notices})

    def trace_inputs(
        self, inputs: Mapping[str, torch.Tensor], tokens: Sequence[str] | None, layers: Iterable[int] | None, keep: Collection[str]
    ) -> Trace:
        """The attention on one input given as tensors."""
        layout, hf, name = self.passes.layout, self.passes.hf, self.passes.name
        chosen, keep = check_layers(layout, layers), check_keep(keep, layout)
        collector = Collector(layout, chosen, keep)
        tensors = {key: tensor.to(hf.device) for key, tensor in check_tensors(inputs).items()}
        result = self.passes.layers(tensors, None, collector.receive)
        sides = label_positions(collector.sizes, inputs, tokens, self.passes.tokenizer)
        return Trace(name, collector.stacks(0, sides), self._about(sides), self.answerer.answers(result, tensors, [sides])[0])

    def in_batches(self, read: Sequence[Sides], max_tokens: int = BATCH_TOKENS, max_texts: int | None = None) -> list[list[int]]:
        """Indices of texts that may go through the model together: of similar length, or of one length where padding would show."""
        if not self.passes.layout.padding_shows:
            return batches([len(side.source) for side in read], max_batch=max_texts or BATCH_TEXTS, max_tokens=max_tokens)
        by_length: dict[tuple[int, int], list[int]] = {}
        for i, side in enumerate(read):
            by_length.setdefault((len(side.source), len(side.target or ())), []).append(i)
        return [
            [same[i] for i in batch]
            for same in by_length.values()
            for batch in batches([len(read[i].source) for i in same], max_batch=max_texts or BATCH_TEXTS, max_tokens=max_tokens)
        ]

    def _about(self, sides: Sides) -> TraceFacts:
        texts = [sides.source, *([] if sides.target is None else [sides.target])]
        return {
            "model": self.passes.name,
            "revision": self.revision,
            "class": type(self.passes.hf).__name__,
            "dtype": str(self.passes.hf.dtype).removeprefix("torch."),
            "tokens": len(sides.source) + (len(sides.target) if sides.target else 0),
            WEIGHTS: str(self.weights_name),
            "eyeline": __version__,
            "notices": [*self.passes.layout.notices, *unknown_notices(texts, self.passes.tokenizer)],
        }
