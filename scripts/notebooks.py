"""Write notebooks/*.ipynb in English and Japanese, execute them, and keep small still pictures as their outputs.

python scripts/notebooks.py
"""

# ruff: noqa: E501 - a paragraph of a text cell is one line
from __future__ import annotations

import base64
import io
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
import plotly.io
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from PIL import Image

from eyeline.views.pictures.paint import painted

FOLDER = Path(__file__).parents[1] / "notebooks"
LANGUAGES = ("en", "ja")
#: Pixels of a still picture across.
WIDEST = 1200
PLOTLY = "application/vnd.plotly.v1+json"
#: A cell: code, or a text in each language.
Cell = str | dict[str, str]

LESSON: tuple[Cell, ...] = (
    {
        "en": "# What does attention look at?\n\nA lesson for a study group. Run the cells from the top. Every view below is live: point at a word.",
        "ja": "# アテンションはどこを見ているか\n\n勉強会用の教材です。上から順に実行してください。下の図はすべて動きます。単語にカーソルを合わせてみましょう。",
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
        "ja": "## 翻訳：クロスアテンション\n\n翻訳モデルでは、書かれる単語が、読んだ文を見ます。これは作った例文で学習したとても小さなモデルです。"
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

PAPERS: tuple[Cell, ...] = (
    {
        "en": "# Four papers, figure by figure\n\nVaswani et al. 2017, Vig 2019 (BertViz), Clark et al. 2019 (*What Does BERT Look At?*) and Yeh et al. 2023"
        " (AttentionViz), on the embedded model of BERT's shape: 12 layers of 12 heads, counted from 0. Change `text`, or give files of your own, and run again.",
        "ja": "# 四つの論文を、図ごとに\n\nVaswani ら (2017)、Vig (2019, BertViz)、Clark ら (2019, *What Does BERT Look At?*)、Yeh ら (2023, AttentionViz)"
        " の図です。モデルは付属の BERT 型 (12層 × 12ヘッド、0から数えます)。`text` や自分のファイルに変えて、実行し直せます。",
    },
    "from IPython.display import display\n\nimport eyeline as el\n\n"
    'language = "{language}"  # of the views and figures: en, ja or ko\nmodel = el.load()\ntext = "The cat sat on the mat because it was tired."\ntrace = model.trace(text)\ntrace',
    {
        "en": "## Vig: all heads, then one\n\nThe model view has one small picture for each head, the head view one head: in L9·H7 *it* looks at *cat*.",
        "ja": "## Vig: すべてのヘッド、次に一つ\n\nモデル表示では小さな図一つが一つのヘッドです。ヘッド表示の L9·H7 では *it* が *cat* を見ます。",
    },
    "display(el.model_view(trace, language=language))\ndisplay(el.head_view(trace, layer=9, heads=[7], language=language))",
    {
        "en": "## Vaswani et al.: softmax(QKᵀ/√d)·V\n\nThe neuron view shows where one weight comes from: query, key, their product, softmax, and the sum of values.",
        "ja": "## Vaswani ら: softmax(QKᵀ/√d)·V\n\nニューロン表示では、一つの重みがどこから来るかが分かります。クエリ、キー、その積、softmax、そしてバリューの和です。",
    },
    "el.neuron_view(trace, layer=9, head=7, query=8, language=language)  # it",
    {
        "en": "## Clark et al.: where heads look (figures 1, 2, 4, 6)\n\nSome heads look at the next token, the previous one, `[SEP]`, or an antecedent (figure 1)."
        " Over a text: attention to each kind of token (figure 2), how broadly heads look (figure 4), which heads are alike (figure 6).",
        "ja": "## Clark ら: ヘッドはどこを見るか (図1・2・4・6)\n\n次のトークン、前のトークン、`[SEP]`、代名詞の先行詞を見るヘッドがあります (図1)。"
        "文章全体では、種類ごとのアテンション (図2)、どれだけ広く見るか (図4)、どのヘッドが似ているか (図6)。",
    },
    "for layer, head in [(0, 7), (2, 2), (7, 9), (9, 7)]:\n    display(el.figures.attention_graph(trace, layer, head, language=language))\n\n"
    'paragraphs = el.corpora.sample_text().split("\\n\\n")[:8]  # or el.corpora.read_corpus("corpus.txt")\n'
    'run = el.analyse(model, paragraphs)\nfor name in ["average_attention", "entropy", "head_map"]:\n    display(el.figure(run, name, language=language))',
    {
        "en": "## Clark et al.: does attention to `[SEP]` matter (figure 3)?\n\nThe gradient of the loss by each weight. It needs a model that predicts: the same encoder as a masked language model.",
        "ja": "## Clark ら: `[SEP]` へのアテンションは効いているか (図3)\n\n損失の、重みによる勾配です。予測するモデルが要るので、同じエンコーダーのマスク言語モデルを使います。",
    },
    'measured = [el.statistics.AverageAttention(), el.statistics.Importance()]\ngradients = el.analyse(el.load("e5-small-mlm"), paragraphs, measured)\n'
    'el.figure(gradients, "importance", language=language)',
    {
        "en": "## Clark et al.: grammar (figure 5, tables 1, 2 and 3)\n\nSingle heads as finders of relations (table 1) and of antecedents (table 2), all heads together as a"
        " probe (table 3). The treebank is generated and small: it shows how, not how well. For numbers, give a real one (docs/results.md).",
        "ja": "## Clark ら: 文法 (図5、表1・2・3)\n\n一つのヘッドで文法関係を見つける (表1)、先行詞を見つける (表2)、全ヘッドをまとめたプローブ (表3)。"
        "付属のツリーバンクは自動生成で小さく、やり方を示すためのものです。数値には本物のツリーバンクを使ってください (docs/results.md)。",
    },
    'el.treebanks.write_sample("sample.conllu", 120)  # or a CoNLL-U file of your own\n'
    'syntax = el.syntax(model, "sample.conllu", min_count=50)\n'
    'coreference = el.coreference(model, "sample.conllu")\n'
    'probes = el.probe(model, "sample.conllu", seeds=1, epochs=10)\n'
    'display(el.figure(syntax, "syntax_examples", language=language))\n'
    'display(syntax.table("syntax").to_frame()[["relation", "count", "layer", "head", "accuracy", "baseline"]].round(1))\n'
    'display(coreference.table("coreference").to_frame()[["method", "layer", "head", "all", "pronoun", "n"]].round(1))\n'
    'display(probes.table("probes").to_frame()[["probe", "uas"]].round(1))',
    {
        "en": "## Yeh et al.: queries and keys in one space\n\nFirst two heads, each in its own space: a query (blue) lies near the keys (orange) that it attends to. Then every head of every layer in one space: a query lies on a circle, on the side of the keys that it attends to.",
        "ja": "## Yeh ら: クエリとキーを一つの空間に\n\nまず二つのヘッドを、それぞれの空間で。クエリ (青) は、見ているキー (橙) の近くにあります。次に全層・全ヘッドを一つの空間で。クエリは円周上の、見ているキーの側にあります。",
    },
    "space = el.space(model, paragraphs, layers=[4], heads=[4, 10])\ndisplay(el.space_view(space, language=language))\n"
    'display(el.space_view(el.space(model, paragraphs, of="shared"), language=language))',
)
NOTEBOOKS = {"lesson": LESSON, "papers": PAPERS}


def build(cells: tuple[Cell, ...], language: str) -> NotebookNode:
    """A notebook without outputs. Cells are named by their index, so that the same text gives the same file."""
    book = new_notebook(metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}})
    for index, cell in enumerate(cells):
        result = new_code_cell(cell.replace("{language}", language)) if isinstance(cell, str) else new_markdown_cell(cell[language])
        result["id"] = f"cell-{index}"
        book.cells.append(result)
    return book


