"""The view of a space: every head's queries and keys (or values) as points, one head large, a sentence's attention beside it."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from eyeline.errors import TraceError, nearest
from eyeline.look.views.data import Encoded, encode_bytes, encode_fractions, encode_positions, encode_weights
from eyeline.look.views.options import SpaceViewOptions
from eyeline.look.views.state import checked
from eyeline.look.views.view import FORMAT, View, text_record
from eyeline.measure.space.result import Space, check_space, distinct_names, layer_space
from eyeline.measure.space.stack import HELD_OUT, IN_PICTURE, SpaceStack, SpaceTokens, gauges_table, pairs_in_space
from eyeline.storage.files import as_path
from eyeline.text.named_pairs import PairsGiven, pairs_in_texts
from eyeline.text.tokenized import TokenizedText
from eyeline.words import Words

#: Whole attention maps are included as long as all arrays together have fewer bytes than this, which is a page of 30 MB.
MOST_ARRAY_BYTES = 21_000_000

#: The share of the square that is left free on each side of the points.
MARGIN = 0.04

#: The facts of a head that the pictures show.
SHOWN = (
    *HELD_OUT, *IN_PICTURE, "top1_full", "top5_full", "kl", "entropy", "scale", "correlation_before", "correlation_after",
)  # fmt: skip

#: Each text with its parts of speech → its index in the view's list.
Texts = dict[tuple[TokenizedText, tuple[str, ...]], int]

#: The lowest and the highest coordinate in each direction: [dims] both.
Frame = tuple[np.ndarray, np.ndarray]


def space_view(
    space: Space,
    beside: Space | None = None,
    *,
    stack: str | None = None,
    layer: int | None = None,
    head: int | None = None,
    language: str = "en",
    **options: Unpack[SpaceViewOptions],
) -> View:
    """All heads as small scatters; a click opens one, a click on a point shows its sentence.

    beside        a second space of the same corpus, shown side by side with the same sentence selected; layers and heads in both are kept
    stack         where the reader begins: encoder, decoder or cross
    layer, head   the head to open; without them the view begins with all heads
    language      of the page, its notices and its table of gauges: en, ja or ko
    options       any other key of the state in docs/view-format.md, such as `colour_points="position"` or `theme="dark"`; `pairs` in red
                  may be "it → cat", "brown:##bara", ("it", "cat") or a list of these, and one that no text holds is refused
    """
    spaces = [space] if beside is None else [space, beside]
    for each in spaces:
        check_space(each)
    models = [space.model] if beside is None else list(distinct_names(space.model, beside.model))
    names = [name for name in space.stacks if all(name in each.stacks for each in spaces)]
    if beside is not None:
        check_comparable(space, beside, names)
    if stack is not None and stack not in names:
        raise TraceError(f"No {stack} attention in this view.", nearest(stack, names))
    check_pairs(space, names, options.get("pairs", ""))
    texts: Texts = {}
    arrays: dict[str, Encoded] = {}
    shared = {name: in_common([each.stacks[name] for each in spaces]) for name in names}
    records: list[dict[str, Any]] = [
        {
            "model": models[number],
            "of": each.of,
            "project": each.project,
            "gauge": each.gauge,
            "dims": each.dims,
            "held_out": each.held_out,
            "stacks": [
                stack_record(
                    with_shown_facts(each.stacks[name], each.held_out),
                    *shared[name],
                    prefix=f"{number}.{name}",
                    texts=texts,
                    arrays=arrays,
                    frame=frame_of(each, name),
                )
                for name in names
            ],
        }
        for number, each in enumerate(spaces)
    ]
    add_maps(spaces, records, shared, arrays)
    spec: dict[str, Any] = {
        "format": FORMAT,
        "kind": "space",
        "model": " · ".join(models),
        "texts": [{**text_record(text), **({"tags": list(tags)} if tags else {})} for text, tags in texts],
        "stacks": [grid_record(name, record, *shared[name]) for name, record in zip(names, records[0]["stacks"], strict=True)],
        "spaces": records,
    }
    held = {model: each.facts.notices for model, each in zip(models, spaces, strict=True) if each.facts is not None}
    notices = {notice: model for model, own_notices in held.items() for notice in own_notices}
    if notices:  # what holds for one of two models alone begins with its name
        own = {notice: f"{model}: " for notice, model in notices.items() if any(notice not in each for each in held.values())}
        spec["notices"] = [own.get(notice, "") + Words(language).of(notice) for notice in notices]
    tables = [gauges_table(each.gauges, Words(language)) for each in spaces if each.gauges]
    if tables:
        spec["tables"] = [asdict(table) for table in tables]
    begin = names.index(stack) if stack else 0
    start = {"stack": begin, **opened(shared[names[begin]], layer, head)}
    spec["state"] = {**checked(dict(options), spec, start), **start}
    return View("space", spec, arrays, language)


def check_comparable(space: Space, other: Space, names: list[str]) -> None:
    """Refuse two spaces that do not have the same sentences: they cannot be shown side by side."""
    if not names:
        raise TraceError(
            f"{space.model} has {', '.join(space.stacks)} attention, {other.model} has {', '.join(other.stacks)}: none in common."
        )
    corpora = [each.facts.corpus for each in (space, other) if each.facts is not None]
    if len({corpus.sha256 for corpus in corpora}) > 1:
        raise TraceError(f"Spaces of {corpora[0].name} and of another {corpora[1].name}.", "Make both from the same corpus.")
    for name in names:
        counts = [len(each.stacks[name].query_tokens.texts) for each in (space, other)]
        if counts[0] != counts[1]:
            raise TraceError(
                f"{counts[0]} texts on one side, {counts[1]} on the other.", "Make both spaces from the same corpus, without a limit."
            )


def check_pairs(space: Space, names: list[str], given: PairsGiven) -> None:
    """Refuse pairs that no text of any stack holds, and pairs of values."""
    for pair in pairs_in_space(space.of, given):
        stacks = [space.stacks[name] for name in names]
        sides = ([text for stack in stacks for text in getattr(stack, side).texts] for side in ("query_tokens", "key_tokens"))
        pairs_in_texts(pair, *sides)


def with_shown_facts(stack: SpaceStack, held_out: str) -> SpaceStack:
    """The stack with only the fidelity that a reader is shown: on unseen text, of the picture as it is, or none."""
    facts = {name: values for name, values in stack.facts.items() if name not in (*HELD_OUT, *IN_PICTURE)}
    for name, column in zip(IN_PICTURE if held_out == "picture" else HELD_OUT, HELD_OUT, strict=True):
        if column in stack.facts and np.isfinite(stack.facts[column]).any():
            facts[name] = stack.facts[column]
    return replace(stack, facts=facts)


def in_common(stacks: list[SpaceStack]) -> tuple[list[int], list[int]]:
    """The numbers of the layers and heads that all of them have."""
    layers = [layer for layer in stacks[0].layers if all(layer in each.layers for each in stacks)]
    heads = [head for head in stacks[0].heads if all(head in each.heads for each in stacks)]
    if not layers or not heads:
        raise TraceError(f"No {'layer' if not layers else 'head'} of the {stacks[0].name} is in both spaces.")
    return layers, heads


def frame_of(space: Space, stack: str) -> Frame | None:
    """The corners around all points of a stack, where all heads and layers share their axes; None where each head has its own."""
    if space.of != "shared":
        return None
    sides = [side for side in (space.stacks[stack].queries, space.stacks[stack].keys) if side is not None]
    axes = (0, 1, 2)
    low, high = np.min([side.min(axes) for side in sides], 0), np.max([side.max(axes) for side in sides], 0)
    return np.nan_to_num(low), np.nan_to_num(high)


def stack_record(
    stack: SpaceStack,
    layers: list[int],
    heads: list[int],
    *,
    prefix: str,
    texts: Texts,
    arrays: dict[str, Encoded],
    frame: Frame | None = None,
) -> dict[str, Any]:
    """One stack's entry; its arrays and texts are added to those of the view."""
    query_texts = text_indices(stack.query_tokens, texts)
    key_texts = query_texts if stack.key_tokens is stack.query_tokens else text_indices(stack.key_tokens, texts)
    columns = [stack.heads.index(head) for head in heads]
    return {
        "name": stack.name,
        "heads": heads,
        "query_texts": query_texts,
        "key_texts": key_texts,
        "layers": [layer_record(stack, stack.layers.index(layer), columns, f"{prefix}.{layer}", arrays, frame) for layer in layers],
    }


