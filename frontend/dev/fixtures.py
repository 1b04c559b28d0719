"""Writes pages to look at while working on the front end: made-up attention, in the form that docs/view-format.md gives.

    python dev/fixtures.py OUT [MODEL_FOLDER]

With a folder of a small BERT model the pages show real attention as well.
"""

import base64
import json
import sys
import zlib
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
BUNDLE = HERE.parents[1] / "src/sightline/views/static/sightline.js"
NOTE = "https://example.org/attention-is-not-importance"
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


def sqrt8(weights: np.ndarray, fine_from: int = 24) -> dict:
    roots = np.sqrt(weights.astype(np.float64)) * 255
    whole = np.clip(np.rint(roots), 0, 255).astype(np.uint8)
    fine = np.clip(np.rint((roots - whole) * 256 + 127.5), 0, 255).astype(np.uint8)[whole >= fine_from]
    data = zlib.compress(whole.tobytes() + fine.tobytes(), 6)
    return {"dtype": "sqrt8", "levels": 255, "fine_from": fine_from, "shape": list(weights.shape), "data": base64.b64encode(data).decode()}


def floats(values: np.ndarray) -> dict:
    data = zlib.compress(values.astype("<f4").tobytes(), 6)
    return {"dtype": "float32", "shape": list(values.shape), "data": base64.b64encode(data).decode()}


def softmax(scores: np.ndarray) -> np.ndarray:
    shifted = np.exp(scores - scores.max(-1, keepdims=True))
    return shifted / shifted.sum(-1, keepdims=True)


