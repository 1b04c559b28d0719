"""A text as a reader knows it, line after line: what the still pictures of the sentence view are made of.

frontend/src/views/sentence does the same for the page.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

import numpy as np

from eyeline.heads import HeadRef
from eyeline.look.views.data import ViewData
from eyeline.look.views.drawing import (
    PAGE,
    TOP,
    drawn_quantity,
    edge_bars,
    head_maps,
    head_number,
    locked_units,
    part_colours,
    part_legend,
    quantity_title,
    svg,
    text_of,
    visible_part,
)
from eyeline.look.views.still import Bounds, sink_of
from eyeline.text.tokenized import TokenizedText, columns, printable
from eyeline.words import Words, percent

#: The width of a picture and its margins, in pixels; sizes of letters: the largest, the smallest of one line, and that of several lines.
WIDE, MARGIN, LARGEST, ONE_LINE, SEVERAL = 960, 16, 26, 18, 22
#: Room for arcs above one line and above each of several; for numbers below a line.
ARCS, ARCS_OF_LINES, NUMBERS = 150, 52, 22
#: In sizes of letters: the width of a letter, of a narrow and a broad one, of a gap between words and between pieces of a word, of a
#: blank; and the size of a special token.
LETTER, NARROW, BROAD, GAP, PIECE_GAP, BLANK, SMALL = 0.6, 0.36, 0.8, 0.62, 0.12, 3.4, 0.52
#: The narrowest and the widest arc; of all words together; how many are drawn.
THINNEST, WIDEST, WIDEST_OF_ALL, MOST_ARCS = 0.75, 12.0, 5.0, 2000
#: The weakest arc of a chosen word, that of all words, and the least weight that is written.
FAINTEST, FAINTEST_OF_ALL, LEAST_NUMBER = 0.005, 0.05, 0.01

BLANK_TOKEN = re.compile(r"^[\[<]\|?mask\|?[\]>]$", re.IGNORECASE)
MARKS = re.compile(r"^(##|▁|Ġ|Ċ)(?=.)")


@dataclass(frozen=True)
class Word:
    """One word of the picture: its text, its unit in the text, whether it continues the word before it; y is the middle of its letters."""

    text: str
    unit: int
    special: bool
    blank: bool
    goes_on: bool
    x: float = 0
    y: float = 0
    width: float = 0
    line: int = 0


def written(text: TokenizedText, index: int) -> str:
    """A token in the letters of the word it belongs to, which tokenisers change; else without the mark of its beginning.

    >>> text = TokenizedText(("el", "##ise"), words=(0, 0), word_texts=("Élise",), segments=(0, 0), special=(False, False))
    >>> written(text, 0), written(text, 1)
    ('Él', 'ise')
    """
    own = MARKS.sub("", text.tokens[index])
    word = text.words[index]
    if text.special[index] or word is None:
        return text.tokens[index] if text.special[index] else own
    letters, start = unicodedata.normalize("NFC", text.word_texts[word]), 0
    found = own
    for token in (at for at, of in enumerate(text.words) if of == word):
        body = MARKS.sub("", text.tokens[token])
        piece = letters[start : start + len(unicodedata.normalize("NFC", body))]
        if plain(piece) != plain(body):
            return own
        start += len(piece)
        found = piece if token == index else found
    return found if start == len(letters) else own


def plain(text: str) -> str:
    """Without capitals and accents."""
    return "".join(char for char in unicodedata.normalize("NFD", text) if not unicodedata.combining(char)).lower()


def words_of(text: TokenizedText, units: Sequence[int], level: str) -> list[Word]:
    """The tokens or words at these indices, as they are written."""
    shown_text = text.at_word_level() if level == "word" else text
    found = []
    for unit in units:
        token, special = shown_text.tokens[unit], shown_text.special[unit]
        name = printable(token if level == "word" or special else written(text, unit))
        word = None if level == "word" else text.words[unit]
        goes_on = word is not None and unit > 0 and text.words[unit - 1] == word and unit - 1 in units
        found.append(Word(name, unit, special, bool(BLANK_TOKEN.match(token)), goes_on))
    return found


def letters_wide(text: str) -> float:
    """About how wide the text is, in sizes of its letters: this code has no fonts to measure.

    >>> letters_wide("will") < letters_wide("mama"), letters_wide("日本")
    (True, 2.0)
    """

    def wide(char: str) -> float:
        if columns(char) == 2:
            return 1.0
        return NARROW if char in "iljtfrI.,:;!'|()[]" else BROAD if char in "mwMW@%" or char.isupper() else LETTER

    return sum(map(wide, text))


def laid_out(
    words: Sequence[Word],
    top: float,
    arcs: float,
    arcs_of_lines: float,
    sizes: tuple[int, int, int] = (LARGEST, ONE_LINE, SEVERAL),
    below: int = NUMBERS,
) -> tuple[list[Word], int, float, float]:
    """The words with their positions; the size of the letters, the room for arcs above a line, and the height at which all ends."""

    def wide(word: Word, size: float) -> float:
        if word.blank:
            return BLANK * size
        return max(4.0, letters_wide(word.text) * (max(12.0, SMALL * size) if word.special else size))

    def gap(word: Word, size: float) -> float:
        return max(2.0, PIECE_GAP * size) if word.goes_on else GAP * size

    room = WIDE - 2 * MARGIN

    def whole(size: float) -> float:
        return sum(wide(word, size) + (gap(word, size) if index else 0) for index, word in enumerate(words))

    one = next((size for size in range(sizes[0], sizes[1] - 1, -1) if whole(size) <= room), None)
    size, above = one or sizes[2], arcs if one else arcs_of_lines
    pitch, x, line, placed = above + round(1.4 * size) + below, 0.0, 0, []
    for word in words:
        width, before = min(room, wide(word, size)), gap(word, size) if x else 0.0
        if x and x + before + width > room:
            x, line, before = 0.0, line + 1, 0.0
        start = MARGIN + x + before
        y = top + line * pitch + above + 0.7 * size
        placed.append(Word(word.text, word.unit, word.special, word.blank, word.goes_on, start + width / 2, y, width, line))
        x += before + width
    return placed, size, above, top + (line + 1) * pitch


def sentence_picture(view: ViewData, bounds: Bounds, caption: str, words: Words) -> str:
    """The words of the text, the arcs of the chosen ones (of all, where none is chosen), and their numbers."""
    state, layer = view.state, view.state.get("layer", 0)
    stack = view.spec["stacks"][state.get("stack", 0)]
    part = visible_part(view, layer)
    maps = head_maps(view, part)[:1]
    quantity = drawn_quantity(view)
    record = stack["layers"][layer]
    named = str(HeadRef("", record["layer"], head_number(record, state.get("heads", [0])[0])))
    count = words.count(f"{part.unit}s", len(part.queries))
    title = f"{quantity_title(quantity, words)}{view.spec['model']} · {words.name('stack', stack['name'])} · {named} · {count}"
    if not part.queries or not part.keys or not maps:
        return svg(0, TOP + 16, f"{title} · {words('figure.still.nothing')}", "", caption)
    dark = state.get("theme") == "dark"
    bars = part_colours(view, part, dark=dark)
    weights = maps[0].weights  # [query, key]
    one_text = stack["query_text"] == stack["key_text"]
    query_text, key_text = (text_of(view.spec["texts"][stack[side]]) for side in ("query_text", "key_text"))
    if one_text:
        units = sorted({*part.rows, *part.columns})
        queries, size, room, high = laid_out(words_of(query_text, units, part.unit), TOP, ARCS, ARCS_OF_LINES)
        keys = queries
    else:
        keys, _, _, middle = laid_out(words_of(key_text, part.columns, part.unit), TOP, 0, 6)
        queries, size, room, high = laid_out(words_of(query_text, part.rows, part.unit), middle, 84, ARCS_OF_LINES)
    at_query, at_key = ({word.unit: word for word in side} for side in (queries, keys))
    rows, cols = [at_query[unit] for unit in part.rows], [at_key[unit] for unit in part.columns]
    held, to = locked_units(view, part), state.get("direction") == "to"
    muted = sink_of(weights[None]) if quantity is None and state.get("mute_sinks", True) else None
    drawn = arcs_of(weights, rows, cols, held, muted, state, room, one_text, signed=quantity is not None and quantity["signed"])
    chosen = [(cols if to else rows)[index] for index in held]
    numbers = (weights[:, held].sum(axis=1) if to else weights[held].sum(axis=0)) * (1.0 if quantity is None else quantity["largest"])
    others = rows if to else cols
    of_queries, of_keys = (dict(zip(*pair, strict=False)) for pair in zip((part.rows, part.columns), bars, strict=True))
    for side, colours in ((queries, {**of_keys, **of_queries}),) if one_text else ((keys, of_keys), (queries, of_queries)):
        for word in side:
            drawn.append(word_drawn(word, size, chosen=word in chosen, to=to))
            if word.unit in colours:
                drawn.append(edge_bars([colours[word.unit]], word.x - word.width / 2, word.y + 0.62 * size + 4, word.width, across=True))
    if held:
        drawn += numbers_drawn(others, numbers, muted if not to else None, size)
    if muted is not None:
        share = percent(float(weights.mean(axis=0)[muted]))
        note = words("view.sink_muted", token=cols[muted].text, share=share)
        drawn.append(f'<text x="{MARGIN}" y="{high + 12:.0f}" fill="{PAGE.muted}">{escape(note)}</text>')
        high += 20
    squares, rows_of_legend = part_legend(view, part, MARGIN, high, WIDE - 2 * MARGIN, dark=dark)
    return svg(WIDE, high + 4 + rows_of_legend, title, "".join([*drawn, squares]), caption)


def arcs_of(
    weights: np.ndarray,
    rows: Sequence[Word],
    cols: Sequence[Word],
    held: Sequence[int],
    muted: int | None,
    state: Mapping[str, Any],
    room: float,
    one_text: bool,
    *,
    signed: bool,
) -> list[str]:
    """The arcs as paths, the strongest last. weights: [query, key]; held: rows, or columns where the state looks from the other side."""
    size, to = np.abs(weights), state.get("direction") == "to"
    largest = float(size.max()) if state.get("rescale") else 1.0
    visible = size >= max(state.get("threshold", 0.0), FAINTEST if held else FAINTEST_OF_ALL) * (largest or 1.0)
    if held:
        alone = np.zeros_like(visible)
        alone[(slice(None), held) if to else held] = True
        visible &= alone
    if muted is not None:
        visible[:, muted] = False
    pairs = np.argwhere(visible)
    pairs = pairs[np.argsort(size[visible], kind="stable")][-MOST_ARCS:]
    widest = WIDEST if held else WIDEST_OF_ALL
    found = []
    for row, col in pairs.tolist():
        weight = float(weights[row, col])
        colour = (PAGE.negative if weight < 0 else PAGE.positive) if signed else (PAGE.query if to else PAGE.key)
        thick = THINNEST + (widest - THINNEST) * min(1.0, abs(weight) / (largest or 1.0))
        path = curve(rows[row], cols[col], room, one_text)
        found.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{thick:.2f}"/>')
    return found


def curve(start: Word, end: Word, room: float, one_text: bool) -> str:
    """An arc over the words of one line, a loop over one word, or a curve from line to line."""
    up, down = 17, 17 + NUMBERS
    if one_text and start.line == end.line:
        apart = abs(start.x - end.x)
        half = 9 if apart < 1 else 0
        rise = min(room - 6, 26 if apart < 1 else 22 + 0.2 * apart) / 0.75  # a cubic curve rises to three quarters of its handles
        top = start.y - up
        left, right = start.x - half, end.x + half
        return f"M{left:.1f} {top:.1f}C{left:.1f} {top - rise:.1f} {right:.1f} {top - rise:.1f} {right:.1f} {top:.1f}"
    above = end.y < start.y
    y1, y2 = (start.y - up, end.y + down) if above else (start.y + down, end.y - up)
    bend = max(24.0, 0.5 * abs(y2 - y1)) * (-1 if above else 1)
    return f"M{start.x:.1f} {y1:.1f}C{start.x:.1f} {y1 + bend:.1f} {end.x:.1f} {y2 - bend:.1f} {end.x:.1f} {y2:.1f}"


def word_drawn(word: Word, size: float, *, chosen: bool, to: bool) -> str:
    """A word, or the rule of a blank; a chosen one in bold with a line below it."""
    letters = max(12.0, SMALL * size) if word.special else size
    colour, left, right = PAGE.key if to else PAGE.query, word.x - word.width / 2, word.x + word.width / 2
    base = word.y + 0.62 * size

    def rule(y: float, stroke: str, thick: float) -> str:
        return f'<path d="M{left:.1f} {y:.1f}L{right:.1f} {y:.1f}" fill="none" stroke="{stroke}" stroke-width="{thick}"/>'

    bold, fill = (' font-weight="600"' if chosen else ""), f' fill="{PAGE.muted}"' if word.special else ""
    drawn = (
        rule(base - 4, colour if chosen else PAGE.text, 2)
        if word.blank
        else f'<text x="{word.x:.1f}" y="{word.y + 0.35 * letters:.1f}" text-anchor="middle" font-size="{letters:.3g}"{bold}{fill}>'
        f"{escape(word.text)}</text>"
    )
    return drawn + (rule(base + 1, colour, 3) if chosen else "")


def numbers_drawn(words: Sequence[Word], numbers: np.ndarray, muted: int | None, size: float) -> list[str]:
    """Numbers below their words; where two would touch, the larger one stays."""
    taken: list[tuple[int, float]] = []
    found = []
    for index in np.argsort(-np.abs(numbers), kind="stable").tolist():
        word, value = words[index], float(numbers[index])
        if abs(value) < LEAST_NUMBER or any(line == word.line and abs(x - word.x) < 48 for line, x in taken):
            continue
        taken.append((word.line, word.x))
        fill = f' fill="{PAGE.muted}"' if index == muted else ""
        y = word.y + 0.7 * size + 15
        found.append(
            f'<text x="{word.x:.1f}" y="{y:.1f}" text-anchor="middle" font-family="monospace" font-size="13"{fill}>{value:.3f}</text>'
        )
    return found


# ---- The text view: a paragraph whose words are shaded


#: The size of its letters, the most words of a preview and of a saved picture, and the least part of the largest number that is shaded.
PARAGRAPH, PREVIEWED, MOST_WORDS, LEAST_SHADE = 16, 300, 4200, 0.02


def text_picture(view: ViewData, bounds: Bounds, caption: str, words: Words) -> str:
    """The paragraph, its words shaded by what the chosen ones look at; a preview shows the words around the first of them."""
    state, layer = view.state, view.state.get("layer", 0)
    stack = view.spec["stacks"][state.get("stack", 0)]
    part, to = visible_part(view, layer), state.get("direction") == "to"
    record, maps, quantity = stack["layers"][layer], head_maps(view, part)[:1], drawn_quantity(view)
    named = str(HeadRef("", record["layer"], head_number(record, state.get("heads", [0])[0])))
    count = words.count(f"{part.unit}s", len(part.queries))
    title = f"{quantity_title(quantity, words)}{view.spec['model']} · {words.name('stack', stack['name'])} · {named} · {count}"
    if not part.queries or not part.keys or not maps:
        return svg(0, TOP + 16, f"{title} · {words('figure.still.nothing')}", "", caption)
    weights, held = maps[0].weights, locked_units(view, part)
    muted = sink_of(weights[None]) if quantity is None and state.get("mute_sinks", True) else None
    numbers = weights[:, held].sum(axis=1) if to else weights[held].sum(axis=0)
    units, own = (part.rows, part.columns) if to else (part.columns, part.rows)
    values = dict(zip(units, numbers.tolist(), strict=True))
    chosen = {own[index] for index in held} if stack["query_text"] == stack["key_text"] else set()
    if muted is not None and not to:
        values.pop(part.columns[muted])
    text = text_of(view.spec["texts"][stack["query_text" if to else "key_text"]])
    every = words_of(text, sorted({*units, *chosen}), part.unit)
    most = PREVIEWED if bounds.lines < MOST_ARCS else MOST_WORDS
    first = max(0, min(len(every) - most, next((at for at, word in enumerate(every) if word.unit in chosen), 0) - most // 2))
    placed, size, _, high = laid_out(every[first : first + most], TOP, 0, 0, (PARAGRAPH,) * 3, 4)
    largest = max([abs(value) for unit, value in values.items() if unit not in chosen], default=0) or 1.0
    signed = quantity is not None and quantity["signed"]
    drawn = []
    for word in placed:
        value = values.get(word.unit, 0.0)
        full = (PAGE.negative if value < 0 else PAGE.positive) if signed else PAGE.query if to else PAGE.key
        share = min(1.0, abs(value) / largest)
        shade = (PAGE.key if to else PAGE.query) if word.unit in chosen else full if share >= LEAST_SHADE else None
        if shade is not None:
            opacity = 1.0 if word.unit in chosen else share**0.5
            drawn.append(
                f'<rect x="{word.x - word.width / 2 - 2:.1f}" y="{word.y - 11:.1f}" width="{word.width + 4:.1f}" height="22" rx="3" '
                f'fill="{shade}" opacity="{opacity:.2f}"/>'
            )
        fill = f' fill="{PAGE.ground}"' if word.unit in chosen else f' fill="{PAGE.muted}"' if word.special and shade is None else ""
        letters = max(12.0, SMALL * size) if word.special else size
        at = f'x="{word.x:.1f}" y="{word.y + 5:.1f}" text-anchor="middle" font-size="{letters:.3g}"{fill}'
        drawn.append(f"<text {at}>{'____' if word.blank else escape(word.text)}</text>")
    return svg(WIDE, high + 8, title, "".join(drawn), caption)
