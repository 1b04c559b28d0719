"""A loaded model whose attention can be recorded: from texts to traces, to a stream of layers, or to the model's answer."""

from __future__ import annotations

import copy
import logging
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from eyeline.errors import ModelError, TextError, TraceError
from eyeline.look.answer import AnswerKind, LayerEffects, Prediction
from eyeline.look.generation import Generation
from eyeline.look.interventions import Intervention, check_same_model
from eyeline.look.trace import EVERYTHING, KEEPABLE, Selection, Trace
from eyeline.look.trace_cache import KeptTraces, ModelFiles, TraceCache
from eyeline.messages import Message
from eyeline.models.answer import TOP, Answerer, estimated_effects, example_of_trace, head_effects
from eyeline.models.attention import Receive
from eyeline.models.changes import as_interventions
from eyeline.models.context import context
from eyeline.models.evaluation import evaluating, use_implementation
from eyeline.models.generate import NEW_TOKENS, Writer, what_to_keep
from eyeline.models.identity import model_identity, weights_identity
from eyeline.models.inputs import Example, ExampleReader, longest_input, longest_text
from eyeline.models.layout import Capabilities
from eyeline.models.opening import layout_and_body
from eyeline.models.passes import Passes
from eyeline.models.tracing import Tracer, in_batches
from eyeline.text.conversation import Messages, NamedParts, is_conversation
from eyeline.text.source import Item, Source, as_source, as_sources, source_of

log = logging.getLogger("eyeline")


@dataclass(frozen=True)
class ModelSource:
    """How a model was opened by name, so that another process can open the same one: the arguments of `load`.

    dtype   of the weights as they were opened, such as float32
    adapter, options   as for `load`
    """

    name: str
    device: str
    dtype: str
    revision: str | None = None
    trust_remote_code: bool = False
    adapter: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


