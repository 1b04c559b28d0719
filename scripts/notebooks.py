"""Write notebooks/*.ipynb in English and Japanese, execute them, and keep small still pictures as their outputs.

python scripts/notebooks.py
"""

# ruff: noqa: E501 - a paragraph of a text cell is one line
from __future__ import annotations

import base64
import io
import re
from pathlib import Path

import nbformat
import plotly.io
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from PIL import Image

from eyeline.views.pictures.paint import painted

FOLDER = Path(__file__).parents[1] / "notebooks"
LANGUAGES = ("en", "ja")
PLOTLY = "application/vnd.plotly.v1+json"
#: A cell: code, or a text in each language.
Cell = str | dict[str, str]

LESSON: tuple[Cell, ...] = (
    {
        "en": "# What does attention look at?\n\nA lesson for a study group. Run the cells from the top. Every view below is live: point at a word.",
        "ja": "# アテンションはどこを見ているか\n\n勉強会用の教材です。上から順に実行してください。下の図はすべて動きます。単語にカーソルを合わせてみましょう。",
    },
    "import eyeline as el\n\nmodel = el.load()\nmodel",
    {
        "en": "## Your sentence\n\nFive to ten words are enough. Leave `sentence_b` empty for one sentence; with two the model reads `[CLS] A [SEP] B [SEP]`.",
        "ja": "## 自分の文\n\n5〜10語で十分です。一文だけなら `sentence_b` は空のままにします。二文のときモデルは `[CLS] A [SEP] B [SEP]` を読みます。",
    },
    'sentence_a = "The cat sat on the mat."\nsentence_b = ""\ntrace = model.trace(sentence_a, sentence_b or None)\ntrace',
    {
        "en": "## All heads first\n\nOne small picture for each head: layers down, heads across.",
        "ja": "## まずはすべてのヘッド\n\n一つの小さな図が一つのヘッドです。縦が層、横がヘッドです。",
    },
    "el.model_view(trace)",
    {
        "en": "## Then one head\n\nIn the default model L2·H2 looks at the word before: *sat* finds *cat*.",
        "ja": "## 次に一つのヘッド\n\n既定のモデルでは L2·H2 が一つ前の単語を見ます。*sat* は *cat* を見つけます。",
    },
    "el.head_view(trace, layer=2, heads=[2])",
    {
        "en": "## Queries, keys and values\n\nAttention is softmax(QKᵀ/√d)·V. The neuron view shows the numbers of one head.",
        "ja": "## クエリ・キー・バリュー\n\nアテンションは softmax(QKᵀ/√d)·V です。ニューロン表示では一つのヘッドの数値が見えます。",
    },
    "el.neuron_view(trace, layer=2, head=2)",
    {
        "en": "## What to write down\n\nWhich head looks at the previous word, which at `[SEP]`? Does its role stay when you change the sentence?"
        " Attention shows where information may flow, not why the model decided.",
        "ja": "## 書きとめること\n\n一つ前の単語を見るヘッド、`[SEP]` を見るヘッドはどれですか。文を変えても役割は同じですか。"
        "アテンションは情報が流れうる道を示すもので、モデルの判断の理由ではありません。",
    },
)

PAPERS: tuple[Cell, ...] = (
    {
        "en": "# Four ways to look, after the papers\n\nBertViz' views, the figures of Clark et al., AttentionViz' space, and your own text.",
        "ja": "# 論文にならう四つの見方\n\nBertViz の表示、Clark らの図、AttentionViz の空間、そして自分の文章です。",
    },
    'import eyeline as el\n\nmodel = el.load("minilm")\ntext = "The brown capybara is sleeping now. It likes warm water."\ntrace = model.trace(text)',
    {"en": "## BertViz: the head view", "ja": "## BertViz: ヘッド表示"},
    "el.head_view(trace, layer=3)",
    {
        "en": "## Clark et al.: where heads look, how broadly, and which are alike\n\nFigures 2, 4 and 6 on the text that comes with the package."
        ' Give a file of your own: `el.corpora.read_corpus("corpus.txt")`.',
        "ja": "## Clark ら: どこを、どれだけ広く見るか、どのヘッドが似ているか\n\n付属の文章での図2・4・6です。"
        '自分のファイルは `el.corpora.read_corpus("corpus.txt")` で読めます。',
    },
    'paragraphs = el.corpora.sample_text().split("\\n\\n")[:6]\nrun = el.analyse(model, paragraphs)\nel.figure(run, "average_attention")',
    'el.figure(run, "entropy")',
    'el.figure(run, "head_map")',
    {
        "en": "## AttentionViz: queries and keys in one space\n\nA query and a key lie near each other where the head attends from one to the other.",
        "ja": "## AttentionViz: クエリとキーを一つの空間に\n\nクエリとキーが近いところでは、そのヘッドが一方から他方を見ています。",
    },
    "space = el.space(model, paragraphs, layers=[3], heads=[0, 1])\nel.space_view(space)",
    {
        "en": "## Your own text as a graph\n\nChange `text` above and run again.",
        "ja": "## 自分の文章をグラフに\n\n上の `text` を変えて実行し直してください。",
    },
    "el.figures.attention_graph(trace, layer=3, head=1)",
)
NOTEBOOKS = {"lesson": LESSON, "papers": PAPERS}


def build(cells: tuple[Cell, ...], language: str) -> NotebookNode:
    """A notebook without outputs. Cells are named by their index, so that the same text gives the same file."""
    book = new_notebook(metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}})
    for index, cell in enumerate(cells):
        result = new_code_cell(cell) if isinstance(cell, str) else new_markdown_cell(cell[language])
        result["id"] = f"cell-{index}"
        book.cells.append(result)
    return book


def run(book: NotebookNode, folder: Path, timeout: int = 300) -> NotebookNode:
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
    return new_output("display_data", {"text/plain": data["text/plain"]}) if "text/plain" in data else None


def _png(picture: bytes) -> NotebookNode:
    """A picture that every program shows: JupyterLab leaves an SVG out of a notebook that came from somebody else."""
    small = io.BytesIO()
    Image.open(io.BytesIO(picture)).convert("RGB").quantize(64).save(small, "png", optimize=True)
    return new_output("display_data", {"image/png": base64.b64encode(small.getvalue()).decode()})


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, cells in NOTEBOOKS.items():
        for language in LANGUAGES:
            book = run(build(cells, language), FOLDER)
            keep_pictures(book)
            nbformat.write(book, FOLDER / f"{name}.{language}.ipynb")


if __name__ == "__main__":
    main()