def made_up(heads: int, queries: int, keys: int, rng: np.random.Generator, causal: bool = False) -> np.ndarray:
    """Heads of the usual kinds: previous, next, first token, itself, diffuse."""
    i, j = np.arange(queries)[:, None], np.arange(keys)[None]
    weights = []
    for head in range(heads):
        kind = head % 6
        scores = rng.normal(size=(queries, keys)) * (0.4 if kind == 4 else 1.2)
        target = [j - i + 1, j - i - 1, j + 0 * i, j - i, None, (j * 7 - i * 3) % max(4, keys // 6)][kind]
        scores += 0 if target is None else 6 * np.exp(-0.5 * target.astype(float) ** 2)
        weights.append(softmax(np.where(causal & (j > i), -1e9, scores)))
    return np.stack(weights)  # [head, query, key]


TEXT = "the quick brown fox jumps over a lazy dog while nobody in this quiet town really watches what it does next"
WORDS = TEXT.split()


def text(n: int, pair: bool = False, strange: bool = False) -> dict:
    body = [WORDS[k % len(WORDS)] for k in range(n - 2 - pair)]
    for k in range(4, len(body), 9):
        body[k] = "##ing"
    if strange:
        body[: len(STRANGE)] = STRANGE[: len(body)]
    middle = len(body) // 2
    tokens = ["[CLS]", *body[:middle], "[SEP]", *body[middle:], "[SEP]"] if pair else ["[CLS]", *body, "[SEP]"]
    special = [t in ("[CLS]", "[SEP]") for t in tokens]
    words, texts = [], []
    for token, is_special in zip(tokens, special, strict=True):
        if is_special:
            words.append(None)
        elif token.startswith("##") and words and words[-1] is not None:
            texts[-1] += token[2:]
            words.append(len(texts) - 1)
        else:
            texts.append(token)
            words.append(len(texts) - 1)
    segments = [int(pair and k > middle + 1) for k in range(len(tokens))]
    return {"tokens": tokens, "special": special, "segments": segments, "words": words, "word_texts": texts}


def view(
    kind: str,
    n: int,
    layers: int = 12,
    heads: int = 12,
    pair: bool = False,
    strange: bool = False,
    causal: bool = False,
    state: dict | None = None,
) -> dict:
    rng = np.random.default_rng(0)
    arrays, specs = {}, []
    for layer in range(layers):
        arrays[f"encoder.{layer}.weights"] = sqrt8(made_up(heads, n, n, rng, causal))
        specs.append({"layer": layer, "n_heads": heads, "n_key_heads": heads, "weights": f"encoder.{layer}.weights"})
    stacks = [{"name": "encoder", "query_text": 0, "key_text": 0, "layers": specs}]
    return document(kind, [text(n, pair, strange)], stacks, arrays, state)


def document(kind: str, texts: list, stacks: list, arrays: dict, state: dict | None = None, model: str = "made up") -> dict:
    return {
        "spec": {"format": 1, "kind": kind, "model": model, "note_url": NOTE, "texts": texts, "stacks": stacks, "state": state or {}},
        "arrays": arrays,
    }


def crossed(kind: str = "head") -> dict:
    """Encoder, decoder and cross attention of unequal depths and lengths."""
    rng = np.random.default_rng(1)
    texts, arrays, stacks = [text(14), text(9)], {}, []
    for name, query, key, depth in (("encoder", 0, 0, 6), ("decoder", 1, 1, 3), ("cross", 1, 0, 3)):
        specs = []
        for layer in range(depth):
            arrays[f"{name}.{layer}.weights"] = sqrt8(made_up(8, (14, 9)[query], (14, 9)[key], rng, name == "decoder"))
            specs.append({"layer": layer, "n_heads": 8, "n_key_heads": 8, "weights": f"{name}.{layer}.weights"})
        stacks.append({"name": name, "query_text": query, "key_text": key, "layers": specs})
    return document(kind, texts, stacks, arrays)


def neurons(
    n: int, heads: int = 8, key_heads: int = 8, dims: int = 64, causal: bool = False, bias: bool = False, state: dict | None = None
) -> dict:
    rng = np.random.default_rng(2)
    arrays, specs = {}, []
    for layer in range(2):
        q, k = rng.normal(size=(heads, n, dims)), rng.normal(size=(key_heads, n, dims))
        scale = dims**-0.5
        scores = q @ np.repeat(k, heads // key_heads, 0).swapaxes(1, 2) * scale * 2
        added = -0.3 * np.abs(np.arange(n)[:, None] - np.arange(n))[None] * np.ones((heads, 1, 1)) if bias else 0
        scores = scores + added
        if causal:
            scores = np.where(np.triu(np.ones((n, n), bool), 1), -np.inf, scores)
        name = f"encoder.{layer}"
        arrays |= {f"{name}.weights": floats(softmax(scores)), f"{name}.queries": floats(q * 2), f"{name}.keys": floats(k)}
        if bias:
            arrays[f"{name}.bias"] = floats(added)
        specs.append(
            {
                "layer": layer,
                "n_heads": heads,
                "n_key_heads": key_heads,
                "weights": f"{name}.weights",
                "queries": f"{name}.queries",
                "keys": f"{name}.keys",
                "scale": scale,
                "bias": f"{name}.bias" if bias else None,
            }
        )
    return document("neuron", [text(n)], [{"name": "encoder", "query_text": 0, "key_text": 0, "layers": specs}], arrays, state)


def real(folder: str, kind: str, sentence: str, second: str | None = None, state: dict | None = None) -> dict:
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder, attn_implementation="eager")
    batch = tokenizer(sentence, second, return_tensors="pt", truncation=True, max_length=512)
    with torch.no_grad():
        maps = model(**batch, output_attentions=True).attentions
    ids = batch.input_ids[0].tolist()
    tokens = tokenizer.convert_ids_to_tokens(ids)
    special = [i in tokenizer.all_special_ids for i in ids]
    words, texts, last = [], [], None
    for token, word in zip(tokens, zip(batch.word_ids(0), batch.sequence_ids(0), strict=True), strict=True):
        if word[0] is None:
            words.append(None)
            continue
        if word == last:
            texts[-1] += token.removeprefix("##")
        else:
            texts.append(token)
        words.append(len(texts) - 1)
        last = word
    segments = batch["token_type_ids"][0].tolist() if "token_type_ids" in batch else [0] * len(ids)
    described = {"tokens": tokens, "special": special, "segments": segments, "words": words, "word_texts": texts}
    arrays = {f"encoder.{layer}.weights": sqrt8(w[0].numpy()) for layer, w in enumerate(maps)}
    specs = [
        {"layer": layer, "n_heads": w.shape[1], "n_key_heads": w.shape[1], "weights": f"encoder.{layer}.weights"}
        for layer, w in enumerate(maps)
    ]
    return document(
        kind, [described], [{"name": "encoder", "query_text": 0, "key_text": 0, "layers": specs}], arrays, state, model="minilm"
    )


def page(data: dict) -> str:
    source = BUNDLE.read_text()
    body = json.dumps(data).replace("<", "\\u003c")
    code = base64.b64encode(source.encode()).decode()
    return f"""<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>sightline</title>
<style>body{{margin:0}}@media(prefers-color-scheme:dark){{body{{background:#0f1115}}}}</style>
<div id="view"></div>
<script type="application/json" id="sightline-view">{body}</script>
<script type="module">const {{page}} = await import("data:text/javascript;base64,{code}"); page(document.getElementById("view"));</script>
"""


def main() -> None:
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    pages = {f"{kind}-{n}": lambda kind=kind, n=n: view(kind, n) for kind in ("head", "model") for n in (8, 30, 128, 512)}
    pages |= {
        "head-pair": lambda: view("head", 24, pair=True),
        "head-strange": lambda: view("head", 18, strange=True, layers=2),
        "head-40-heads": lambda: view("head", 20, layers=2, heads=40, causal=True),
        "head-4096": lambda: view("head", 4096, layers=1, heads=1),
        "cross": crossed,
        "model-cross": lambda: crossed("model"),
        "neuron-8": lambda: neurons(8),
        "neuron-30-grouped-causal": lambda: neurons(30, key_heads=2, causal=True, state={"query": 20, "expanded": 3}),
        "neuron-30-bias": lambda: neurons(30, bias=True, state={"query": 5}),
        "neuron-128": lambda: neurons(128, state={"query": 5}),
    }
    if len(sys.argv) > 2:
        sentence = "The keys that the old librarian had forgotten on the table were found by the cleaner, who gave them back."
        pages["real-head"] = lambda: real(sys.argv[2], "head", sentence, state={"layer": 3})
        pages["real-model"] = lambda: real(sys.argv[2], "model", sentence)
        pages["real-pair"] = lambda: real(
            sys.argv[2], "head", "The cat sat on the mat.", "It was tired.", state={"layer": 4, "heads": [2, 7]}
        )
        pages["real-model-512"] = lambda: real(sys.argv[2], "model", (HERE / "fixtures.py").read_text())
    for name, make in pages.items():
        (out / f"{name}.html").write_text(page(make()))
        print(name, (out / f"{name}.html").stat().st_size)


if __name__ == "__main__":
    main()