def layer_record(
    stack: SpaceStack, at: int, heads: list[int], prefix: str, arrays: dict[str, Encoded], frame: Frame | None
) -> dict[str, Any]:
    """One layer of a stack as the spec describes it; its arrays are added to `arrays`."""
    points = joined(stack.queries, stack.keys, at, heads)  # [head, point, dims]
    norms = joined(stack.query_norms, stack.key_norms, at, heads)  # [head, point]
    low, high = np.nan_to_num(norms.min(axis=1)), np.nan_to_num(norms.max(axis=1))  # [head]
    reach = np.where(high > low, high - low, 1)
    record = {name: f"{prefix}.{name}" for name in ("points", "norms", "tops", "top_weights")}
    arrays[record["points"]] = encode_fractions(framed(points, frame))
    arrays[record["norms"]] = encode_bytes((norms - low[:, None]) / reach[:, None])
    tops, weights = stack.top_keys[at, heads], stack.top_weights[at, heads]  # [head, query, rank]
    first = stack.key_tokens.starts[stack.query_tokens.text]  # [query]: the first key of its text
    position = np.where(tops < 0, 0, tops - first[:, None] + 1)
    arrays[record["tops"]] = encode_positions(position.swapaxes(1, 2))
    arrays[record["top_weights"]] = encode_weights(np.ascontiguousarray(weights.swapaxes(1, 2)), levels=255, near=0.0005)
    facts = [{name: number(stack.facts[name][at, head]) for name in SHOWN if name in stack.facts} for head in heads]
    ranges = [[number(a), number(b)] for a, b in zip(low, high, strict=True)]
    return {"layer": stack.layers[at], **record, "maps": None, "norm_ranges": ranges, "facts": facts}


