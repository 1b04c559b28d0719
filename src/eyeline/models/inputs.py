"""What a model reads: from a user's text, pair, words or tensors to padded batches, and how long a text may be."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from eyeline.errors import Advice, ModelError, TextError, TraceError
from eyeline.look.stack import free_memory
from eyeline.messages import Message
from eyeline.models.evaluation import evaluating
from eyeline.models.layout import Kept, Layout
from eyeline.text.conversation import encode_conversation, with_parts
from eyeline.text.encode import encode
from eyeline.text.source import Source
from eyeline.text.tokenized import TokenizedText
from eyeline.text.words import describe


@dataclass(frozen=True)
class Example:
    """The tokens of one text: what the encoder reads, and what the decoder has written (encoder-decoder models).

    dropped   how many tokens were cut off because the model takes no more
    picture   the positions of the picture beside the text, as a tower of its own reads them
    """

    source: TokenizedText
    target: TokenizedText | None = None
    dropped: int = 0
    picture: TokenizedText | None = None

    @property
    def notices(self) -> tuple[Message, ...]:
        """What a reader of this text's attention should know."""
        if not self.dropped:
            return ()
        tokens = self.dropped + len(self.source) + len(self.target or ())
        return (Message("notice.truncated", dropped=f"{self.dropped:,}", tokens=f"{tokens:,}"),)

    def of(self, stack: str) -> tuple[TokenizedText, TokenizedText]:
        """The texts of the queries and of the keys of a stack."""
        target = self.target or self.source
        if stack == "vision" and self.picture is not None:
            return self.picture, self.picture
        return {"encoder": (self.source, self.source), "decoder": (target, target), "cross": (target, self.source)}[stack]


# ---- From what a user gives to the tokens on each side of the attention


#: The longest text that an encoder-decoder model writes by itself when no second text is given.
WRITES_AT_MOST = 64


@dataclass(frozen=True)
class ExampleReader:
    """Tokenises; one text at a time, since tokenisers keep their settings inside and are not safe under threads."""

    hf: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase | None
    name: str
    max_tokens: int | None
    lock: threading.Lock

    def read(self, source: Source, truncate: bool) -> Example:
        """The tokens of a text; of an encoder-decoder model's text, also what the decoder has written."""
        if self.tokenizer is None:
            raise ModelError(f"{self.name} has no tokeniser.", "Give it tensors, in Python: model.trace_inputs({…}).")
        if self.hf.main_input_name != "input_ids":
            raise ModelError(
                f"{self.name} reads {self.hf.main_input_name!r}, not a text.",
                f"Give it tensors, in Python: model.trace_inputs({{{self.hf.main_input_name!r}: …}}).",
            )
        if not self.hf.config.is_encoder_decoder:
            text, dropped = self._encode(source, truncate)
            return Example(text, dropped=dropped)
        text, dropped = self._encode(replace(source, pair=None, pair_words=None), truncate)
        if source.pair is None and source.pair_words is None:
            return Example(text, self._write(text), dropped)
        target, dropped_after = self._decoded(Source(source.pair, words=source.pair_words), truncate)
        return Example(text, target, dropped + dropped_after)

    def _encode(self, source: Source, truncate: bool) -> tuple[TokenizedText, int]:
        with self.lock:
            return self._cut(source, truncate)

    def _cut(self, source: Source, truncate: bool) -> tuple[TokenizedText, int]:
        """The tokens of a text or pair, and how many were cut off."""
        text = self._tokens(source, self.max_tokens, truncate)
        cut = truncate and self.max_tokens is not None and len(text) >= self.max_tokens
        return text, len(self._tokens(source, None, False)) - len(text) if cut else 0

    def _tokens(self, source: Source, longest: int | None, truncate: bool) -> TokenizedText:
        if source.conversation is not None:
            if not self.hf.config.is_encoder_decoder and (source.pair or source.pair_words):
                raise TextError("A conversation and a second text.", "Add the second text as a message.")
            return encode_conversation(self.tokenizer, source.conversation, parts=source.parts, max_length=longest, truncate=truncate)
        text = encode(
            self.tokenizer,
            source.text,
            source.pair,
            words=source.words,
            pair_words=source.pair_words,
            max_length=longest,
            truncate=truncate,
        )
        return with_parts(text, source.parts) if source.parts else text

    def _decoded(self, source: Source, truncate: bool) -> tuple[TokenizedText, int]:
        """The decoder's side: its start token, then the text without the end that it has yet to write; how many tokens were cut off."""
        with self.lock:
            switch = getattr(self.tokenizer, "_switch_to_target_mode", None)
            if switch is not None:
                switch()
            try:
                text, dropped = self._cut(source, truncate)
            finally:
                if switch is not None:
                    self.tokenizer._switch_to_input_mode()  # type: ignore[union-attr]
        start = describe(self.tokenizer, [decoder_start(self.hf)])
        written = len(text) - 1 if text.special[-1] else len(text)
        end = written if self.max_tokens is None else min(written, self.max_tokens - 1)
        return _joined(start, text, end), dropped + written - end

    def _write(self, read: TokenizedText) -> TokenizedText:
        """What the model writes itself, greedily."""
        if not self.hf.can_generate():
            raise ModelError(
                Message("refusal.cannot_write", model=f"{self.name} ({type(self.hf).__name__})"),
                Advice(
                    "Give the text that its decoder has written as the second text: model.trace(source, target).",
                    "Give the text that its decoder has written: --pair TEXT.",
                    Message("refusal.advice.second_text"),
                ),
            )
        ids = torch.tensor([read.ids], device=self.hf.device)
        room = WRITES_AT_MOST if self.max_tokens is None else min(WRITES_AT_MOST, self.max_tokens - 1)
        with evaluating(self.hf), torch.inference_mode():
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
) -> Example:
    """Tokens for tensors: given names, else the tokens of ids, else position numbers. Stacks that are left out have no sizes."""
    if "vision" in sizes:
        of_text = {stack: size for stack, size in sizes.items() if stack != "vision"}
        picture = TokenizedText.from_tokens([str(i) for i in range(sizes["vision"][1])])
        return replace(label_positions(of_text, inputs, tokens, tokenizer), picture=picture)
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
        return Example(source)
    return Example(source, named("decoder_input_ids", sizes["decoder"][1] if "decoder" in sizes else sizes["cross"][0]))


