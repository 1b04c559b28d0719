"""The lesson for a study group."""

# ruff: noqa: E501 - a paragraph of a text cell is one line
from __future__ import annotations

from scripts.notebook_cells.cell import Cell

CELLS: tuple[Cell, ...] = (
    {
        "en": "# What does attention look at?\n\nA lesson for a study group. Run the cells from the top. Every view below is live: point at a word.",
        "ja": "# アテンションはどこを見ているか\n\n勉強会用の教材です。上から順に実行してください。下の図はすべて操作できます。単語にカーソルを合わせてみましょう。",
    },
    'import eyeline as el\n\nlanguage = "{language}"  # of the views: en, ja or ko\nmodel = el.load()\nmodel',
    {
        "en": "## Your sentence\n\nFive to ten words are enough. Leave `sentence_b` empty for one sentence; with two the model reads `[CLS] A [SEP] B [SEP]`.",
        "ja": "## 自分の文\n\n5〜10語で十分です。一文だけなら `sentence_b` は空のままにします。二文のときモデルは `[CLS] A [SEP] B [SEP]` を読みます。",
    },
    'sentence_a = "The cat sat on the mat."\nsentence_b = ""\ntrace = model.trace(sentence_a, sentence_b or None)\ntrace',
    {
        "en": "## All heads first\n\nOne small picture for each head: layers down, heads across.",
        "ja": "## まずはすべてのヘッド\n\n一つの小さな図が一つのヘッドです。縦が層、横がヘッドです。",
    },
    "el.model_view(trace, language=language)",
    {
        "en": "## Then one head\n\nIn the default model L2·H2 looks at the word before: *sat* finds *cat*.",
        "ja": "## 次に一つのヘッド\n\n既定のモデルでは L2·H2 が一つ前の単語を見ます。*sat* は *cat* を見つけます。",
    },
    "el.head_view(trace, layer=2, heads=[2], language=language)",
    {
        "en": "## Queries, keys and values\n\nAttention is softmax(QKᵀ/√d)·V. The neuron view shows the numbers of one head.",
        "ja": "## クエリ・キー・バリュー\n\nアテンションは softmax(QKᵀ/√d)·V です。ニューロン表示では一つのヘッドの数値が見えます。",
    },
    "el.neuron_view(trace, layer=2, head=2, language=language)",
    {
        "en": "## Translation: cross attention\n\nIn a translator, each word that is written looks at the sentence that was read. This one is very small and was trained on made-up sentences."
        " A row is the word that the decoder has just read; it looks at what it needs for the word that it writes next: を looks at *love*, because 愛しています comes next.",
        "ja": "## 翻訳：クロスアテンション\n\n翻訳モデルでは、書かれる単語が、読んだ文を見ます。これは自動生成した文で学習したとても小さなモデルです。"
        "行は直前に読んだ単語で、次に書く単語のもとを見ます。「を」の行は、次の「愛しています」のために *love* を見ます。",
    },
    'el.head_view(el.traces.sample_translation("love-ja"), stack="cross", layer=1, heads=[2], language=language)',
    {
        "en": "## What to write down\n\nWhich head looks at the previous word, which at `[SEP]`? Does its role stay when you change the sentence?"
        " Attention shows where information may flow, not why the model decided.",
        "ja": "## 書きとめること\n\n一つ前の単語を見るヘッド、`[SEP]` を見るヘッドはどれですか。文を変えても役割は同じですか。"
        "アテンションは情報が流れうる道を示すもので、モデルの判断の理由ではありません。",
    },
)