def joined(queries: np.ndarray | None, keys: np.ndarray, at: int, heads: list[int]) -> np.ndarray:
    """Queries, then keys, of the chosen heads; keys alone where there are no queries."""
    sides = [keys[at, heads]] if queries is None else [queries[at, heads], keys[at, heads]]
    return np.nan_to_num(np.concatenate(sides, axis=1).astype(np.float32))


def framed(points: np.ndarray, frame: Frame | None = None) -> np.ndarray:
    """Every head's points as fractions of a square (a cube) just around them, with one scale for all directions: near stays near.

    points: [head, point, dims] → the same, from 0 to 1. A head whose points all coincide has them in the middle. frame: the corners of one
    square for all of them.

    >>> framed(np.array([[[0.0, 0.0], [4.0, 2.0]]])).round(2).tolist()
    [[[0.04, 0.27], [0.96, 0.73]]]
    """
    low, high = (points.min(axis=1, keepdims=True), points.max(axis=1, keepdims=True)) if frame is None else frame  # [head, 1, dims]
    low, high = (np.broadcast_to(corner, (len(points), 1, points.shape[2])) for corner in (low, high))
    reach = (high - low).max(axis=2, keepdims=True)
    scale = np.divide(1 - 2 * MARGIN, reach, out=np.zeros_like(reach), where=reach > 0)
    return np.asarray(0.5 + (points - (low + high) / 2) * scale)