# ---- How long a text may be, and how much memory it takes


#: Above this a tokeniser's limit means "none was set".
NO_LIMIT = 10**9

#: Names under which configurations say how many tokens a text may have.
LIMITS = (
    "max_position_embeddings",
    "max_encoder_position_embeddings",
    "max_decoder_position_embeddings",
    "max_seq_len",
    "max_target_positions",
)


def longest_text(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None) -> int | None:
    """How many tokens the model takes, special tokens included; None where there is no limit."""
    config = model.config.get_text_config()
    limits = [getattr(tokenizer, "model_max_length", None), *(getattr(config, name, None) for name in LIMITS)]
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            limits.append(len(module.weight) - module.padding_idx - 1)  # RoBERTa counts positions from padding_idx + 1
    known = [int(limit) for limit in limits if isinstance(limit, int | float) and 0 < limit < NO_LIMIT]
    return min(known) if known else None


def longest_input(model: PreTrainedModel, max_tokens: int | None) -> str:
    """The largest input that the model reads, as a phrase."""
    main, config = model.main_input_name, model.config
    if main == "input_ids":
        return "a text without limit" if max_tokens is None else f"a text of {max_tokens:,} tokens"
    writes = "" if max_tokens is None or not config.is_encoder_decoder else f"; it writes {max_tokens:,} tokens"
    if main == "pixel_values":
        size = getattr(config, "image_size", None)
        height, width = size if isinstance(size, list | tuple) else (size, size)
        return ("an image" if height is None else f"an image of {height} x {width} pixels") + writes
    frames = getattr(config, "max_source_positions", None)
    return ("sound" if frames is None else f"sound of {2 * frames:,} frames") + writes


def vocabulary_size(model: PreTrainedModel) -> int | None:
    """How many tokens the model knows; None where it does not read tokens."""
    try:
        size = getattr(model.get_input_embeddings(), "num_embeddings", None)
    except (NotImplementedError, AttributeError):
        size = None
    return size if isinstance(size, int) else getattr(model.config.get_text_config(), "vocab_size", None)


