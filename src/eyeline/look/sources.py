"""What other libraries give, as stacks and texts: outputs of transformers, caches of TransformerLens, values saved by nnsight."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from eyeline.errors import TraceError
from eyeline.look.stack import Stack, as_numpy, stack_from_arrays
from eyeline.text.tokenized import TokenizedText

# ---- transformers: what a model returns with `output_attentions=True`, also what its `generate` returns


#: The attention of a model with an encoder and a decoder → stack, whose tokens are the queries, whose the keys.
TWO_TOWERS = {
    "encoder_attentions": ("encoder", "encoder", "encoder"),
    "decoder_attentions": ("decoder", "decoder", "decoder"),
    "cross_attentions": ("cross", "decoder", "encoder"),
}

HOW = "Load the model with attn_implementation='eager' and call it with output_attentions=True."


def stacks_of_outputs(
    outputs: Any,
    tokens: Sequence[str] | None,
    decoder_tokens: Sequence[str] | None = None,
    second_from: int | None = None,
    row: int | None = None,
    padding: int = 0,
) -> dict[str, Stack]:
    """The stacks of a model's output, or of the tuple of its attentions. row: which text of a batch, or of those that `generate` returned;
    padding: how many tokens stand before it."""
    two = {name: attention for name in TWO_TOWERS if (attention := _field(outputs, name))}
    if "encoder_attentions" in two or "decoder_attentions" in two:
        texts = {"encoder": (tokens, "tokens"), "decoder": (decoder_tokens, "decoder_tokens")}
        stacks = {}
        for name, attention in two.items():
            stack, query_side, key_side = TWO_TOWERS[name]
            query_text, key_text = text_from(*texts[query_side]), text_from(*texts[key_side])
            before = padding if stack == "encoder" else 0
            layers = layers_of(attention, outputs, (len(query_text), len(key_text)), row, before, cross=stack == "cross")
            stacks[stack] = stack_from_arrays(layers, query_text, key_text, name=stack)
        return stacks
    attention = _field(outputs, "attentions") if _has_fields(outputs) else outputs
    if attention is None or len(attention) == 0:
        raise TraceError("No attention in this output.", HOW)
    text = text_from(tokens, "tokens", second_from)
    layers = layers_of(attention, outputs, (len(text), len(text)), row, padding)
    name = "decoder" if looks_back_only(layers) else "encoder"
    return {name: stack_from_arrays(layers, text, name=name)}


def layers_of(attention: Any, outputs: Any, size: tuple[int, int], row: int | None, padding: int, *, cross: bool = False) -> Any:
    """An array for each layer, of one text. What `generate` returns has the layers of each step inside a step: they are joined.

    size   how many queries and keys the text has
    cross  the keys are not what was written
    """
    if not (isinstance(attention, tuple | list) and attention and isinstance(attention[0], tuple | list)):
        if row is None and not padding:
            return attention
        prompts = len(sequences) if (sequences := _field(outputs, "sequences")) is not None else len(attention[0])
        own = (row or 0) * len(attention[0]) // prompts  # of an encoder, which reads every prompt once
        _check_row(own, len(attention[0]))
        rows, columns = (slice(padding, padding + n) for n in size)
        return [None if layer is None else as_numpy(layer)[own : own + 1, :, rows, columns] for layer in attention]
    beams = _field(outputs, "beam_indices")
    sequences = _field(outputs, "sequences")
    returned = len(attention[0][0]) if sequences is None else len(sequences)
    if row is None and returned > 1:
        raise TraceError(f"{returned} texts in this output.", f"Say which: row=0…{returned - 1}, and how many tokens of padding it has.")
    _check_row(row or 0, returned)
    of_step = [row or 0] * len(attention) if beams is None else [int(number) for number in as_numpy(beams)[row or 0]]
    return [
        _joined([as_numpy(step[layer])[[max(0, of)]] for step, of in zip(attention, of_step, strict=False)], layer, size, padding, cross)
        for layer in range(len(attention[0]))
    ]


def _check_row(row: int, n: int) -> None:
    if not 0 <= row < n:
        raise TraceError(f"row={row} of an output of {n} texts.", f"Rows are 0…{n - 1}.")


def _joined(steps: list[np.ndarray], layer: int, size: tuple[int, int], padding: int, cross: bool) -> np.ndarray:
    """[1, head, query, key] from the steps of one layer, each with its new queries and the keys that its cache held."""
    if any(step.ndim != 4 for step in steps):
        raise TraceError(f"Layer {layer}: a step of shape {list(steps[0].shape)}.", "A step of generate is [batch, head, query, key].")
    n_queries, n_keys = size
    whole = np.zeros((1, steps[0].shape[1], padding + n_queries, padding + n_keys), np.float32)
    end = 0
    for step in steps:
        rows = slice(end, end + step.shape[2])
        end += step.shape[2]
        if end > whole.shape[2]:
            break
        first = 0 if cross else first_key(end, step.shape[3])
        last = min(whole.shape[3], first + step.shape[3])
        whole[:, :, rows, first:last] = step[..., : last - first]
    if end < whole.shape[2]:
        raise TraceError(
            f"{n_queries} tokens, but the steps have read {end - padding}.", "Give the tokens without the last one, which was never read."
        )
    return whole[:, :, padding:, padding:]


def first_key(end: int, n_keys: int) -> int:
    """The position of the first key of a step that ends at token `end`, whose cache gives `n_keys` keys.

    A window holds the last keys: key j of k stands at position end − k + j. A static cache holds all and, after them, room for later ones.

    >>> first_key(20, 5), first_key(20, 20), first_key(20, 32)
    (15, 0, 0)
    """
    return max(0, end - n_keys)


def looks_back_only(layers: Any) -> bool:
    """Whether no query of any layer looks at a later key: the attention of a decoder."""
    maps = [as_numpy(layer) for layer in layers if layer is not None]
    square = [weights for weights in maps if weights.ndim >= 2 and weights.shape[-1] == weights.shape[-2] > 1]
    return bool(square) and len(square) == len(maps) and not any(np.triu(weights, 1).any() for weights in square)


def _has_fields(outputs: Any) -> bool:
    return isinstance(outputs, Mapping) or hasattr(outputs, "attentions")


def _field(outputs: Any, name: str) -> Any:
    return outputs.get(name) if isinstance(outputs, Mapping) else getattr(outputs, name, None)


# ---- TransformerLens: the cache of `model.run_with_cache`
#
# Patterns are stored as `blocks.3.attn.hook_pattern`; models with an encoder and a decoder have `encoder_blocks`, `decoder_blocks` and
# `cross_attn` (`encoder.3` and `decoder.3` before version 4). Queries and keys are kept where they reproduce the pattern.


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


# ---- nnsight: what was saved inside a trace, a value for each layer or the model's output


def saved_attention(saved: Any) -> Any:
    """What was saved, as `stacks_of_outputs` takes it: proxies of older versions become their values, results of modules their weights."""
    saved = _value(saved)
    if not isinstance(saved, list | tuple):
        return saved
    layers = [_weights(_value(layer), number) for number, layer in enumerate(saved)]
    if not layers:
        raise TraceError("Nothing was saved.", "Save each layer: weights = nnsight.save([layer.attn.output[1] for layer in layers])")
    return layers


def _value(saved: Any) -> Any:
    """The value of a proxy; other objects are returned as they are."""
    is_proxy = type(saved).__module__.partition(".")[0] == "nnsight" and hasattr(saved, "value")
    return saved.value if is_proxy else saved


def _weights(layer: Any, number: int) -> Any:
    """The weights in what an attention module returned, (output, weights); an array is taken as it is."""
    if not isinstance(layer, list | tuple):
        return layer
    arrays = [item for item in map(_value, layer) if getattr(item, "ndim", 0) == 4]
    if len(arrays) != 1:
        raise TraceError(
            f"The module of layer {number} returned no weights.",
            "Load the model with attn_implementation='eager', and save the output of its attention modules.",
        )
    return arrays[0]


# ---- Tokens as strings, of which some were added by a tokeniser


#: Tokens that tokenisers add, as they are spelled: a list of strings does not say which they are.
SPECIAL = re.compile(r"\[(CLS|SEP|PAD|MASK|UNK|BOS|EOS)\]|</?(s|pad|mask|unk|bos|eos|cls|sep)>|<\|[^|]*\|>")


def text_from(tokens: Sequence[str] | None, name: str, second_from: int | None = None) -> TokenizedText:
    """A text of these tokens; special ones are known by their spelling. `name` is the argument, for the error where it is missing."""
    if tokens is None:
        raise TraceError(f"No {name}.", f"Give them: {name}=tokenizer.convert_ids_to_tokens(input_ids[0])")
    text = TokenizedText.from_tokens(tokens)  # refuses what is not a list of strings
    return TokenizedText.from_tokens(text.tokens, special=[looks_special(token) for token in text.tokens], second_from=second_from)


def looks_special(token: str) -> bool:
    """Whether a tokeniser spells the tokens that it adds in this way.

    >>> looks_special("[SEP]"), looks_special("<|endoftext|>"), looks_special("cat")
    (True, True, False)
    """
    return SPECIAL.fullmatch(token) is not None
