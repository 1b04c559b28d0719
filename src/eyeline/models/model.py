"""A loaded model whose attention can be recorded: from texts to traces, to a stream of layers, or to the model's answer."""

from __future__ import annotations

import copy
import logging
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from eyeline.capture.answer.layer_effects import LayerEffects
from eyeline.capture.answer.prediction import Prediction
from eyeline.capture.collect import Sides
from eyeline.capture.inputs import longest_input, longest_text
from eyeline.capture.interventions.check import as_interventions
from eyeline.capture.interventions.records import Intervention
from eyeline.capture.interventions.same_model import check_same_model
from eyeline.capture.layer import Receive, ReceiveScores
from eyeline.capture.layout import Gives
from eyeline.capture.model_state import EvaluationMode, restored_on_failure
from eyeline.capture.opening.settle import settled
from eyeline.capture.sides import SidesReader, Source, as_source, as_sources, as_words
from eyeline.capture.trace import Trace
from eyeline.capture.trace_file import KEEPABLE
from eyeline.errors import ModelError
from eyeline.measures.kernels.one_pass import KeySets
from eyeline.models.answer.effects import head_effects, sides_of
from eyeline.models.answer.predict import TOP, Answerer
from eyeline.models.fingerprint import Fingerprint, WeightsName
from eyeline.models.passes import Passes
from eyeline.models.tracing import BATCH_TOKENS, Tracer

if TYPE_CHECKING:
    from eyeline.models.trace_cache import TraceCache

log = logging.getLogger("eyeline")


@dataclass(frozen=True)
class ModelSource:
    """How a model was opened by name, so that another process can open the same one: the arguments of `load`.

    dtype   of the weights as they were opened, such as float32
    """

    name: str
    device: str
    dtype: str
    revision: str | None = None
    trust_remote_code: bool = False


