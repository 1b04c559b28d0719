"""Made-up traces that the tests of this folder open, shown by the package itself; and pages to look at, written into a folder:

python -m tests.browser.made_up OUT
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import eyeline as el
from eyeline.look.answer import Choices
from eyeline.look.generation import Generation, PartEffects, WrittenAttention
from eyeline.look.views.view import View
from tests.reference.softmax import softmax

STRANGE = [
    "</script>",
    "<img src=x onerror=alert(1)>",
    "\"quoted'",
    "👩‍👩‍👧",
    "日本語",
    "שלום",
    "\u202eabc",
    "\n",
    "tab\there",
    "▁space",
    "##ing",
    "\x00",
    " ",
]
TEXT = "the quick brown fox jumps over a lazy dog while nobody in this quiet town really watches what it does next"
WORDS = TEXT.split()
VIEWS: dict[str, Callable[..., View]] = {"head": el.head_view, "model": el.model_view}


def made_up(heads: int, queries: int, keys: int, rng: np.random.Generator, causal: bool = False) -> np.ndarray:
    """[head, query, key]: heads of the usual kinds, which look at the previous, the next, the first token, themselves, everywhere."""
    i, j = np.arange(queries)[:, None], np.arange(keys)[None]
    weights = np.empty((heads, queries, keys), dtype=np.float32)
    for head in range(heads):
        kind = head % 6
        scores = rng.normal(size=(queries, keys)) * (0.4 if kind == 4 else 1.2)
        target = [j - i + 1, j - i - 1, j + 0 * i, j - i, None, (j * 7 - i * 3) % max(4, keys // 6)][kind]
        scores += 0 if target is None else 6 * np.exp(-0.5 * target.astype(float) ** 2)
        weights[head] = softmax(np.where(causal & (j > i), -1e9, scores))
    return weights


def text(n: int, pair: bool = False, strange: bool = False) -> el.traces.TokenizedText:
    """n tokens with [CLS] and [SEP] and some pieces of words."""
    body = [WORDS[k % len(WORDS)] for k in range(n - 2 - pair)]
    for k in range(4, len(body), 9):
        body[k] = "##ing"
    if strange:
        body[: len(STRANGE)] = STRANGE[: len(body)]
    middle = len(body) // 2
    tokens = ["[CLS]", *body[:middle], "[SEP]", *body[middle:], "[SEP]"] if pair else ["[CLS]", *body, "[SEP]"]
    special = [token in ("[CLS]", "[SEP]") for token in tokens]
    plain = el.traces.TokenizedText.from_tokens(tokens, special=special, second_from=middle + 2 if pair else None)
    words: list[int | None] = []
    word_texts: list[str] = []
    for token, is_special in zip(tokens, special, strict=True):
        if is_special:
            words.append(None)
            continue
        if token.startswith("##") and words[-1] is not None:
            word_texts[-1] += token[2:]
        else:
            word_texts.append(token)
        words.append(len(word_texts) - 1)
    return replace(plain, words=tuple(words), word_texts=tuple(word_texts))


def trace(
    n: int,
    layers: int = 12,
    heads: int = 12,
    pair: bool = False,
    strange: bool = False,
    causal: bool = False,
    tokens: el.traces.TokenizedText | None = None,
) -> el.Trace:
    rng = np.random.default_rng(0)
    side = tokens or text(n, pair, strange)
    result = el.Trace.from_arrays([made_up(heads, n, n, rng, causal) for _ in range(layers)], side.tokens, model="made up")
    return replace(result, stacks={"encoder": replace(result.encoder, query_text=side, key_text=side)})


def view(kind: str, n: int, state: dict[str, Any] | None = None, **options: Any) -> View:
    """A view at layer 0 with all heads, not at the head with the strongest look, unless `state` says otherwise."""
    small = trace(n, **options)
    shown = VIEWS[kind](small, layer=small.layers[0]) if kind == "head" else VIEWS[kind](small)
    return shown.starting(**state or {})


def crossed_trace() -> el.Trace:
    """Encoder, decoder and cross attention of unequal depths and lengths."""
    rng = np.random.default_rng(1)
    source, target = text(14), text(9)
    stacks = {}
    for name, query, key, depth in (("encoder", source, source, 6), ("decoder", target, target, 3), ("cross", target, source, 3)):
        weights = tuple(made_up(8, len(query), len(key), rng, name == "decoder") for _ in range(depth))
        stacks[name] = el.traces.Stack(name, query, key, tuple(range(depth)), weights)
    return el.Trace("made up", stacks)


def crossed(kind: str = "head") -> View:
    return VIEWS[kind](crossed_trace())


def neuron_trace(
    n: int,
    heads: int = 8,
    key_heads: int = 8,
    dims: int = 64,
    causal: bool = False,
    bias: bool = False,
    pair: bool = False,
    values: bool = True,
) -> el.Trace:
    """Two layers whose weights follow from their queries and keys."""
    rng = np.random.default_rng(2)
    side, scale = text(n, pair), dims**-0.5
    ahead = np.triu(np.ones((n, n), bool), 1)
    added = (-0.3 * np.abs(np.arange(n)[:, None] - np.arange(n)) * np.ones((heads, 1, 1))).astype(np.float32)
    weights, queries, keys, kept = [], [], [], []
    for _ in range(2):
        q, k = (rng.normal(size=(count, n, dims)).astype(np.float32) for count in (heads, key_heads))
        q *= 2
        scores = q @ np.repeat(k, heads // key_heads, 0).swapaxes(1, 2) * scale + (added if bias else 0)  # [head, query, key]
        weights.append(softmax(np.where(causal & ahead, -np.inf, scores)))
        queries.append(q)
        keys.append(k)
        kept.append(rng.normal(size=(key_heads, n, dims)).astype(np.float32) if values else None)
    small = el.Trace.from_arrays(weights, side.tokens, queries=queries, keys=keys, values=kept if values else None, model="made up")
    stack = replace(
        small.encoder,
        query_text=side,
        key_text=side,
        mask_by_layer=(~ahead if causal else None,) * 2,
        bias_by_layer=(added if bias else None,) * 2,
        plain=True,
    )
    return replace(small, stacks={"encoder": stack})


def neurons(n: int, state: dict[str, Any] | None = None, **given: Any) -> View:
    return el.neuron_view(neuron_trace(n, **given), layer=0, head=0).starting(**state or {})


def sentence(n: int, state: dict[str, Any] | None = None, **given: Any) -> View:
    """A sentence view of two layers, at the first head of the first, with no word chosen."""
    small = trace(n, **{"layers": 2, "heads": 4, **given})
    return el.sentence_view(small, layer=0, head=0, locked=[]).starting(**state or {})


def paragraph(n: int, state: dict[str, Any] | None = None, **given: Any) -> View:
    """A text view of one layer, at its first head, with no word chosen."""
    small = trace(n, **{"layers": 1, "heads": 2, **given})
    return el.text_view(small, layer=0, head=0, locked=[]).starting(**state or {})


SENTENCE = "The keys that the old librarian had forgotten on the table were found by the cleaner, who gave them back."
PAGES: dict[str, Callable[[], View]] = {
    **{f"{kind}-{n}": partial(view, kind, n) for kind in VIEWS for n in (8, 30, 128, 512)},
    "head-pair": lambda: view("head", 24, pair=True),
    "head-strange": lambda: view("head", 18, strange=True, layers=2),
    **{f"{kind}-{n}-heads": partial(view, kind, 20, layers=4, heads=n, causal=True) for kind in VIEWS for n in (16, 32, 40)},
    "head-4096": lambda: view("head", 4096, layers=1, heads=1),
    "cross": crossed,
    "model-cross": lambda: crossed("model"),
    "sentence-14": lambda: sentence(14, state={"locked": [5]}),
    "sentence-120": lambda: sentence(120, state={"locked": [50]}),
    "text-300": lambda: paragraph(300, state={"locked": [50]}),
    "neuron-8": lambda: neurons(8),
    "neuron-30-grouped-causal": lambda: neurons(30, key_heads=2, causal=True, state={"query": 20, "expanded": 3}),
    "neuron-30-bias": lambda: neurons(30, bias=True, state={"query": 5}),
    "neuron-128": lambda: neurons(128, state={"query": 5}),
    "real-head": lambda: el.head_view(el.load("minilm").trace(SENTENCE), layer=3),
    "real-model": lambda: el.model_view(el.load("minilm").trace(SENTENCE)),
    "real-pair": lambda: el.head_view(el.load("minilm").trace("The cat sat on the mat.", "It was tired."), layer=4, heads=[2, 7]),
    "real-neuron": lambda: el.neuron_view(el.load("smollm2").trace(SENTENCE, keep={"weights", "queries", "keys"}), layer=3, query=8),
}


def generation(
    n_prompt: int = 14, n: int = 6, *, layers: int = 3, heads: int = 2, rows: bool = True, effects: bool = False, strange: bool = False
) -> View:
    """The view of a made-up generation: a system message, a document, a question, and what was written."""
    return el.generation_view(made_generation(n_prompt, n, layers=layers, heads=heads, rows=rows, effects=effects, strange=strange))


def made_generation(
    n_prompt: int = 14, n: int = 6, *, layers: int = 3, heads: int = 2, rows: bool = True, effects: bool = False, strange: bool = False
) -> Generation:
    """Weights at random, so that shares, mean rows and whole rows belong together."""
    random = np.random.default_rng(3)
    total = n_prompt + n
    tokens = [f"▁t{i}" for i in range(total)]
    if strange:
        tokens[2:5] = ["</script>", "▁", "\u202e"]
    cuts = [1, 3, n_prompt - 4, n_prompt - 1, n_prompt]
    names = ("first position", "system", "document", "question", "template", "written")
    part_of = tuple(int(np.searchsorted(cuts, position, side="right")) for position in range(total))
    text = el.traces.TokenizedText.from_tokens(tokens).with_parts(names, part_of)
    weights = random.random((layers, heads, n, total)) ** 6
    for t in range(n):
        weights[:, :, t, n_prompt + t :] = 0  # a token does not see itself or what follows
    weights = (weights / weights.sum(-1, keepdims=True)).astype(np.float32)
    membership = (np.array(part_of)[:, None] == np.arange(len(names))).astype(np.float32)
    every = tuple(range(heads))
    stack = WrittenAttention(
        name="decoder",
        keys=text,
        layers=tuple(range(layers)),
        shares_by_layer=tuple(weights @ membership),
        mean_by_layer=tuple(weights.mean(1)),
        heads_by_layer=tuple(every if rows else () for _ in range(layers)),
        rows_by_layer=tuple(each if rows else each[:0] for each in weights),
    )
    choices = tuple(Choices(n_prompt + t - 1, (tokens[n_prompt + t], "other"), (t, t + 1), (0.6, 0.2)) for t in range(n))
    made = Generation("made-up", text, n_prompt, " ".join(tokens[n_prompt:]), np.full(n, 0.6), choices, {"decoder": stack})
    if not effects:
        return made
    taken = -random.random((n, 2))
    return made.with_effects(PartEffects(("system", "document"), taken, np.full((n, 2), np.nan)))


def main() -> None:
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for name, make in PAGES.items():
        make().save(out / f"{name}.html")
        print(name, (out / f"{name}.html").stat().st_size)


if __name__ == "__main__":
    main()
