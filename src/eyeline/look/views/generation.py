"""The view of a generation: the conversation as text, lit where a written token looked; shares of its parts; heads that read a part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Unpack
from xml.sax.saxutils import escape

import numpy as np

from eyeline.errors import TraceError
from eyeline.heads import HeadRef
from eyeline.look.generation import WRITTEN, Generation, WrittenAttention
from eyeline.look.palette import DARK_PAGE, LIGHT_PAGE, mixed, part_colour
from eyeline.look.views.data import Encoded, ViewData, encode_fractions, encode_positions, encode_weights
from eyeline.look.views.drawing import PAGE, TOP, legend, svg
from eyeline.look.views.options import GenerationViewOptions
from eyeline.look.views.running_text import letters_wide
from eyeline.look.views.state import checked
from eyeline.look.views.still import Bounds
from eyeline.look.views.view import FORMAT, View, text_record
from eyeline.messages import Message
from eyeline.text.conversation import FIRST, REST, TEMPLATE, THINKING
from eyeline.text.tokenized import TokenizedText, index_of, printable
from eyeline.words import Words, check_language

#: How many of the strongest keys of a row a page holds; the rest is one number.
STRONGEST = 64

#: Rows are included as long as their arrays together have fewer bytes than this: with the text and the shares, a page of 10 MB.
MOST_ROW_BYTES = 4_500_000

#: Shares with more numbers than this take one byte each instead of two.
MOST_SHARES = 1_000_000


def generation_view(
    generation: Generation,
    *,
    layer: int | None = None,
    head: int | None = None,
    language: str = "en",
    **options: Unpack[GenerationViewOptions],
) -> View:
    """The conversation as text, where a click on a written token lights what it looked at; below it the share of every part.

    layer, head  what the reader begins with: one head, or the mean of one layer; otherwise the mean of all heads
    language     of its controls, titles, notices and pictures: en, ja or ko
    options      any other key of the state in docs/view-format.md: `written` (a written token), `part`, `theme` …

    A page holds the 64 strongest keys of each row, and the rest as one number: of the mean rows, and of the heads whose whole rows the
    generation kept (`model.generate(…, heads=[(18, 6)])`).
    """
    if not isinstance(generation, Generation):
        raise TraceError(
            f"A {type(generation).__name__} where a generation was expected.",
            "Make one: model.generate(prompt). Or open one: el.open(path).",
        )
    check_language(language)
    stack = generation.main
    arrays: dict[str, Encoded] = {}
    rows, left_out = row_records(stack, arrays)
    texts: list[TokenizedText] = [generation.text]
    keys = index_of(stack.keys, texts)
    counts = [len(shares) for shares in stack.shares_by_layer]
    words = Words(language)
    effects = generation.effects
    record: dict[str, Any] = {
        "n_prompt": generation.n_prompt,
        "keys": keys,
        "parts": list(stack.parts),
        "part_of": list(stack.keys.part_of),
        "shown_parts": [shown_part(part, words) for part in stack.parts],
        "colours": part_colours(stack.parts),
        "part": most_read(stack),
        "probabilities": [round(float(p), 4) for p in generation.probabilities],
        "alternatives": [
            [[token, round(p, 4)] for token, p in zip(choices.tokens, choices.probabilities, strict=True)]
            for choices in generation.alternatives
        ],
        "shares": share_arrays(stack, arrays),
        "rows": rows,
    }
    notices = list(generation.notices)
    if left_out:
        notices.append(Message("notice.generation_view.left_out", rows=f"{left_out:,}"))
    if effects is not None:
        record["effects"] = {
            "parts": list(effects.parts),
            **{way: rounded(getattr(effects, way)) for way in ("removed", "cut") if np.isfinite(getattr(effects, way)).any()},
        }
        notices += disagreement(generation, words)
    spec: dict[str, Any] = {
        "format": FORMAT,
        "kind": "generation",
        "model": generation.model,
        "texts": [text_record(text) for text in texts],
        "stacks": [
            {
                "name": stack.name,
                "query_text": 0,
                "key_text": keys,
                "layers": [
                    {"layer": number, "n_heads": count, "n_key_heads": count, "weights": ""}
                    for number, count in zip(stack.layers, counts, strict=True)
                ],
            }
        ],
        "generation": record,
    }
    if notices:
        spec["notices"] = [words.of(Message.of(notice)) for notice in notices]
    start: dict[str, Any] = {"stack": 0, "layer": 0, "heads": [0], "shown": "mean", "written": telling_token(stack)}
    if layer is not None:
        start |= {"layer": index_of_layer(stack, layer), "shown": "layer"}
    if head is not None:
        if layer is None or not 0 <= head < counts[start["layer"]]:
            raise TraceError(f"head={head} of layer {layer}.", "Give the layer, and a head of it: layer=18, head=6.")
        start |= {"heads": [head], "shown": "head"}
    spec["state"] = {**start, **checked(dict(options), spec, start)}
    return View("generation", spec, arrays, language)


def index_of_layer(stack: WrittenAttention, layer: int) -> int:
    """The index of a layer in the stack; an error that lists the layers."""
    if layer not in stack.layers:
        raise TraceError(f"Layer {layer} is not in this generation.", f"It has layers {', '.join(map(str, stack.layers))}.")
    return stack.layers.index(layer)


def shown_part(part: str, words: Words) -> str:
    """The name of a part as a reader sees it: those with fixed names are translated, names of users stay."""
    name, _, number = part.rpartition(" ")
    if part in (FIRST, TEMPLATE, WRITTEN, "system", "tools", "text"):
        return words(f"view.part_{part.replace(' ', '_')}")
    if name in (THINKING, "user", "assistant") and number.isdigit():
        return f"{words(f'view.part_{name}')} {number}"
    return printable(part)


def part_colours(parts: Sequence[str]) -> list[list[str]]:
    """A colour for each part, on a light and on a dark page: what was written has the accent, others as in every view of a conversation."""
    grey = {FIRST: 0, TEMPLATE: 1, REST: 2}
    colours, further = [], 2
    for part in parts:
        if part == WRITTEN:
            colours.append([LIGHT_PAGE.accent, DARK_PAGE.accent])
            continue
        number = grey.get(part, further)
        further += part not in (FIRST, TEMPLATE)
        colours.append([part_colour(number), part_colour(number, dark=True)])
    return colours


def row_records(stack: WrittenAttention, arrays: dict[str, Encoded]) -> tuple[list[dict[str, Any]], int]:
    """The rows that a page holds, of the mean of all heads, of each layer's mean, and of the heads whose rows were kept; how many not."""
    counts = np.array([len(shares) for shares in stack.shares_by_layer], float)
    means = [mean.astype(np.float32) for mean in stack.mean_by_layer]
    of_all = sum(mean * count for mean, count in zip(means, counts, strict=True)) / counts.sum()
    every: list[tuple[int | None, int | None, np.ndarray]] = [(None, None, np.asarray(of_all))]
    every += [(index, None, mean) for index, mean in enumerate(means)]
    for index, heads in enumerate(stack.heads_by_layer):
        every += [(index, head, stack.rows_by_layer[index][at]) for at, head in enumerate(heads)]
    records: list[dict[str, Any]] = []
    size = 0
    for number, (layer, head, rows) in enumerate(every):
        positions, weights, rest = strongest(np.asarray(rows, np.float32))
        encoded = {"keys": encode_positions(positions), "weights": encode_weights(weights[None]), "rest": encode_fractions(rest)}
        size += sum(len(array.data) for array in encoded.values())
        if size > MOST_ROW_BYTES and records:
            return records, len(every) - number
        arrays |= {f"rows.{number}.{name}": array for name, array in encoded.items()}
        records.append({"layer": layer, "head": head, "arrays": f"rows.{number}"})
    return records, 0