def check_memory(layout: Layout, kept: Kept, examples: Iterable[Example], bytes_each: int) -> None:
    """Refuse texts that do not fit in memory: the maps that are kept, and the three that one layer needs while it is computed.

    bytes_each   of a number, as the model computes it
    """
    free = free_memory()
    size = 2 if kept.precision == "float16" or (kept.precision == "auto" and bytes_each == 2) else max(4, bytes_each)
    for example in examples:
        need = 0
        for stack in layout.stacks:
            query, key = (len(text) for text in example.of(stack))
            n_heads = layout.n_heads(stack)[0]
            if "weights" in kept.what:
                need += (
                    len(kept.layers[stack])
                    * len(kept.heads.get(stack) or range(n_heads))
                    * len(kept.rows_of(query) or range(query))
                    * key
                    * size
                )
            need += 3 * n_heads * min(query, kept.block(layout) or query) * key * 4
        if free is not None and need > free:
            raise TraceError(
                Message("refusal.memory", n=f"{len(example.source):,}", need=f"{need / 1e9:.1f}", free=f"{free / 1e9:.1f}"),
                Advice(
                    "Keep less: layers=[…], heads=[…], rows=[…] (chosen queries: no map is then made whole), keep={'queries', 'keys'}, or"
                    " precision='float16'. Or take a shorter text; model.each_layer keeps none.",
                    "Keep less: --layers, --heads, --rows (chosen queries: no map is then made whole) or --precision float16."
                    " Or take a shorter text.",
                    Message("refusal.advice.shorten"),
                ),
            )


# ---- Tensors: padded batches of texts


def batch_inputs(model: PreTrainedModel, examples: Sequence[Example], pad_id: int) -> dict[str, torch.Tensor]:
    """Token ids padded on the right, with their masks, and token types where the tokeniser gives them."""
    known = vocabulary_size(model)
    largest = max(max(example.source.ids) for example in examples)
    if known is not None and largest >= known:
        raise ModelError(Message("refusal.unknown_token", token=str(largest), n=str(known)), Message("refusal.other_tokeniser"))
    inputs = _padded([example.source for example in examples], pad_id, "", model.device)
    targets = [example.target for example in examples if example.target is not None]
    if targets:
        inputs |= _padded(targets, pad_id, "decoder_", model.device)
    if all(example.source.types for example in examples):
        all_zero = not any(any(example.source.types) for example in examples)
        ids = inputs["input_ids"]
        inputs["token_type_ids"] = (
            torch.zeros_like(ids) if all_zero else send(filled([example.source.types for example in examples], 0), ids.device)
        )
    return inputs


def decoder_start(model: PreTrainedModel) -> int:
    """The token a decoder starts from."""
    for config in (model.config, getattr(model, "generation_config", None)):
        for name in ("decoder_start_token_id", "bos_token_id"):
            start = getattr(config, name, None)
            if start is not None:
                return int(start[0] if isinstance(start, list) else start)
    raise ModelError(f"{type(model).__name__} does not say with which token its decoder starts.", "Set config.decoder_start_token_id.")


def _padded(texts: Sequence[TokenizedText], pad_id: int, prefix: str, device: torch.device) -> dict[str, torch.Tensor]:
    ids = filled([text.ids for text in texts], pad_id)
    lengths = np.array([len(text) for text in texts])
    mask = (np.arange(ids.shape[1]) < lengths[:, None]).astype(np.int64)
    return {f"{prefix}input_ids": send(ids, device), f"{prefix}attention_mask": send(mask, device)}


def filled(rows: Sequence[Sequence[int]], fill: int) -> np.ndarray:
    """Rows of numbers as one array, shorter ones filled up on the right: [row, longest]."""
    numbers = np.full((len(rows), max(map(len, rows))), fill, np.int64)
    for index, row in enumerate(rows):
        numbers[index, : len(row)] = row
    return numbers


def send(array: np.ndarray, device: torch.device | str) -> torch.Tensor:
    """The array on a device. The copy to a GPU does not block."""
    tensor = torch.from_numpy(array)
    if torch.device(device).type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


def check_tensors(inputs: Any) -> Mapping[str, torch.Tensor]:
    """Tensors by name, or an error that says what was given."""
    if not isinstance(inputs, Mapping) or not inputs or not all(isinstance(value, torch.Tensor) for value in inputs.values()):
        given = {n: type(v).__name__ for n, v in inputs.items()} if isinstance(inputs, Mapping) else type(inputs).__name__
        raise TextError(f"Inputs given as {given}.", "Give torch tensors by name: model.trace_inputs({'pixel_values': tensor}).")
    return inputs