class Model:
    """A Hugging Face model and its tokeniser, checked against the model's own attention when it was opened.

    `hf` is the transformers model itself, `layout` says which layers and heads it has, `max_tokens` how long a text may be, `source` how
    it was opened by name (None: it was in memory already), `cache` where its traces are kept.

    Whoever takes `hf` or `tokenizer` may change them, in ways that nobody else can see. From then on no trace is kept on disk or taken from
    there, and the identity of the weights is computed each time it is needed. So code of eyeline uses `_hf` and `_tokenizer`, and changes
    neither.
    """

    cache: TraceCache | None = None
    _kept: KeptTraces | None = None
    _handed_out = False
    _known_weights: str | None = None

    def __init__(
        self,
        hf: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase | None,
        *,
        name: str,
        revision: str | None = None,
        source: ModelSource | None = None,
        files: ModelFiles | None = None,
    ) -> None:
        """files: that it was opened from, where nothing else has touched it."""
        _check_weights_are_here(hf, name)
        _keep_unpacked(hf, name)
        self._hf = hf
        self._tokenizer = tokenizer
        self.name = name
        self.revision = revision
        self.source = source
        self._files = files
        with evaluating(hf, alone=True):
            self.layout, self._body = layout_and_body(hf, tokenizer)
            self.max_tokens = longest_text(hf, tokenizer)
            use_implementation(hf, self.layout.implementation, force=self.layout.forced)
        self._connect()

    def _connect(self) -> None:
        """What belongs to this process: locks, and what holds them."""
        self._passes = Passes(self._hf, self._body, self._tokenizer, self.name, self.layout)
        self._reader = ExampleReader(self._hf, self._tokenizer, self.name, self.max_tokens, threading.Lock())
        self._answerer = Answerer(self._passes)
        self._writer = Writer(self._passes, self._reader)
        self._tracer = Tracer(self._passes, self._reader, self._answerer, self.revision, self.weights)

    @property
    def hf(self) -> PreTrainedModel:
        """The transformers model itself."""
        self._hand_out("hf")
        return self._hf

    @property
    def tokenizer(self) -> PreTrainedTokenizerBase | None:
        """Its tokeniser; None where it has none."""
        self._hand_out("tokenizer")
        return self._tokenizer

    @property
    def passes(self) -> Passes:
        """Runs the model; it holds the transformers model too."""
        self._hand_out("passes")
        return self._passes

    def keep_traces(self, cache: TraceCache, options: Mapping[str, Any]) -> None:
        """Keep traces of this model on disk, if it is known which files it was opened from. options: how it was opened."""
        self.cache = cache
        if self._files is None or self._handed_out:
            log.warning("Traces of %s are not kept on disk: whether it is still what its files hold cannot be known.", self.name)
        else:
            self._kept = KeptTraces(cache, self._files, options)

    def _hand_out(self, what: str) -> None:
        self._handed_out = True
        if self._kept is not None:
            log.warning(
                "Traces of %s are no longer kept on disk: model.%s was used, and what is changed in it cannot be known.", self.name, what
            )
            self._kept = None

    def weights(self) -> str:
        """The identity of the weights that compute attention: a checksum over all their bytes.

        A copy has the same, and so has a model with another head. It is remembered only as long as nobody else can have changed them:
        the model was opened from files, which are as they were, and was handed to nobody.
        """
        if self._handed_out or self._files is None or not self._files.are_unchanged():
            return weights_identity(self._body)
        if self._known_weights is None:
            self._known_weights = weights_identity(self._body)
        return self._known_weights

    def identity(self) -> str:
        """A checksum over everything that decides the numbers of this model as it is now.

        A run records it; resumed runs, workers and trained probes compare it."""
        return model_identity(self._hf, self._tokenizer)

    def __copy__(self) -> Model:
        """A second model of the same transformers model. No traces of either are kept, since each can change it for the other."""
        return self._second(self.hf, self.tokenizer, self._body)

    def __deepcopy__(self, memo: dict[int, Any]) -> Model:
        """A model of its own, with weights of its own; its traces are not kept."""
        hf, tokenizer = copy.deepcopy(self._hf, memo), copy.deepcopy(self._tokenizer, memo)
        return self._second(hf, tokenizer, copy.deepcopy(self._body, memo))

    def _second(self, hf: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None, body: PreTrainedModel) -> Model:
        """A model like this one, of this transformers model. It is not checked again."""
        other = object.__new__(Model)
        other._hf, other._tokenizer, other._body = hf, tokenizer, body
        other.name, other.revision, other.source = self.name, self.revision, self.source
        other.layout, other.max_tokens = self.layout, self.max_tokens
        other._files = None
        other._connect()
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
    def gives(self) -> Capabilities:
        """What it makes available."""
        return self._passes.gives

    def trace(
        self,
        text: str | Messages | None = None,
        pair: str | None = None,
        *,
        words: Sequence[str] | None = None,
        pair_words: Sequence[str] | None = None,
        parts: NamedParts | None = None,
        layers: Iterable[int] | None = None,
        heads: Iterable[int] | None = None,
        rows: Iterable[int] | None = None,
        keep: Collection[str] = KEEPABLE,
        precision: str = "auto",
        truncate: bool = False,
        interventions: Intervention | Sequence[Intervention] = (),
    ) -> Trace:
        """The attention of one text, of a pair of texts, or of a conversation.

        text, pair        the texts; an encoder-decoder model reads `text` and has written `pair` (left out
                          or empty: it writes one itself). A list of messages {"role": …, "content": …} is read as the model's chat
                          template writes it; `trace.text.parts` names its parts
        words, pair_words the same as lists of words, where the words are known (treebanks)
        parts             names for parts of the text, or for further parts of a conversation: characters (first, one after the last),
                          or words that stand in it once
        layers            which layers to keep; all of them otherwise
        heads             which heads of them to keep, the same in each; all of them otherwise
        rows              which queries to keep, by their positions in the text ([-1]: the last token); all of them otherwise. Maps are then
                          never made whole, so that a long text fits
        keep              any of weights, queries, keys, values: what is not kept is never copied
        precision         of the weights that are kept. "auto": as the model computes them, in 16 bits if it computes in half precision;
                          "float16": always in 16 bits, half of the memory (`about["rounded"]` is the largest change by it); "float32"
        truncate          cut a text that is longer than the model takes; otherwise that is an error
        interventions     what is changed inside the model for this pass alone: el.Ablate, el.Scale, el.KnockOut, el.ZeroValues,
                          el.Patch. The trace holds the queries, keys, values and weights of the changed pass; `about` names the changes
        """
        source = source_of(text, pair, words, pair_words, parts)
        changes = self._changes(interventions)
        if changes:
            return self._tracer.changed_trace(source, changes, Selection(layers, heads, rows, keep, precision), truncate)
        return self._kept_or_new([source], Selection(layers, heads, rows, keep, precision), truncate)[0]

    def traces(
        self,
        texts: Iterable[Item],
        *,
        layers: Iterable[int] | None = None,
        heads: Iterable[int] | None = None,
        rows: Iterable[int] | None = None,
        keep: Collection[str] = KEEPABLE,
        precision: str = "auto",
        truncate: bool = False,
    ) -> list[Trace]:
        """A trace for each text, in order: a string, a pair of strings (a tuple), a list of words or of messages. Padding never shows.

        The options are those of `trace`."""
        return self._kept_or_new(as_sources(texts), Selection(layers, heads, rows, keep, precision), truncate)

    def trace_source(self, source: Source, wanted: Selection = EVERYTHING, *, truncate: bool = False) -> Trace:
        """The same as `trace`, for code that has read what a text and its options are."""
        return self._kept_or_new([source], wanted, truncate)[0]

    def _kept_or_new(self, sources: list[Source], wanted: Selection, truncate: bool) -> list[Trace]:
        """From the disk where this model has traces there; else recorded."""
        kept = self._kept if self._may_keep() else None
        keys = None if kept is None else kept.keys(sources, wanted, truncate)
        if kept is None or keys is None:
            return self._tracer.traces(sources, wanted, truncate)

        def record(indices: list[int]) -> list[Trace]:
            return self._tracer.traces([sources[index] for index in indices], wanted, truncate)

        return kept.traces(keys, self.name, record, self._may_keep)

    def _may_keep(self) -> bool:
        """Whether a pass that is made now gives the numbers that the model's files give, and so may be kept on disk or taken from there."""
        kept = self._kept
        if kept is None:
            return False
        if vars(self).get("_files", kept.files) != kept.files or not kept.files.are_unchanged():
            log.warning("Traces of %s are no longer kept on disk: its files have changed. Open it again.", self.name)
            self._kept = None
            return False
        return not context(vars(self).get("_hf"))

    def generate(
        self,
        prompt: str | Messages,
        *,
        max_new_tokens: int = NEW_TOKENS,
        parts: NamedParts | None = None,
        keep: str = "shares",
        layers: Iterable[int] | None = None,
        heads: Iterable[Any] | None = None,
        seed: int | None = None,
        thinking: str | None = None,
        interventions: Intervention | Sequence[Intervention] = (),
        **options: Any,
    ) -> Generation:
        """Let the model write, and record what it looked at while it wrote each token.

        prompt          a text, or a list of messages {"role": …, "content": …}, read as the model's chat template writes them
        max_new_tokens  how many tokens to write at most. Ctrl-C stops writing, and gives what was written
        parts           names for parts of the prompt, as for `trace`
        keep            "shares": the share of every part in every head, and the mean row of each layer; "rows": whole rows of all heads too
        layers, heads   which layers to record; of which heads, (layer, head), to keep whole rows
        seed            of sampling; otherwise one is drawn, and kept in `about`
        thinking        a regular expression that finds thoughts in what is written; otherwise the marks of Qwen 3, R1 and gpt-oss
        interventions   what is changed inside the model while it writes: el.Ablate, el.Scale, el.KnockOut, el.ZeroValues
        options         of transformers' `generate`: do_sample, temperature, num_beams, stop_strings, cache_implementation …
        """
        if (options.get("num_return_sequences") or 1) > 1:
            raise TraceError(f"num_return_sequences={options['num_return_sequences']}.", "Several texts: model.generations([prompt], …).")
        kept = what_to_keep(self.layout, self.name, keep, layers, heads, thinking, self._changes(interventions))
        read = self._writer.prompt(replace(as_source(prompt), parts=parts))
        return self._writer.generate([read], max_new_tokens, kept, seed, options)[0]

    def continue_from(
        self,
        generation: Generation,
        at: int,
        *,
        max_new_tokens: int = NEW_TOKENS,
        keep: str = "shares",
        layers: Iterable[int] | None = None,
        heads: Iterable[Any] | None = None,
        seed: int | None = None,
        thinking: str | None = None,
        interventions: Intervention | Sequence[Intervention] = (),
        **options: Any,
    ) -> Generation:
        """Write again from a written token on, with the tokens before it as they are: what becomes of the text without some heads?

        at         the first token that is written anew: 0, all; n, none of the n that were written
        the rest   as for `generate`
        """
        kept = what_to_keep(self.layout, self.name, keep, layers, heads, thinking, self._changes(interventions))
        read = self._writer.go_on_from(generation, at)
        return self._writer.generate([read], max_new_tokens, kept, seed, options)[0]

    def generations(
        self,
        prompts: Iterable[str | Messages],
        *,
        max_new_tokens: int = NEW_TOKENS,
        parts: NamedParts | None = None,
        keep: str = "shares",
        layers: Iterable[int] | None = None,
        heads: Iterable[Any] | None = None,
        seed: int | None = None,
        thinking: str | None = None,
        **options: Any,
    ) -> list[Generation]:
        """A generation for each prompt, in order, written in one batch; with num_return_sequences=n, n for each prompt. As `generate`."""
        if isinstance(prompts, str | bytes) or is_conversation(prompts):
            raise TextError("One prompt where several were expected.", "Give a list of prompts, or use model.generate(prompt).")
        kept = what_to_keep(self.layout, self.name, keep, layers, heads, thinking)
        read = [self._writer.prompt(replace(as_source(prompt), parts=parts)) for prompt in prompts]
        return self._writer.generate(read, max_new_tokens, kept, seed, options) if read else []

    def replay(
        self,
        prompt: str | Messages,
        completion: str | None = None,
        *,
        completion_ids: Sequence[int] | None = None,
        parts: NamedParts | None = None,
        keep: str = "shares",
        layers: Iterable[int] | None = None,
        heads: Iterable[Any] | None = None,
        thinking: str | None = None,
        interventions: Intervention | Sequence[Intervention] = (),
    ) -> Generation:
        """What the model looks at while it writes a text that is there already: of vLLM, of an API, or of a colleague.

        completion      what was written, as a text
        completion_ids  the same as token ids, where they are known: they need not be those that the tokeniser would write
        the rest        as for `generate`
        """
        if (completion is None) == (completion_ids is None):
            raise TextError("A replay needs what was written.", "Give completion=…, or completion_ids=…, and not both.")
        kept = what_to_keep(self.layout, self.name, keep, layers, heads, thinking, self._changes(interventions))
        given = completion if completion_ids is None else completion_ids
        return self._writer.replay(replace(as_source(prompt), parts=parts), given or "", kept)

    def predict(
        self,
        text: str | Messages | None = None,
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
        example = self._reader.read(source_of(text, pair, words, pair_words), truncate)
        return self._answerer.predict(example, self._changes(interventions), top)

    def predict_again(self, trace: Trace, interventions: Intervention | Sequence[Intervention] = (), top: int = TOP) -> Prediction:
        """What the model answers to the text of a trace, while it is changed: the same tokens, not read again."""
        return self._answerer.predict(example_of_trace(trace), self._changes(interventions), top)

    @property
    def answers(self) -> AnswerKind | None:
        """What it answers: "masked" tokens, the "next" one, a "label", "labels" of tokens, a "span" of the text, a "number"; or None."""
        return self._answerer.kind

    def _changes(self, interventions: Intervention | Sequence[Intervention]) -> tuple[Intervention, ...]:
        changes = as_interventions(interventions)
        check_same_model(changes, self.weights, self.name)
        return changes

    def head_effects(self, trace: Trace) -> list[LayerEffects]:
        """What becomes of the answer to the text of a trace when each head alone is switched off (z_h := 0): for each stack and layer,
        the probability of the most probable token or label, one number per head."""
        return list(self.head_effects_by_layer(trace))

    def head_effects_by_layer(self, trace: Trace) -> Iterator[LayerEffects]:
        """The same, a layer at a time as it is measured."""
        return head_effects(self._passes, self._answerer, example_of_trace(trace))

    def estimated_effects(self, trace: Trace) -> list[LayerEffects]:
        """An estimate of `head_effects` from one pass with a gradient: the first order of it, in the log odds of the answer."""
        return estimated_effects(self._passes, self._answerer, example_of_trace(trace))

    @property
    def mask_token(self) -> str | None:
        """What a masked language model completes, such as [MASK]; None for other models."""
        return getattr(self._tokenizer, "mask_token", None) if self.answers == "masked" else None

    def each_layer(
        self,
        texts: Iterable[Item],
        receive: Receive,
        *,
        truncate: bool = False,
    ) -> None:
        """Give every layer of every batch to `receive` as it comes, and keep none: memory does not grow with the layers."""
        read = [self._reader.read(source, truncate) for source in as_sources(texts)]
        for batch in in_batches(self.layout, read):
            self._passes.layers([read[i] for i in batch], receive)

    def read(self, item: Item, *, truncate: bool = False) -> Example:
        """The tokens of a text, a pair, a list of words or a conversation, as the model reads them."""
        return self._reader.read(as_source(item), truncate)

    def trace_inputs(
        self,
        inputs: Mapping[str, torch.Tensor],
        *,
        tokens: Sequence[str] | None = None,
        layers: Iterable[int] | None = None,
        heads: Iterable[int] | None = None,
        rows: Iterable[int] | None = None,
        keep: Collection[str] = KEEPABLE,
        precision: str = "auto",
    ) -> Trace:
        """The attention on one input given as tensors (images, sound, ids), batch size 1, without padding.

        With a text and a picture, as the processor of a vision-language model gives them, the picture's tower is a stack of its own:
        `trace.stacks["vision"]`.

        `tokens` names the positions that the encoder reads; positions are numbered where there are no names and no ids.
        """
        return self._tracer.trace_inputs(inputs, tokens, Selection(layers, heads, rows, keep, precision))

    @property
    def longest_input(self) -> str:
        """The largest input that it reads, as a phrase: a text of 512 tokens, an image of 224 x 224 pixels."""
        return longest_input(self._hf, self.max_tokens)

    @property
    def notices(self) -> tuple[Message, ...]:
        """What a user should know of this model's attention, such as maps that cannot be shown."""
        return self.layout.notices


class UnopenedModel(Model):
    """A model of `el.load(name, cache=True)`. Traces on disk answer for it; for anything else it is opened, once.

    read_model   gives the arguments of `Model`
    """

    def __init__(self, name: str, kept: KeptTraces, read_model: Callable[[], dict[str, Any]]) -> None:
        self.name, self.cache, self._kept = name, kept.cache, kept
        self._read_model: Callable[[], dict[str, Any]] | None = read_model
        self._opening = threading.RLock()

    def __getattr__(self, attribute: str) -> Any:
        """Called for what is not here yet: the attributes of an open model."""
        if attribute.startswith("__"):  # asked by protocols of Python, not by somebody who wants the model
            raise AttributeError(attribute)
        with self._opening:
            read_model, self._read_model = self._read_model, None
            if read_model is not None:
                try:
                    super().__init__(**read_model())
                except BaseException:
                    self._read_model = read_model
                    raise
        if attribute not in vars(self):
            raise AttributeError(f"A model has no attribute {attribute!r}.")
        return vars(self)[attribute]


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
            "They would be fetched for each pass, and could not be compared. Use a device_map without disk (and, beside a GPU, cpu).",
            'Where they do not fit, a smaller dtype or fewer bits: el.load(name, dtype="auto", quantization_config=…).',
        )


def _keep_unpacked(hf: PreTrainedModel, name: str) -> None:
    """Let 4-bit layers of bitsandbytes compute from their weights as they were loaded.

    On some processors a pass packs them anew, in place. In that form they have no gradients, and their numbers cannot be read back
    (`state_dict` unpacks them, with other scales), so that a model would not be the same before and after its identity is computed.
    """
    for module in hf.modules():
        if getattr(module, "support_avx512bf16_for_cpu", False):
            if getattr(getattr(module.weight, "quant_state", None), "packing_format_for_cpu", False):
                raise ModelError(
                    f"bitsandbytes has packed the weights of {name} for this processor, in a pass that was made before.",
                    "They cannot be read back exactly. Open the model anew: el.load(name, quantization_config=…).",
                )
            module.support_avx512bf16_for_cpu = False