def strongest(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The positions and weights of the strongest keys of each row, in the order of the text, and what all others have together.

    rows: [written, key] → [written, 64] twice, [written]

    >>> positions, weights, rest = strongest(np.array([[0.5, 0.25, 0.25]]))
    >>> positions.tolist(), weights.tolist(), rest.tolist()
    ([[0, 1, 2]], [[0.5, 0.25, 0.25]], [0.0])
    """
    n = min(STRONGEST, rows.shape[1])
    positions = np.sort(np.argpartition(-rows, n - 1, axis=1)[:, :n], axis=1)
    weights = np.take_along_axis(rows, positions, axis=1)
    return positions, weights, np.clip(rows.sum(1) - weights.sum(1), 0, 1)


def share_arrays(stack: WrittenAttention, arrays: dict[str, Encoded]) -> list[str]:
    """The name of the array of each layer, [head, written, part]."""
    few = sum(shares.size for shares in stack.shares_by_layer) <= MOST_SHARES
    names = []
    for index, shares in enumerate(stack.shares_by_layer):
        names.append(f"shares.{index}")
        arrays[names[-1]] = encode_fractions(shares) if few else encode_weights(shares, levels=255, near=0.01)
    return names


def rounded(numbers: np.ndarray) -> list[list[float | None]]:
    """Numbers with three decimals for JSON; None where one was not measured."""
    return [[round(float(x), 3) if np.isfinite(x) else None for x in row] for row in numbers]


def telling_token(stack: WrittenAttention) -> int:
    """The written token whose mean row looks most at one token of the prompt's own parts."""
    quiet = [stack.parts.index(part) for part in (FIRST, TEMPLATE, WRITTEN) if part in stack.parts]
    own = ~np.isin(np.array(stack.keys.part_of), quiet)
    if not own.any():
        return 0
    mean = np.mean([rows[:, own].max(1) for rows in stack.mean_by_layer], axis=0)  # [written]
    return int(mean.argmax())


def most_read(stack: WrittenAttention) -> int:
    """The part of the prompt that gets the largest share, template and first position aside."""
    shares = stack.shares_at().mean(0)
    own = [index for index, part in enumerate(stack.parts) if part not in (FIRST, TEMPLATE, WRITTEN)]
    return int(max(own, key=lambda index: shares[index], default=len(shares) - 1))


def disagreement(generation: Generation, words: Words) -> list[Message]:
    """A sentence where the part with the largest share is not the one without which the text changes most."""
    effects, stack = generation.effects, generation.main
    if effects is None or len(effects.parts) < 2:
        return []
    taken = effects.removed if np.isfinite(effects.removed).any() else effects.cut
    shares = stack.shares_at().mean(0)
    share = {part: float(shares[stack.parts.index(part)]) for part in effects.parts}
    change = {part: float(np.abs(taken[:, i]).mean()) for i, part in enumerate(effects.parts)}
    looked, did = max(share, key=lambda part: share[part]), max(change, key=lambda part: change[part])
    if looked == did:
        return []
    return [
        Message(
            "notice.generation_view.disagree",
            looked=shown_part(looked, words),
            share=f"{share[looked]:.3f}",
            did=shown_part(did, words),
            change=f"{change[did]:.2f}",
        )
    ]


# ---- The still picture: the text, the shares and the heads


#: The width of a picture, the room for the names of parts, the height of a line and of the bars, the side of a cell.
WIDE, LEFT, LINE, BARS, CELL = 960, 110, 24, 120, 14

#: Stretches of tokens that are not lit are cut to this many at either end.
AROUND = 40


@dataclass(frozen=True)
class ShownRow:
    """What a state shows: the name of the head, layer or mean; weights by position; the rest; the share of each part [written, part]."""

    name: str
    weights: dict[int, float] | None
    rest: float
    shares: np.ndarray


def shown_row(view: ViewData, words: Words) -> ShownRow:
    """What the state of a view shows, from its arrays."""
    spec, state = view.spec["generation"], view.state
    layer, head = (state["layer"], state["heads"][0]) if state["shown"] != "mean" else (None, None)
    head = head if state["shown"] == "head" else None
    shares = [decoded_shares(view, index) for index in range(len(spec["shares"]))]
    number = None if layer is None else view.spec["stacks"][0]["layers"][layer]["layer"]
    of = np.concatenate(shares).mean(0) if layer is None else shares[layer].mean(0) if head is None else shares[layer][head]
    name = (
        words("view.mean_of_heads")
        if number is None
        else str(HeadRef("", number, head))
        if head is not None
        else words("figure.still.layer", layer=number)
    )
    record = next((each for each in spec["rows"] if (each["layer"], each["head"]) == (layer, head)), None)
    if record is None:
        return ShownRow(name, None, 0.0, of)
    arrays, t = record["arrays"], state["written"]
    keys = view.arrays[f"{arrays}.keys"].decode()[t].astype(int)
    weights = view.arrays[f"{arrays}.weights"].decode()[0, t]
    rest = float(view.arrays[f"{arrays}.rest"].decode()[t]) / 65535
    return ShownRow(name, dict(zip(keys.tolist(), weights.tolist(), strict=True)), rest, of)


def decoded_shares(view: ViewData, layer: int) -> np.ndarray:
    """[head, written, part]"""
    array = view.arrays[view.spec["generation"]["shares"][layer]]
    return array.decode() / 65535 if array.dtype == "uint16" else array.decode()


def generation_picture(view: ViewData, bounds: Bounds, caption: str, words: Words) -> str:
    """The conversation, lit where the chosen token looked, the bars of shares, and the grid of heads of the chosen part."""
    spec, state = view.spec["generation"], view.state
    row = shown_row(view, words)
    text, keys = view.spec["texts"][0], view.spec["texts"][spec["keys"]]
    token = text["tokens"][spec["n_prompt"] + state["written"]]
    title = f"{view.spec['model']} · {words('view.generation_when', token=printable(token), name=row.name)}"
    drawn, high = text_drawn(view, row, keys["tokens"])
    if spec["keys"] != 0:
        more, high = written_drawn(view, text["tokens"][spec["n_prompt"] :], high, words)
        drawn += more
    bars, high = bars_drawn(row.shares, [pair[0] for pair in spec["colours"]], state["written"], high + 16)
    names, below = legend(
        [escape(name) for name in spec["shown_parts"]], [pair[0] for pair in spec["colours"]], LEFT, high + 8, WIDE - LEFT
    )
    grid, high = grid_drawn(view, high + below + 24, words)
    return svg(WIDE, high + 8, title, "".join(drawn) + bars + names + grid, caption)


def runs(part_of: Sequence[int]) -> list[tuple[int, int, int]]:
    """Stretches of one part: part, first token, one after the last.

    >>> runs([0, 1, 1, 0])
    [(0, 0, 1), (1, 1, 3), (0, 3, 4)]
    """
    cuts = [0, *(i for i in range(1, len(part_of)) if part_of[i] != part_of[i - 1]), len(part_of)]
    return [(part_of[a], a, b) for a, b in pairwise(cuts)]


def text_drawn(view: ViewData, row: ShownRow, tokens: Sequence[str]) -> tuple[list[str], float]:
    """The tokens of every part, line after line, and the height at which they end."""
    spec, state = view.spec["generation"], view.state
    weights = row.weights or {}
    muted = spec["parts"].index(FIRST) if state.get("mute_sinks", True) and FIRST in spec["parts"] else None
    lit = {key: weight for key, weight in weights.items() if spec["part_of"][key] != muted}
    most = max(lit.values(), default=0.0) or 1.0
    chosen = spec["n_prompt"] + state["written"] if spec["keys"] == 0 else -1
    drawn, x, y = [], float(LEFT), TOP + 14.0
    for part, first, last in runs(spec["part_of"]):
        quiet = spec["parts"][part] in (FIRST, TEMPLATE)
        if not quiet:
            if x > LEFT:
                x, y = float(LEFT), y + LINE
            name = f'<text x="{LEFT - 10}" y="{y + 4:.0f}" text-anchor="end" font-weight="600" fill="{spec["colours"][part][0]}">'
            drawn.append(f"{name}{escape(spec['shown_parts'][part])}</text>")
        for position in range(first, last):
            near = min(position - first, last - 1 - position) < AROUND or any(abs(position - key) < 4 for key in lit)
            if not near:
                continue
            weight, shown = lit.get(position, 0.0) / most, shown_token(tokens[position])
            wide = wide_of(shown)
            if x + wide > WIDE - 16:
                x, y = float(LEFT), y + LINE
            if position == chosen:
                drawn.append(f'<rect x="{x:.1f}" y="{y - 10:.1f}" width="{wide:.1f}" height="20" rx="3" fill="{PAGE.accent}"/>')
            elif weight > 0.01:
                lit_colour = mixed(PAGE.ground, PAGE.key, 0.7 * weight**0.5)
                drawn.append(f'<rect x="{x:.1f}" y="{y - 10:.1f}" width="{wide:.1f}" height="20" rx="3" fill="{lit_colour}"/>')
            fill = PAGE.ground if position == chosen else PAGE.muted if quiet or (chosen >= 0 and position > chosen) else PAGE.text
            drawn.append(token_drawn(shown, x, y, fill, 10 if quiet else 13))
            x += wide
    return drawn, y + LINE


def written_drawn(view: ViewData, tokens: Sequence[str], high: float, words: Words) -> tuple[list[str], float]:
    """What a decoder wrote, where that is not among the tokens that are looked at."""
    drawn = [
        f'<text x="{LEFT - 10}" y="{high + 4:.0f}" text-anchor="end" font-weight="600" fill="{PAGE.accent}">'
        f"{escape(words('view.part_written'))}</text>"
    ]
    x = float(LEFT)
    for position, token in enumerate(tokens):
        shown = shown_token(token)
        wide = wide_of(shown)
        if x + wide > WIDE - 16:
            x, high = float(LEFT), high + LINE
        chosen = position == view.state["written"]
        if chosen:
            drawn.append(f'<rect x="{x:.1f}" y="{high - 10:.1f}" width="{wide:.1f}" height="20" rx="3" fill="{PAGE.accent}"/>')
        fill = PAGE.ground if chosen else PAGE.text
        drawn.append(token_drawn(shown, x, high, fill))
        x += wide
    return drawn, high + LINE


def wide_of(shown: str) -> float:
    """About how wide a token is: this code has no fonts to measure."""
    spaces = len(shown) - len(shown.lstrip())
    return 5 * spaces + 13.4 * letters_wide(shown.lstrip()) + 1


def token_drawn(shown: str, x: float, y: float, fill: str, size: int = 13) -> str:
    """A token, moved to the right by the space that it begins with."""
    spaces = len(shown) - len(shown.lstrip())
    return f'<text x="{x + 5 * spaces:.1f}" y="{y + 4:.1f}" font-size="{size}" fill="{fill}">{escape(shown.strip())}</text>'


def shown_token(token: str) -> str:
    """A token as it stands in a text: its mark of a space is one."""
    return printable(token.replace("▁", " ").replace("Ġ", " ").removeprefix("##"))


def bars_drawn(shares: np.ndarray, colours: Sequence[str], chosen: int, top: float) -> tuple[str, float]:
    """Stacked shares, a bar for each written token: [written, part]."""
    step = (WIDE - LEFT - 16) / len(shares)
    drawn = []
    for t, of_parts in enumerate(shares):
        y = top + BARS
        for part, share in enumerate(of_parts):
            high = float(share) * BARS
            y -= high
            if high > 0.2:
                drawn.append(
                    f'<rect x="{LEFT + t * step:.1f}" y="{y:.1f}" width="{max(0.5, step - 1):.1f}" height="{high:.1f}" '
                    f'fill="{colours[part] if t == chosen else mixed(PAGE.ground, colours[part], 0.6)}"/>'
                )
    return "".join(drawn), top + BARS


def grid_drawn(view: ViewData, top: float, words: Words) -> tuple[str, float]:
    """A cell for each head, darker where it looks more at the chosen part: layers from left to right."""
    spec, state = view.spec["generation"], view.state
    part = state.get("part")
    part = spec["part"] if part is None else part
    values = [decoded_shares(view, index).mean(1)[:, part] for index in range(len(spec["shares"]))]  # of each layer [head]
    colour = spec["colours"][part][0]
    title = words("view.which_heads_read", part=spec["shown_parts"][part])
    drawn = [f'<text x="{LEFT}" y="{top + 4:.0f}" font-weight="600">{escape(title)}</text>']
    side = min(CELL, (WIDE - LEFT - 16) / len(values))
    largest = max(float(value.max()) for value in values) or 1.0
    for layer, of_layer in enumerate(values):
        for head, value in enumerate(of_layer):
            x, y = LEFT + layer * side, top + 14 + head * side
            fill = mixed(PAGE.faint, colour, float(value) / largest)
            drawn.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{side - 2:.1f}" height="{side - 2:.1f}" rx="2" fill="{fill}"/>')
    return "".join(drawn), top + 14 + max(map(len, values)) * side
