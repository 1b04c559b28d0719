"""BertViz in five minutes."""

# ruff: noqa: E501 - a paragraph of a text cell is one line
from __future__ import annotations

from scripts.notebook_cells.cell import Cell

CELLS: tuple[Cell, ...] = (
    {
        "en": "# BertViz in five minutes\n\nThe three functions of BertViz, with one import changed. The pages are small, draw at any length, and need no network."
    },
    "import eyeline as el\n\n"
    'model = el.load("minilm")  # or any model and tokenizer of transformers\n'
    "hf, tokenizer = model.hf, model.tokenizer\n"
    'sentence = "The cat sat on the mat because it was tired."\n'
    'inputs = tokenizer(sentence, return_tensors="pt")\n'
    "attention = hf(**inputs, output_attentions=True).attentions  # one tensor for each layer: [text, head, query, key]\n"
    'tokens = tokenizer.convert_ids_to_tokens(inputs["input_ids"][0])\n'
    "len(attention), tuple(attention[0].shape)",
    {
        "en": "## Head view\n\nWhat each token looks at, in all heads of a layer. Point at a token; click on the number of a head to switch it on or off."
    },
    "from eyeline.bertviz import head_view, model_view\n\nhead_view(attention, tokens, layer=2)",
    {"en": "## Model view\n\nEvery head of every layer as a small picture. A click opens one."},
    "model_view(attention, tokens)",
    {
        "en": "## Neuron view\n\nFrom a query and a key to one weight. BertViz needs its own copies of the models for this; here it is the model that you have."
    },
    'from eyeline.bertviz.neuron_view import show\n\nshow(hf, "bert", tokenizer, sentence, layer=2, head=6, display_mode="light")',
    {
        "en": "## Beyond BertViz\n\nA trace holds all of it: weights, queries, keys, values, words and the model's answer. The head in which *it* looks most at *cat*, over words:"
    },
    "trace = model.trace(sentence)\n"
    "words = trace.words()\n"
    'it, cat = words.text.tokens.index("it"), words.text.tokens.index("cat")\n'
    "layer, head = divmod(int(words.weights[:, :, it, cat].argmax()), words.weights.shape[1])\n"
    'print(f"L{layer}·H{head}", words.weights[layer, head, it, cat].round(2))\n'
    "el.head_view(words, layer=layer, heads=[head])",
)
