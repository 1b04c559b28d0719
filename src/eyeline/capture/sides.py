"""From what a user gives (text, pair, words, tensors) to the tokens on each side of the attention."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from eyeline.capture.collect import Sides
from eyeline.capture.inputs import decoder_start
from eyeline.capture.model_state import EvaluationMode
from eyeline.errors import Advice, ModelError, TextError
from eyeline.text.encode import encode
from eyeline.text.tokenized import TokenizedText
from eyeline.text.written import describe

#: The longest text that an encoder-decoder model writes by itself when no second text is given.
WRITES_AT_MOST = 64


@dataclass(frozen=True)
class Source:
    """One text or pair as it was given, as strings or as lists of words. An empty second text is no second text."""

    text: str | None = None
    pair: str | None = None
    words: Sequence[str] | None = None
    pair_words: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.pair, str) and not self.pair:
            object.__setattr__(self, "pair", None)
        if isinstance(self.pair_words, Sequence) and len(self.pair_words) == 0:
            object.__setattr__(self, "pair_words", None)


def as_sources(texts: Any) -> list[Source]:
    """Several texts; a single string is refused, since its letters would be taken for texts."""
    if isinstance(texts, str | bytes):
        raise TextError(f"One text where several were expected: {texts[:40]!r}.", "Give a list of texts, or use model.trace(text).")
    return [as_source(item) for item in texts]


def as_words(words: Any) -> Any:
    """A list of words from any iterable. Other values are returned as they are: `check_words` reports them."""
    return list(words) if isinstance(words, Iterable) and not isinstance(words, str | bytes) else words


def as_source(item: Any) -> Source:
    """A string is a text, a tuple of two strings a pair, a list of strings the words of a text."""
    if isinstance(item, str):
        return Source(item)
    if isinstance(item, tuple) and len(item) == 2:
        return Source(*item)
    if isinstance(item, list):
        return Source(words=item)
    raise TextError(
        f"A text given as {type(item).__name__}.", "Give a string, a tuple of two strings (a pair) or a list of strings (words)."
    )


@dataclass(frozen=True)
class SidesReader:
    """Tokenises; one text at a time, since tokenisers keep their settings inside and are not safe under threads."""

    hf: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase | None
    name: str
    max_tokens: int | None
    evaluation: EvaluationMode
    lock: threading.Lock

    def read(self, source: Source, truncate: bool) -> Sides:
        """The tokens of a text; of an encoder-decoder model's text, also what the decoder has written."""
        if self.tokenizer is None:
            raise ModelError(f"{self.name} has no tokeniser.", "Give it tensors, in Python: model.trace_inputs({…}).")
        if self.hf.main_input_name != "input_ids":
            raise ModelError(
                f"{self.name} reads {self.hf.main_input_name!r}, not a text.",
                f"Give it tensors, in Python: model.trace_inputs({{{self.hf.main_input_name!r}: …}}).",
            )
        if not self.hf.config.is_encoder_decoder:
            return Sides(self._encode(source, truncate))
        read = self._encode(Source(source.text, words=source.words), truncate)
        if source.pair is None and source.pair_words is None:
            return Sides(read, self._write(read))
        return Sides(read, self._decoded(Source(source.pair, words=source.pair_words), truncate))

    def _encode(self, source: Source, truncate: bool) -> TokenizedText:
        with self.lock:
            return encode(
                self.tokenizer,
                source.text,
                source.pair,
                words=source.words,
                pair_words=source.pair_words,
                max_length=self.max_tokens,
                truncate=truncate,
            )

    def _decoded(self, source: Source, truncate: bool) -> TokenizedText:
        """The decoder's side: its start token, then the text without the end that it has yet to write."""
        with self.lock:
            switch = getattr(self.tokenizer, "_switch_to_target_mode", None)
            if switch is not None:
                switch()
            try:
                text = encode(self.tokenizer, source.text, words=source.words, max_length=self.max_tokens, truncate=truncate)
            finally:
                if switch is not None:
                    self.tokenizer._switch_to_input_mode()  # type: ignore[union-attr]
        start = describe(self.tokenizer, [decoder_start(self.hf)])
        end = len(text) - 1 if text.special[-1] else len(text)
        if self.max_tokens is not None:
            end = min(end, self.max_tokens - 1)
        return _joined(start, text, end)

    def _write(self, read: TokenizedText) -> TokenizedText:
        """What the model writes itself, greedily."""
        if not self.hf.can_generate():
            raise ModelError(
                f"{self.name} ({type(self.hf).__name__}) cannot write a text by itself: it has no language-modelling head.",
                Advice(
                    "Give the text that its decoder has written as the second text: model.trace(source, target).",
                    "Give the text that its decoder has written: --pair TEXT.",
                    "Give the text that its decoder has written as the second text.",
                ),
            )
        ids = torch.tensor([read.ids], device=self.hf.device)
        room = WRITES_AT_MOST if self.max_tokens is None else min(WRITES_AT_MOST, self.max_tokens - 1)
        with self.evaluation.for_a_pass(), torch.inference_mode():
            written = self.hf.generate(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=room,
                num_beams=1,
                do_sample=False,
                use_cache=not _has_deeper_decoder(self.hf.config),
            )[0].tolist()
        ends = self.hf.generation_config.eos_token_id
        ends = ends if isinstance(ends, list) else [ends]
        while len(written) > 1 and written[-1] in ends:
            written.pop()
        return describe(self.tokenizer, written)


def _has_deeper_decoder(config: PretrainedConfig) -> bool:
    """transformers makes its cache as deep as the encoder: a decoder with more layers than that would run out of it."""
    depths = (getattr(config, name, None) for name in ("num_decoder_layers", "decoder_layers"))
    return any(depth is not None and depth > config.num_hidden_layers for depth in depths)


def _joined(start: TokenizedText, text: TokenizedText, end: int) -> TokenizedText:
    return TokenizedText(
        tokens=start.tokens + text.tokens[:end],
        words=(None, *text.words[:end]),
        word_texts=text.word_texts,
        segments=(0,) * (end + 1),
        special=(True, *text.special[:end]),
        ids=start.ids + text.ids[:end],
        spans=((0, 0), *text.spans[:end]) if text.spans else (),
        sources=text.sources,
    )


def label_positions(
    sizes: Mapping[str, tuple[int, int]],
    inputs: Mapping[str, torch.Tensor],
    tokens: Sequence[str] | None,
    tokenizer: PreTrainedTokenizerBase | None,
) -> Sides:
    """Tokens for tensors: given names, else the tokens of ids, else position numbers. Stacks that are left out have no sizes."""
    writes = "decoder_input_ids" in inputs or "cross" in sizes or {"encoder", "decoder"} <= set(sizes)
    lengths = [sizes[stack][1] for stack in ("encoder", "cross") if stack in sizes]
    if writes and "input_ids" in inputs:
        lengths.append(inputs["input_ids"].shape[-1])
    n_source = [*lengths, *(n_keys for _, n_keys in sizes.values())][0]

    def named(name: str, n: int) -> TokenizedText:
        ids = inputs.get(name)
        if ids is not None and tokenizer is not None and ids.shape[-1] == n:
            return describe(tokenizer, ids[0].tolist())
        return TokenizedText.from_tokens([str(i) for i in range(n)])

    source = TokenizedText.from_tokens(tokens) if tokens is not None else named("input_ids", n_source)
    if not writes or not {"decoder", "cross"} & set(sizes):
        return Sides(source)
    return Sides(source, named("decoder_input_ids", sizes["decoder"][1] if "decoder" in sizes else sizes["cross"][0]))
