"""The lesson for a study group."""

# ruff: noqa: E501 - a paragraph of a text cell is one line
from __future__ import annotations

from scripts.notebook_cells.cell import Cell

CELLS: tuple[Cell, ...] = (
    {
        "en": "# What does attention look at?\n\nA lesson for a study group. Run the cells from the top. Every view below is live: point at a word.",
        "ja": "# アテンションはどこを見ているか\n\n勉強会用の教材です。上から順に実行してください。下の図はすべて操作できます。単語にカーソルを合わせてみましょう。",
        "ko": "# 어텐션은 어디를 보는가\n\n스터디 모임을 위한 수업입니다. 셀을 위에서부터 실행하세요. 아래 그림은 모두 움직입니다. 단어를 가리켜 보세요.",
    },
    'import eyeline as el\n\nlanguage = "{language}"  # of the views: en, ja or ko\nmodel = el.load()\nmodel',
    {
        "en": "## Your sentence\n\nFive to ten words are enough. Leave `sentence_b` empty for one sentence; with two the model reads `[CLS] A [SEP] B [SEP]`.",
        "ja": "## 自分の文\n\n5〜10語で十分です。一文だけなら `sentence_b` は空のままにします。二文のときモデルは `[CLS] A [SEP] B [SEP]` を読みます。",
        "ko": "## 자신의 문장\n\n다섯에서 열 단어면 충분합니다. 한 문장이면 `sentence_b`를 비워 두세요. 두 문장이면 모델은 `[CLS] A [SEP] B [SEP]`를 읽습니다.",
    },
    'sentence_a = "The cat sat on the mat."\nsentence_b = ""\ntrace = model.trace(sentence_a, sentence_b or None)\ntrace',
    {
        "en": "## All heads first\n\nOne small picture for each head: layers down, heads across.",
        "ja": "## まずはすべてのヘッド\n\n一つの小さな図が一つのヘッドです。縦が層、横がヘッドです。",
        "ko": "## 먼저 모든 헤드\n\n작은 그림 하나가 헤드 하나입니다. 세로는 층, 가로는 헤드입니다.",
    },
    "el.model_view(trace, language=language)",
    {
        "en": "## Then one head\n\nIn the default model L2·H2 looks at the word before: *sat* finds *cat*.",
        "ja": "## 次に一つのヘッド\n\n既定のモデルでは L2·H2 が一つ前の単語を見ます。*sat* は *cat* を見つけます。",
        "ko": "## 그다음 헤드 하나\n\n기본 모델에서 L2·H2는 바로 앞 단어를 봅니다. *sat*은 *cat*을 찾습니다.",
    },
    "el.head_view(trace, layer=2, heads=[2], language=language)",
    {
        "en": "## Queries, keys and values\n\nAttention is softmax(QKᵀ/√d)·V. The neuron view shows the numbers of one head.",
        "ja": "## クエリ・キー・バリュー\n\nアテンションは softmax(QKᵀ/√d)·V です。ニューロン表示では一つのヘッドの数値が見えます。",
        "ko": "## 쿼리, 키, 밸류\n\n어텐션은 softmax(QKᵀ/√d)·V입니다. 뉴런 보기는 헤드 하나의 숫자를 보여 줍니다.",
    },
    "el.neuron_view(trace, layer=2, head=2, language=language)",
    {
        "en": "## Translation: cross attention\n\nIn a translator, each word that is written looks at the sentence that was read. This one is very small and was trained on made-up sentences."
        " A row is the word that the decoder has just read; it looks at what it needs for the word that it writes next: を looks at *love*, because 愛しています comes next.",
        "ja": "## 翻訳：クロスアテンション\n\n翻訳モデルでは、書かれる単語が、読んだ文を見ます。これは自動生成した文で学習したとても小さなモデルです。"
        "行は直前に読んだ単語で、次に書く単語のもとを見ます。「を」の行は、次の「愛しています」のために *love* を見ます。",
        "ko": "## 번역: 크로스 어텐션\n\n번역 모델에서는 쓰이는 단어마다 읽은 문장을 봅니다. 이것은 만들어 낸 문장으로 학습한 아주 작은 모델입니다. 행은 디코더가 방금 읽은 단어이고, 다음에 쓸 단어에 필요한 것을 봅니다. ‘を’의 행은 다음에 올 ‘愛しています’ 때문에 *love*를 봅니다.",
    },
    'el.head_view(el.traces.sample_translation("love-ja"), stack="cross", layer=1, heads=[2], language=language)',
    {
        "en": "## What to write down\n\nWhich head looks at the previous word, which at `[SEP]`? Does its role stay when you change the sentence?"
        " Attention shows where information may flow, not why the model decided.",
        "ja": "## 書きとめること\n\n一つ前の単語を見るヘッド、`[SEP]` を見るヘッドはどれですか。文を変えても役割は同じですか。"
        "アテンションは情報が流れうる道を示すもので、モデルの判断の理由ではありません。",
        "ko": "## 적어 둘 것\n\n앞 단어를 보는 헤드, `[SEP]`를 보는 헤드는 어느 것입니까? 문장을 바꾸어도 하는 일이 같습니까? 어텐션은 정보가 흐를 수 있는 길을 보여 줄 뿐, 모델이 그렇게 정한 이유가 아닙니다.",
    },
)