def run(book: NotebookNode, folder: Path, timeout: int = 600) -> NotebookNode:
    """Execute a notebook in a clean kernel."""
    NotebookClient(book, timeout=timeout, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    return book


def keep_pictures(book: NotebookNode) -> None:
    """Outputs as still pictures and plain text: no scripts, no state of widgets."""
    book.metadata.pop("widgets", None)
    for cell in book.cells:
        if cell.cell_type == "code":
            cell.metadata.pop("execution", None)
            cell.outputs = [still for output in cell.outputs if (still := _still(output)) is not None]


def _still(output: NotebookNode) -> NotebookNode | None:
    data = output.get("data", {})
    if PLOTLY in data:
        picture = plotly.io.from_json(plotly.io.json.to_json_plotly(data[PLOTLY]), skip_invalid=True).to_image("png", width=900)
        return _png(picture)
    if "image/png" in data:
        return _png(base64.b64decode(data["image/png"]))
    inside = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', data.get("text/html", ""))
    if inside:
        return _png(painted(base64.b64decode(inside[1]).decode(), "png"))
    return new_output("display_data", {"text/plain": data["text/plain"]}) if data.get("text/plain") else None


def _png(picture: bytes) -> NotebookNode:
    """A picture that every program shows: JupyterLab leaves an SVG out of a notebook that came from somebody else."""
    small = io.BytesIO()
    opened = Image.open(io.BytesIO(picture)).convert("RGB")
    if opened.width > WIDEST:
        opened = opened.resize((WIDEST, round(opened.height * WIDEST / opened.width)), Image.Resampling.LANCZOS)
    opened.quantize(64).save(small, "png", optimize=True)
    return new_output("display_data", {"image/png": base64.b64encode(small.getvalue()).decode()})


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, cells in NOTEBOOKS.items():
        for language in LANGUAGES:
            with TemporaryDirectory() as folder:  # files that a notebook writes do not stay
                book = run(build(cells, language), Path(folder))
            keep_pictures(book)
            nbformat.write(book, FOLDER / f"{name}.{language}.ipynb")


if __name__ == "__main__":
    main()