def add_maps(
    spaces: list[Space], records: list[dict[str, Any]], shared: dict[str, tuple[list[int], list[int]]], arrays: dict[str, Encoded]
) -> None:
    """Add every weight of every text, where that fits the page; otherwise the view has only the strongest keys of each query."""
    room = MOST_ARRAY_BYTES - sum(len(array.data) for array in arrays.values())
    encoded: dict[str, Encoded] = {}
    for space_index, space in enumerate(spaces):
        for record in records[space_index]["stacks"]:
            stack = space.stacks[record["name"]]
            if stack.maps is None:
                continue
            layers, heads = shared[record["name"]]
            columns = [stack.heads.index(head) for head in heads]
            for layer in layers:
                name = f"{space_index}.{record['name']}.{layer}.maps"
                encoded[name] = encode_steps(stack.maps[stack.layers.index(layer), columns])
                if sum(len(array.data) for array in encoded.values()) > room:
                    return
    arrays.update(encoded)
    for space_index, space in enumerate(spaces):
        for record in records[space_index]["stacks"]:
            for layer in record["layers"] if space.stacks[record["name"]].maps is not None else ():
                layer["maps"] = f"{space_index}.{record['name']}.{layer['layer']}.maps"


def encode_steps(steps: np.ndarray) -> Encoded:
    """Maps that hold round(√a · 255) already: [head, weight]."""
    plain = encode_bytes(steps)
    return Encoded("sqrt8", plain.shape, plain.data, levels=255)


def text_indices(tokens: SpaceTokens, texts: Texts) -> list[int]:
    """The indices of the texts in the view's list; new texts are added to it."""
    tags = tokens.tags or ((),) * len(tokens.texts)
    return [texts.setdefault(pair, len(texts)) for pair in zip(tokens.texts, tags, strict=True)]


def grid_record(name: str, record: dict[str, Any], layers: list[int], heads: list[int]) -> dict[str, Any]:
    """The stack as every other kind of view has it: how many layers and heads there are to choose from."""
    rows = [{"layer": layer, "n_heads": len(heads), "n_key_heads": len(heads), "weights": ""} for layer in layers]
    return {"name": name, "query_text": record["query_texts"][0], "key_text": record["key_texts"][0], "layers": rows}


def opened(shared: tuple[list[int], list[int]], layer: int | None, head: int | None) -> dict[str, Any]:
    """The state's `layer`, `heads` and `opened`, from the numbers of a layer and a head."""
    begins: dict[str, Any] = {}
    for key, requested, available in (("layer", layer, shared[0]), ("heads", head, shared[1])):
        if requested is None:
            continue
        if requested not in available:
            what = "Layer" if key == "layer" else "Head"
            raise TraceError(f"{what} {requested} is not in this view.", f"It has {', '.join(map(str, available))}.")
        position = available.index(requested)
        begins[key] = position if key == "layer" else [position]
    return {**begins, "opened": layer is not None and head is not None} if begins else {}


def number(value: Any) -> float | None:
    """A number for JSON: six digits; None for nan."""
    return float(f"{float(value):.6g}") if np.isfinite(value) else None


# ---- A page for each layer


def save_sheets(space: Space, folder: str | Path, *, red: PairsGiven = (), every_pair: bool = False, language: str = "en") -> list[Path]:
    """Write layer-0.html and so on, all heads with lines from every query to its most attended key; the paths. A click on a head opens it.

    red        pairs drawn in red, in heads in which the key is the query's most attended one: "it → cat", ("it", "cat") or a list of these
    every_pair draw them in every head
    language   of the pages: en, ja or ko
    """
    folder = as_path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for stack in space.stacks.values():
        prefix = f"{stack.name}-" if len(space.stacks) > 1 else ""
        for index, layer in enumerate(stack.layers):
            path = folder / f"{prefix}layer-{layer}.html"
            if space.of == "shared":  # whole, so that every page has the same axes
                view = space_view(space, stack=stack.name, rows=[index], links="best", pairs=red, every_pair=every_pair, language=language)
            else:
                view = space_view(
                    layer_space(space, stack.name, layer), rows=[0], links="best", pairs=red, every_pair=every_pair, language=language
                )
            view.save(path)
            paths.append(path)
    return paths
