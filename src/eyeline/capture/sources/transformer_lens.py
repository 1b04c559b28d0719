"""A cache of TransformerLens (`model.run_with_cache`) as stacks.

Patterns are stored as `blocks.3.attn.hook_pattern`; models with an encoder and a decoder have `encoder_blocks`, `decoder_blocks` and
`cross_attn` (`encoder.3` and `decoder.3` before version 4). Queries and keys are kept where they reproduce the pattern.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from eyeline.capture.arrays import as_numpy, stack_from_arrays
from eyeline.capture.sources.outputs import looks_back_only
from eyeline.capture.sources.tokens import text_from
from eyeline.capture.stack import Stack
from eyeline.errors import TraceError
from eyeline.text.tokenized import TokenizedText

PATTERN = re.compile(r"((?:(?:encoder|decoder)(?:_blocks)?|blocks)\.(\d+)\.((?:self_|cross_)?attn)\.)hook_pattern")
#: How far weights that are computed from queries and keys may be from the pattern.
AGREE = 1e-3


def stacks_of_cache(cache: Any, tokens: Sequence[str] | None, decoder_tokens: Sequence[str] | None = None) -> dict[str, Stack]:
    """The stacks of a cache. Without tokens: those of the ids in the cache, by the tokeniser of the model that the cache belongs to."""
    names = [str(name) for name in cache.keys()] if hasattr(cache, "keys") else []  # noqa: SIM118 - a cache is no mapping
    prefixes: dict[str, dict[int, str]] = {}
    for match in filter(None, map(PATTERN.fullmatch, names)):
        prefixes.setdefault(_stack_name(match[1], match[3]), {})[int(match[2])] = match[1]
    if not prefixes:
        raise TraceError(
            f"No attention pattern in this {type(cache).__name__}.",
            "Pass the cache of model.run_with_cache(text); with names_filter, keep the names that end in hook_pattern.",
        )
    source_text, target_text = _texts(cache, tokens, decoder_tokens, two_towers="cross" in prefixes or "decoder" in prefixes)
    stacks = {}
    for kind, by_layer in prefixes.items():
        layers = sorted(by_layer)
        weights = [_array(cache, by_layer[layer] + "hook_pattern") for layer in layers]
        name = ("decoder" if looks_back_only(weights) else "encoder") if kind == "blocks" else kind
        query_text = source_text if kind in ("blocks", "encoder") else target_text
        key_text = target_text if kind == "decoder" else source_text
        vectors = _vectors(cache, [by_layer[layer] for layer in layers], weights)
        stacks[name] = stack_from_arrays(weights, query_text, key_text, name=name, layers=layers, **vectors)
    return stacks


def name_in(cache: Any) -> str:
    """The name of the model that the cache belongs to; of a folder its last part."""
    name = str(getattr(getattr(getattr(cache, "model", None), "cfg", None), "model_name", None) or "transformer-lens")
    return Path(name).name if Path(name).is_absolute() else name


def _stack_name(prefix: str, attention: str) -> str:
    if attention == "cross_attn":
        return "cross"
    return prefix.split(".")[0].removesuffix("_blocks")


def _texts(
    cache: Any, tokens: Sequence[str] | None, decoder_tokens: Sequence[str] | None, *, two_towers: bool
) -> tuple[TokenizedText, TokenizedText]:
    """The tokens of the encoder (or of the only tower) and of the decoder."""
    source = text_from(tokens if tokens is not None else _tokens_in(cache), "tokens")
    return source, text_from(decoder_tokens, "decoder_tokens") if two_towers else source


def _tokens_in(cache: Any) -> list[str]:
    """The tokens of the ids that entered the embedding."""
    tokenizer = getattr(getattr(cache, "model", None), "tokenizer", None)
    if tokenizer is None or "embed.hook_in" not in cache.keys():  # noqa: SIM118 - a cache is no mapping
        raise TraceError("This cache does not hold its tokens.", "Give them: tokens=model.to_str_tokens(text)")
    ids = np.asarray(as_numpy(cache["embed.hook_in"])).reshape(-1).astype(int).tolist()
    return [str(token) for token in tokenizer.convert_ids_to_tokens(ids)]


def _array(cache: Any, name: str) -> np.ndarray:
    """An array without its batch of one."""
    array = as_numpy(cache[name])
    if array.ndim == 4:
        if len(array) != 1:
            raise TraceError(f"The cache holds a batch of {len(array)}.", "Run one text: model.run_with_cache(texts[0])")
        array = array[0]
    return array


def _vectors(cache: Any, prefixes: list[str], weights: list[np.ndarray]) -> Mapping[str, Any]:
    """Queries, keys and values [head, token, dim] of each layer, where all are in the cache and reproduce the weights."""
    names = cache.keys()
    vectors: dict[str, list[np.ndarray]] = {"queries": [], "keys": [], "values": []}
    for prefix, pattern in zip(prefixes, weights, strict=True):
        rotary = f"{prefix}hook_rot_q" in names
        hooks = {"queries": "hook_rot_q" if rotary else "hook_q", "keys": "hook_rot_k" if rotary else "hook_k", "values": "hook_v"}
        for what, hook in hooks.items():
            if prefix + hook not in names:
                return {}
            vectors[what].append(np.moveaxis(_array(cache, prefix + hook), 0, 1))  # [token, head, dim] → [head, token, dim]
        if not _reproduce(vectors["queries"][-1], vectors["keys"][-1], pattern):
            return {}
    return vectors


def _reproduce(queries: np.ndarray, keys: np.ndarray, pattern: np.ndarray) -> bool:
    """Whether softmax(q·kᵀ/√dim), over the keys that the pattern does not mask, is the pattern."""
    if queries.shape[-1] != keys.shape[-1] or len(queries) % len(keys):
        return False
    repeated = np.repeat(keys, len(queries) // len(keys), axis=0)  # grouped keys
    scores = queries @ np.swapaxes(repeated, 1, 2) / np.sqrt(queries.shape[-1])  # [head, query, key]
    if scores.shape != pattern.shape:
        return False
    scores = np.where(pattern > 0, scores, -np.inf)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return bool(np.abs(exponentials / exponentials.sum(axis=-1, keepdims=True) - pattern).max() < AGREE)
