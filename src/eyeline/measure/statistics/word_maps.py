"""Sentences given as words → attention between their words, one layer of one batch at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from eyeline.errors import TextError
from eyeline.measure.runs.progress import ReportStep
from eyeline.measure.statistics.options import MAX_TOKENS
from eyeline.measure.statistics.prepare import BatchSize
from eyeline.measure.statistics.rows import numbers_on, precise
from eyeline.messages import Message
from eyeline.models.attention import LayerAttention, not_finite
from eyeline.models.inputs import Example, decoder_start, send
from eyeline.models.layout import check_layers_of
from eyeline.models.model import Model
from eyeline.models.objective import tokenizer_of
from eyeline.models.tracing import in_batches
from eyeline.text.encode import encode_word_lists, unknown_notices
from eyeline.text.tokenized import TokenizedText
from eyeline.text.words import describe


@dataclass(frozen=True)
class WordTexts:
    """What a model reads of some sentences.

    examples  the tokens of each sentence that was kept
    kept      its index among the sentences that were given
    counts    sentences, words and tokens that were kept; too_long and unreadable: sentences that were dropped
    reasons   too_long or unreadable → index among the given → why it was dropped
    """

    examples: tuple[Example, ...]
    kept: tuple[int, ...]
    counts: Counter[str]
    reasons: Mapping[str, Mapping[int, Message]]

    def notices(self, model: Model) -> tuple[Message, ...]:
        """The notices of this model, and of how it reads these sentences."""
        return (*model.layout.notices, *unknown_notices([example.source for example in self.examples], model._tokenizer))

    def only(self, positions: Sequence[int]) -> WordTexts:
        """Some of the sentences that were kept, with what was dropped before."""
        if len(positions) == len(self.examples):
            return self
        examples = tuple(self.examples[position] for position in positions)
        n_words, n_tokens = (sum(map(len, values)) for values in ([s.source.word_texts for s in examples], [s.source for s in examples]))
        counts = self.counts | {"sentences": len(examples), "words": n_words, "tokens": n_tokens}
        return WordTexts(examples, tuple(self.kept[position] for position in positions), Counter(counts), self.reasons)

    def dropped(self, names: Sequence[str]) -> dict[str, dict[str, Message]]:
        """too_long or unreadable → name → why; names: of the sentences that were given, of which two may have the same."""
        dropped_texts: dict[str, dict[str, Message]] = {}
        for kind, whys in self.reasons.items():
            dropped_texts[kind] = {}
            for index, why in whys.items():
                name = names[index]
                dropped_texts[kind][name if name not in dropped_texts[kind] else f"{name}, sentence {index + 1}"] = why
        return dropped_texts


@dataclass(frozen=True)
class WordMaps:
    """One layer's attention between the words of a batch of sentences.

    sentences   the index of each among the sentences that were kept (`WordTexts.examples`)
    n_words     how many words each has
    special     the special tokens of each, in reading order ([CLS], [SEP]; none in many decoders)
    weights     [sentence, head, unit, unit], query before key: units are the words, padded with zeros to the longest sentence of the
                batch, and after them the special tokens, so that every sentence's [CLS] has the same index
    """

    layer: int
    sentences: tuple[int, ...]
    n_words: tuple[int, ...]
    special: tuple[tuple[str, ...], ...]
    weights: torch.Tensor

    @property
    def width(self) -> int:
        """The words of the longest sentence."""
        return max(self.n_words)

    @property
    def between_words(self) -> torch.Tensor:
        """[sentence, head, word, word]"""
        return self.weights[:, :, : self.width, : self.width]

    @cached_property
    def inside(self) -> torch.Tensor:
        """Which words are a sentence's own, not padding: [sentence, word]"""
        device = self.weights.device
        return torch.arange(self.width, device=device) < numbers_on(device, self.n_words)[:, None]


Receive = Callable[[WordMaps], None]


def reading_stack(model: Model) -> str:
    """The stack that reads the text: the encoder of an encoder-decoder model, the only one of any other."""
    return "encoder" if "encoder" in model.layout.stacks else "decoder"


def example_of_text(model: Model, text: TokenizedText) -> Example:
    """What the model reads of a text; the decoder of an encoder-decoder model gets only its start token."""
    if model._tokenizer is None or not model._hf.config.is_encoder_decoder:
        return Example(text)
    return Example(text, describe(model._tokenizer, [decoder_start(model._hf)]))


