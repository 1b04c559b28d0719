"""Four papers, figure by figure."""

# ruff: noqa: E501 - a paragraph of a text cell is one line
from __future__ import annotations

from scripts.notebook_cells.cell import Cell

CELLS: tuple[Cell, ...] = (
    {
        "en": "# Four papers, figure by figure\n\nVaswani et al. 2017, Vig 2019 (BertViz), Clark et al. 2019 (*What Does BERT Look At?*) and Yeh et al. 2023"
        " (AttentionViz), on the embedded model of BERT's shape: 12 layers of 12 heads, counted from 0. Change `text`, or give files of your own, and run again.",
        "ja": "# 四つの論文を、図ごとに\n\nVaswani ら（2017）、Vig（2019、BertViz）、Clark ら（2019、*What Does BERT Look At?*）、Yeh ら（2023、AttentionViz）"
        "の図です。モデルは BERT と同じ形の付属モデルです（12 層 × 12 ヘッド、0 から数えます）。`text` を変えたり、自分のファイルを使ったりして、実行し直せます。",
        "ko": "# 네 논문, 그림마다\n\nVaswani 등(2017), Vig(2019, BertViz), Clark 등(2019, *What Does BERT Look At?*), Yeh 등(2023, AttentionViz)의 그림입니다. 모델은 BERT와 모양이 같은 내장 모델입니다(12층 × 12헤드, 0부터 셉니다). `text`를 바꾸거나 자신의 파일로 다시 실행해 보세요.",
    },
    "from IPython.display import display\n\nimport eyeline as el\n\n"
    'language = "{language}"  # of the views and figures: en, ja or ko\nmodel = el.load("e5-small")\ntext = "The cat sat on the mat because it was tired."\ntrace = model.trace(text)\ntrace',
    {
        "en": "## Vig: all heads, then one\n\nThe model view has one small picture for each head, the head view one head: in L9·H7 *it* looks at *cat*.",
        "ja": "## Vig：すべてのヘッド、次に一つ\n\nモデル表示では小さな図一つが一つのヘッドです。ヘッド表示の L9·H7 では *it* が *cat* を見ます。",
        "ko": "## Vig: 모든 헤드, 그다음 하나\n\n모델 보기에서는 작은 그림 하나가 헤드 하나입니다. 헤드 보기의 L9·H7에서 *it*은 *cat*을 봅니다.",
    },
    "display(el.model_view(trace, language=language))\ndisplay(el.head_view(trace, layer=9, heads=[7], language=language))",
    {
        "en": "## Vaswani et al.: softmax(QKᵀ/√d)·V\n\nThe neuron view shows where one weight comes from: query, key, their product, softmax, and the sum of values.",
        "ja": "## Vaswani ら：softmax(QKᵀ/√d)·V\n\nニューロン表示では、一つの重みがどこから来るかが分かります。クエリ、キー、その積、softmax、そしてバリューの和です。",
        "ko": "## Vaswani 등: softmax(QKᵀ/√d)·V\n\n뉴런 보기는 가중치 하나가 어디서 오는지 보여 줍니다. 쿼리, 키, 그 곱, softmax, 밸류의 합입니다.",
    },
    "el.neuron_view(trace, layer=9, head=7, query=8, language=language)  # it",
    {
        "en": "## Clark et al.: where heads look (figures 1, 2, 4, 6)\n\nSome heads look at the next token, the previous one, `[SEP]`, or an antecedent (figure 1)."
        " Over a text: attention to each kind of token (figure 2), how broadly heads look (figure 4), which heads are alike (figure 6).",
        "ja": "## Clark ら：ヘッドはどこを見るか（図 1・2・4・6）\n\n次のトークン、前のトークン、`[SEP]`、代名詞の先行詞を見るヘッドがあります（図 1）。"
        "文章全体では、トークンの種類ごとのアテンション（図 2）、どれだけ広く見るか（図 4）、どのヘッドが似ているか（図 6）を調べます。",
        "ko": "## Clark 등: 헤드는 어디를 보는가(그림 1, 2, 4, 6)\n\n다음 토큰, 앞 토큰, `[SEP]`, 대명사의 선행사를 보는 헤드가 있습니다(그림 1). 글 전체에서는 토큰 종류마다의 어텐션(그림 2), 얼마나 두루 보는가(그림 4), 어느 헤드가 비슷한가(그림 6)를 봅니다.",
    },
    "for layer, head in [(0, 7), (2, 2), (7, 9), (9, 7)]:\n    display(el.figures.attention_graph(trace, layer, head, language=language))\n\n"
    'paragraphs = el.corpora.sample_text().split("\\n\\n")[:8]  # or el.corpora.read_corpus("corpus.txt")\n'
    'run = el.analyse(model, paragraphs)\nfor name in ["average_attention", "entropy", "head_map"]:\n    display(el.figure(run, name, language=language))',
    {
        "en": "## Clark et al.: does attention to `[SEP]` matter (figure 3)?\n\nThe gradient of the loss by each weight. It needs a model that predicts: the same encoder as a masked language model.",
        "ja": "## Clark ら：`[SEP]` へのアテンションは効いているか（図 3）\n\n各重みについての損失の勾配です。予測するモデルが要るので、同じエンコーダーのマスク言語モデルを使います。",
        "ko": "## Clark 등: `[SEP]`로 가는 어텐션은 중요한가(그림 3)\n\n가중치마다의 손실의 기울기입니다. 예측하는 모델이 필요하므로 같은 인코더의 마스크 언어 모델을 씁니다.",
    },
    'measured = [el.statistics.AverageAttention(), el.statistics.Importance()]\ngradients = el.analyse(el.load("e5-small-mlm"), paragraphs, measured)\n'
    'el.figure(gradients, "importance", language=language)',
    {
        "en": "## Clark et al.: grammar (figure 5, tables 1, 2 and 3)\n\nSingle heads as finders of relations (table 1) and of antecedents (table 2), all heads together as a"
        " probe (table 3). The treebank is generated and small: it shows how, not how well. For numbers, give a real one (docs/results.md).",
        "ja": "## Clark ら：文法（図 5、表 1・2・3）\n\n一つのヘッドで文法関係を見つける（表 1）、先行詞を見つける（表 2）、全ヘッドをまとめてプローブで調べる（表 3）、の三つです。"
        "付属のツリーバンクは自動生成で小さく、やり方を示すためのものです。数値には本物のツリーバンクを使ってください（docs/results.md）。",
        "ko": "## Clark 등: 문법(그림 5, 표 1, 2, 3)\n\n헤드 하나로 관계를 찾고(표 1), 선행사를 찾고(표 2), 모든 헤드를 함께 프로브로 조사합니다(표 3). 트리뱅크는 만들어 낸 작은 것이라 방법을 보일 뿐입니다. 수치에는 진짜 트리뱅크를 쓰세요(docs/results.md).",
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
        "ja": "## Yeh ら：クエリとキーを一つの空間に\n\nまず二つのヘッドを、それぞれの空間で見ます。クエリ（青）は、見ているキー（橙）の近くにあります。次に、すべての層とヘッドを一つの空間で見ます。クエリは円周上の、見ているキーの側にあります。",
        "ko": "## Yeh 등: 쿼리와 키를 한 공간에\n\n먼저 두 헤드를 저마다의 공간에서 봅니다. 쿼리(파랑)는 보는 키(주황) 가까이에 있습니다. 그다음 모든 층의 모든 헤드를 한 공간에서 봅니다. 쿼리는 원 위에, 보는 키 쪽에 있습니다.",
    },
    "space = el.space(model, paragraphs, layers=[4], heads=[4, 10])\ndisplay(el.space_view(space, language=language))\n"
    'display(el.space_view(el.space(model, paragraphs, of="shared"), language=language))',
    {
        "en": "## Clark et al.: what the paper concludes, beside this model\n\n“Heads of one layer often behave alike”: then heads of one layer are nearer to each other than heads of different layers. “No single head knows all of grammar”: then the best head for all relations together is far from the best head for each.",
        "ja": "## Clark ら：論文の結論と、このモデル\n\n「同じ層のヘッドは似ていることが多い」なら、同じ層のヘッドどうしは、違う層のヘッドより近いはずです。「文法をすべて知っているヘッドはない」なら、全部の関係をまとめて最もよいヘッドは、関係ごとの最良のヘッドに遠く及ばないはずです。",
        "ko": "## Clark 등: 논문의 결론과 이 모델\n\n“같은 층의 헤드는 서로 비슷한 일이 많다”면 같은 층의 헤드는 다른 층의 헤드보다 서로 가깝습니다. “문법을 모두 아는 헤드는 없다”면 모든 관계를 함께 볼 때 가장 좋은 헤드는 관계마다 가장 좋은 헤드에 훨씬 못 미칩니다.",
    },
    "import numpy as np\n\n"
    'square = run.table("distances").to_frame().set_index("head")\n'
    'layer = np.array([name.split("·")[0] for name in square.columns])\n'
    "same, other = layer[:, None] == layer, ~np.eye(len(layer), dtype=bool)\n"
    'print(f"mean distance in one layer {square.values[same & other].mean():.3f}, between layers {square.values[~same].mean():.3f}")\n'
    'found = syntax.table("syntax").to_frame().set_index("relation").accuracy\n'
    "print(f\"best head for all words {found['all']:.0f} %, best head of each relation {found.drop('all').mean():.0f} % on average\")",
)