class Model:
    """A Hugging Face model and its tokeniser, checked against the model's own attention when it was opened.

    `hf` is the transformers model itself, `layout` says which layers and heads it has, `max_tokens` how long a text may be, `source` how
    it was opened by name (None: it was in memory already).
    """

    def __init__(
        self,
        hf: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase | None,
        *,
        name: str,
        revision: str | None = None,
        cache: TraceCache | None = None,
        source: ModelSource | None = None,
    ) -> None:
        _check_weights_are_here(hf, name)
        self.hf = hf
        self.tokenizer = tokenizer
        self.name = name
        self.revision = revision
        self.cache = cache
        self.source = source
        evaluation = EvaluationMode(hf)
        with restored_on_failure(hf), evaluation.for_a_pass():
            self.layout, self._body = settled(hf, tokenizer)
            self.max_tokens = longest_text(hf, tokenizer)
        self._connect(evaluation)

    def _connect(self, evaluation: EvaluationMode) -> None:
        """What belongs to this process: locks, and what holds them."""
        self.evaluation = evaluation
        self.fingerprint = Fingerprint(self.hf, self.tokenizer)
        self.passes = Passes(self.hf, self._body, self.tokenizer, self.name, self.layout, evaluation)
        self._sides = SidesReader(self.hf, self.tokenizer, self.name, self.max_tokens, evaluation, threading.Lock())
        self._answerer = Answerer(self.passes)
        self._weights_name = WeightsName(self._body)
        self._tracer = Tracer(self.passes, self._sides, self._answerer, self.revision, self._weights_name)

    def __deepcopy__(self, memo: dict[int, Any]) -> Model:
        """A model of its own, with weights of its own; it is not checked again."""
        other = object.__new__(Model)
        other.hf, other.tokenizer = copy.deepcopy(self.hf, memo), copy.deepcopy(self.tokenizer, memo)
        other.name, other.revision, other.cache, other.source = self.name, self.revision, self.cache, self.source
        other.layout, other.max_tokens = self.layout, self.max_tokens
        other._body = other.hf if self._body is self.hf else other.hf.base_model
        other._connect(EvaluationMode(other.hf))
        return other

    def __reduce__(self) -> Any:
        raise ModelError(
            f"{self.name}: an open model cannot be pickled.",
            "Save its weights (model.hf.save_pretrained(folder), model.tokenizer.save_pretrained(folder)) and open them: el.load(folder).",
        )

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
        interventions: Intervention | Sequence[Intervention] = (),
    ) -> Trace:
        """The attention of one text, or of a pair of texts.

        text, pair        the texts; an encoder-decoder model reads `text` and has written `pair` (left out
                          or empty: it writes one itself)
        words, pair_words the same as lists of words, where the words are known (treebanks)
        layers            which layers to keep; all of them otherwise
        keep              any of weights, queries, keys, values: what is not kept is never copied
        truncate          cut a text that is longer than the model takes; otherwise that is an error
        interventions     what is changed inside the model for this pass alone: el.Ablate, el.Scale, el.KnockOut, el.ZeroValues,
                          el.Patch. The trace holds the queries, keys, values and weights of the changed pass; `about` names the changes
        """
        source = Source(text, pair, as_words(words), as_words(pair_words))
        changes = self._changes(interventions)
        if changes:
            return self._tracer.changed_trace(source, changes, layers, keep, truncate)
        return self._tracer.traces([source], layers, keep, truncate, self._usable_cache(), self.fingerprint)[0]

    def traces(
        self,
        texts: Iterable[str | tuple[str, str] | list[str]],
        *,
        layers: Iterable[int] | None = None,
        keep: Collection[str] = KEEPABLE,
        truncate: bool = False,
    ) -> list[Trace]:
        """A trace for each text, in order: a string, a pair of strings (a tuple) or a list of words. Padding never shows."""
        return self._tracer.traces(as_sources(texts), layers, keep, truncate, self._usable_cache(), self.fingerprint)

    def predict(
        self,
        text: str | None = None,
        pair: str | None = None,
        *,
        words: Sequence[str] | None = None,
        pair_words: Sequence[str] | None = None,
        truncate: bool = False,
        interventions: Intervention | Sequence[Intervention] = (),
        top: int = TOP,
    ) -> Prediction:
        """What the model answers: labels with probabilities, tokens at a mask or at the end, an answer within the second text.

        text, pair, words, truncate   as for `trace`
        interventions                 what is changed inside the model for this pass alone, as for `trace`
        top                           how many tokens, labels or spans to name
        """
        sides = self._sides.read(Source(text, pair, as_words(words), as_words(pair_words)), truncate)
        return self._answerer.predict(sides, self._changes(interventions), top)

    def predict_again(self, trace: Trace, interventions: Intervention | Sequence[Intervention] = (), top: int = TOP) -> Prediction:
        """What the model answers to the text of a trace, while it is changed: the same tokens, not read again."""
        return self._answerer.predict(sides_of(trace), self._changes(interventions), top)

    @property
    def answers_at_masks(self) -> bool:
        """Whether it is a masked language model: it answers at the mask tokens of a text."""
        return self._answerer.is_masked

    def answer_to(self, sides: Sides) -> Prediction | None:
        """What the model answers to a text that was read; None where it has no head, or the text no mask to answer at."""
        return self._answerer.answer_to(sides)

    def _changes(self, interventions: Intervention | Sequence[Intervention]) -> tuple[Intervention, ...]:
        changes = as_interventions(interventions)
        if changes:  # the name of the weights walks through all of them
            check_same_model(changes, str(self._weights_name), self.name)
        return changes

    def head_effects(self, trace: Trace) -> list[LayerEffects]:
        """What becomes of the answer to the text of a trace when each head alone is switched off (z_h := 0): for each stack and layer,
        the probability of the most probable token or label, one number per head."""
        return head_effects(self.passes, self._answerer, sides_of(trace))

    @property
    def mask_token(self) -> str | None:
        """What a masked language model completes, such as [MASK]; None for other models."""
        return getattr(self.tokenizer, "mask_token", None) if self._answerer.is_masked else None

    def each_layer(
        self,
        texts: Iterable[str | tuple[str, str] | list[str]],
        receive: Receive,
        *,
        truncate: bool = False,
    ) -> None:
        """Give every layer of every batch to `receive` as it comes, and keep none: memory does not grow with the layers."""
        read = [self._sides.read(source, truncate) for source in as_sources(texts)]
        for batch in self.in_batches(read):
            self.stream_layers([read[i] for i in batch], receive)

    def read(self, item: str | tuple[str, str] | list[str], *, truncate: bool = False) -> Sides:
        """The tokens of a text, a pair or a list of words, as the model reads them."""
        return self._sides.read(as_source(item), truncate)

    def stream_layers(self, sides: Sequence[Sides], receive: Receive, *, rows: int | None = None) -> None:
        """One forward pass over one batch of texts that were read; each layer goes to `receive` while it is there.

        With `rows`, a layer with more queries comes this many rows at a time, and its map is never whole (models that can be recorded)."""
        self.passes.layers(self.passes.inputs(sides), sides, receive, rows)

    def stream_scores(self, sides: Sequence[Sides], receive: ReceiveScores, sets: Mapping[tuple[str, int], KeySets] | None = None) -> None:
        """The same without ever forming a map: for models whose attention is plain softmax, and that transformers itself lets run through
        a fused kernel (`model.gives.streamed`). sets: of keys, by stack and layer; those layers come with the numbers of their rows."""
        if not self.gives.streamed:
            why = (
                f"transformers runs {self.name} through no fused kernel (SDPA)" if self.gives.plain else "it is more than a softmax of q·k"
            )
            raise ModelError(f"The attention of {self.name} cannot be streamed: {why}.", "Ask for its maps: model.stream_layers.")
        self.passes.scores(sides, receive, sets)

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
        return self._tracer.trace_inputs(inputs, tokens, layers, keep)

    def _usable_cache(self) -> TraceCache | None:
        """The cache, unless code of the user takes part in a pass: a later pass without it would be answered with these traces."""
        if self.cache is not None and self.fingerprint.has_hooks:
            log.warning("%s has forward hooks. What they change cannot be known, so its traces are not cached.", self.name)
            return None
        return self.cache

    def in_batches(self, read: Sequence[Sides], max_tokens: int = BATCH_TOKENS, max_texts: int | None = None) -> list[list[int]]:
        """Indices of texts that may go through the model together: of similar length, or of one length where padding would show."""
        return self._tracer.in_batches(read, max_tokens, max_texts)

    @property
    def longest_input(self) -> str:
        """The largest input that it reads, as a phrase: a text of 512 tokens, an image of 224 x 224 pixels."""
        return longest_input(self.hf, self.max_tokens)

    @property
    def notices(self) -> tuple[str, ...]:
        """What a user should know of this model's attention, such as maps that cannot be shown."""
        return self.layout.notices


def check_model(model: object) -> None:
    """Refuse anything else where an analysis takes an open model."""
    if not isinstance(model, Model):
        raise ModelError(f"A {type(model).__name__} where a model was expected.", "Open one: el.load(name), or el.wrap(hf, tokenizer).")


def _check_weights_are_here(hf: PreTrainedModel, name: str) -> None:
    """Refuse a model whose weights are elsewhere (offloaded to disk or to another device's memory): they are loaded one layer at a time."""
    away = next((parameter for parameter, tensor in hf.named_parameters() if tensor.is_meta), None)
    if away is not None:
        raise ModelError(
            f"The weights of {name} are not in memory: {away} is offloaded (device meta).",
            "Load the model whole, without offloading: el.load(name), or from_pretrained without device_map.",
        )