def read_words(
    model: Model,
    sentences: Sequence[Sequence[str]],
    spaces: Sequence[Sequence[bool] | None] | None = None,
    *,
    max_tokens: int | None = MAX_TOKENS,
) -> WordTexts:
    """Tokenise sentences word for word; one that is too long, or has a word that the tokeniser drops, is left out and counted.

    sentences   the words of each
    spaces      whether a space follows each word in the text; None: as its script is written
    max_tokens  the most tokens of a sentence, special ones included; the model's own limit always holds
    """
    tokenizer = tokenizer_of(model, "Sentences of words need a model that reads text.")
    limits = [limit for limit in (max_tokens, model.max_tokens) if limit is not None]
    examples: list[Example] = []
    kept: list[int] = []
    reasons: dict[str, dict[int, Message]] = {"too_long": {}, "unreadable": {}}
    longest = min(limits, default=None)
    for index, text in enumerate(encode_word_lists(tokenizer, sentences, spaces)):
        if isinstance(text, TextError):
            reasons["unreadable"][index] = text.message
        elif longest is not None and len(text) > longest:
            reasons["too_long"][index] = Message("notice.dropped.too_many_tokens", n=str(len(text)), most=str(longest))
        else:
            examples.append(example_of_text(model, text))
            kept.append(index)
    n_words, n_tokens = sum(len(example.source.word_texts) for example in examples), sum(len(example.source) for example in examples)
    counts = Counter(sentences=len(examples), words=n_words, tokens=n_tokens, **{kind: len(whys) for kind, whys in reasons.items()})
    return WordTexts(tuple(examples), tuple(kept), counts, reasons)


def each_word_map(
    model: Model,
    texts: WordTexts,
    receive: Receive,
    *,
    layers: Iterable[int] | None = None,
    report: ReportStep | None = None,
) -> None:
    """Run every sentence through the model, similar lengths together, and pass the word-level maps of each layer to `receive`.

    Attention to a split word is the sum over its pieces, attention from it the mean: rows still sum to 1 (Clark et al. 2019, section
    4.1). No more than one layer of one batch is held. report: called after each batch with the sentences and tokens done.
    """
    done = tokens = 0
    size = BatchSize.of(model)
    for batch in in_batches(model.layout, texts.examples, size.tokens, size.texts):
        examples = [texts.examples[i] for i in batch]
        word_maps_of_batch(model, examples, receive, layers=layers, indices=batch)
        done += len(batch)
        tokens += sum(len(example.source) for example in examples)
        if report is not None:
            report(done, len(texts.examples), tokens)


def word_maps_of_batch(
    model: Model,
    examples: Sequence[Example],
    receive: Receive,
    *,
    layers: Iterable[int] | None = None,
    indices: Sequence[int] | None = None,
) -> None:
    """The same for one batch of sentences. indices: what `WordMaps.sentences` calls them; their indices in the batch unless given."""
    stack = reading_stack(model)
    chosen = check_layers_of(model.layout, stack, layers)
    sentences = tuple(range(len(examples)) if indices is None else indices)
    pooling = _Pooling.of(sentences, [example.source for example in examples], model._hf.device)

    def receive_layer(attention: LayerAttention) -> None:
        if attention.stack == stack and attention.layer in chosen:
            maps = pooling.pool(attention)
            if not bool(torch.isfinite(maps.weights).all()):  # else the first word would be the most attended one
                raise not_finite(model.name, stack, attention.layer)
            receive(maps)

    with torch.inference_mode():
        model._passes.layers(examples, receive_layer)


@dataclass(frozen=True)
class _Pooling:
    """How the tokens of a batch are pooled to words: the same for every layer."""

    sentences: tuple[int, ...]
    n_words: tuple[int, ...]
    special: tuple[tuple[str, ...], ...]
    as_keys: torch.Tensor  # [sentence, 1, token, unit], ones
    as_queries: torch.Tensor  # [sentence, 1, unit, token], 1 / pieces of the word

    @classmethod
    def of(cls, sentences: tuple[int, ...], texts: Sequence[TokenizedText], device: torch.device) -> _Pooling:
        n_words = tuple(len(text.word_texts) for text in texts)
        width, n_special = max(n_words), max(sum(text.special) for text in texts)
        units: list[int] = []  # of each token, one text after the other
        for text in texts:
            special_units = iter(range(width, width + n_special))
            units += [next(special_units) if word is None else word for word in text.words]
        lengths = np.array([len(text) for text in texts], np.int64)
        inside = (np.arange(lengths.max()) < lengths[:, None]).nonzero()  # text and position of each token
        as_keys = torch.zeros((len(texts), int(lengths.max()), width + n_special), dtype=torch.float32, device=device)
        as_keys[tuple(send(numbers, device) for numbers in (*inside, np.array(units, np.int64)))] = 1
        pieces = as_keys.sum(1, keepdim=True).clamp_min(1)  # [sentence, 1, unit]
        special = tuple(tuple(t for t, added in zip(text.tokens, text.special, strict=True) if added) for text in texts)
        as_queries = (as_keys / pieces).transpose(1, 2)  # [sentence, unit, token]
        return cls(sentences, n_words, special, as_keys[:, None], as_queries[:, None])

    def pool(self, attention: LayerAttention) -> WordMaps:
        """A'[v, w] = 1/|v| · Σ_{i ∈ v} Σ_{j ∈ w} A[i, j], for every sentence and head at once."""
        weights = precise(attention.weights)  # [sentence, head, query, key]
        pooled = self.as_queries.to(weights.dtype) @ (weights @ self.as_keys.to(weights.dtype))  # [sentence, head, unit, unit]
        return WordMaps(attention.layer, self.sentences, self.n_words, self.special, pooled)
