"""Which part of the prompt did it use? What a model looked at while it wrote, and what each part did."""

# ruff: noqa: E501 - a paragraph of a text cell is one line
from __future__ import annotations

from scripts.notebook_cells.cell import Cell

CELLS: tuple[Cell, ...] = (
    {
        "en": "# Which part of the prompt did it use?\n\nA model answers from a document. Which part did it look at while it wrote, which part did it need, and are these the same?",
        "ja": "# プロンプトのどの部分を使ったのか\n\nモデルが文書をもとに答えます。書いている間にどの部分を見たか、どの部分が必要だったか、そしてその二つは同じでしょうか。",
    },
    "import eyeline as el\n\n"
    'language = "{language}"  # of the views: en, ja or ko\n'
    'model = el.load("smollm2")\n'
    'document = "The ferry to Norden leaves at 7:40 and at 16:15. Dogs travel free. On Sundays there is no morning ferry."\n'
    'question = "When does the ferry leave on Sundays?"\n\n\n'
    "def ask(question):\n"
    '    messages = [{"role": "system", "content": "Answer in one short sentence."}, {"role": "user", "content": document + "\\n" + question}]\n'
    '    return model.generate(messages, max_new_tokens=30, parts={"document": document, "question": question}, heads=[(18, 6)])\n\n\n'
    "generation = ask(question)\n"
    "print(generation.completion)",
    {
        "en": "The answer is wrong: on Sundays there is no morning ferry. Where did it look? A click on a written token lights what it looked at; the bars are the shares of the parts.",
        "ja": "答えは誤りです。日曜の朝に船はありません。どこを見ていたのでしょうか。書かれたトークンをクリックすると見た先に色が付きます。棒は各部分の割合です。",
    },
    "el.generation_view(generation, language=language)",
    {
        "en": "## One head that copies\n\nWhen it wrote *7*, L18·H6 looked at the document's own *7*: an induction head. What came after the same words before is written again.",
        "ja": "## 写しているヘッド\n\n*7* を書いたとき、L18·H6 は文書の *7* を見ていました。誘導ヘッドです。前に同じ語の後に来たものを、もう一度書きます。",
    },
    'seven = generation.written.index("7")\n'
    "row = generation.row_of((18, 6))[seven]\n"
    "print([(generation.text.tokens[i], round(float(row[i]), 3)) for i in row.argsort()[::-1][:3]])\n"
    "el.generation_view(generation, layer=18, head=6, written=seven, language=language)",
    {
        "en": "## What each part did\n\nAttention shows where information may flow. What the text needed is another question: how much less probable is each token when a part is taken out, or when no written token may look at it? Numbers in nats, below zero: less probable.",
        "ja": "## それぞれの部分のはたらき\n\nアテンションは、情報が流れうる道を示すだけです。文に何が必要だったかは別の問いです。ある部分を取り除いたとき、または見えなくしたとき、各トークンの確率はどれだけ下がるでしょうか。単位は nat で、負なら下がったことを示します。",
    },
    'effects = el.part_effects(model, generation, ["system", "document", "question"])\n'
    "removed, cut = effects.removed.mean(0), effects.cut.mean(0)\n"
    "for index, part in enumerate(effects.parts):\n"
    "    share = generation.share_of(part).mean()\n"
    '    print(f"{part:10} share {share:.3f}   removed {removed[index]:+.2f}   not looked at {cut[index]:+.2f}")\n'
    "el.generation_view(generation.with_effects(effects), language=language)",
    {
        "en": "## Debugging the answer\n\nDid it read the last sentence? The share of *On Sundays there is no morning ferry.* says how much it looked; taking the sentence out says whether it mattered.",
        "ja": "## 答えを調べる\n\n最後の文は読まれたのでしょうか。*On Sundays there is no morning ferry.* の割合はどれだけ見たかを、その文を除くことは効いていたかを教えます。",
    },
    'last = "On Sundays there is no morning ferry."\n'
    "read = model.replay(\n"
    '    [{"role": "system", "content": "Answer in one short sentence."}, {"role": "user", "content": document + "\\n" + question}],\n'
    "    completion_ids=generation.written_ids,\n"
    '    parts={"times": document.removesuffix(" " + last), "last sentence": last, "question": question},\n'
    ")\n"
    'did = el.part_effects(model, read, ["times", "last sentence", "question"])\n'
    "for index, part in enumerate(did.parts):\n"
    '    print(f"{part:14} share {read.share_of(part).mean():.3f}   removed {did.removed[:, index].mean():+.2f}")',
    {
        "en": "## Without the heads that copy\n\nThe text goes on from the fourth token, with L18·H6 and two heads that read the document switched off.",
        "ja": "## 写すヘッドを切る\n\n四つ目のトークンから書き直します。L18·H6 と、文書を読む二つのヘッドを切ります。",
    },
    'strongest = sorted(generation.head_table(), key=lambda row: -row["share of document"])[:2]\n'
    'heads = [(18, 6), *((row["layer"], row["head"]) for row in strongest)]\n'
    "without = model.continue_from(generation, at=4, max_new_tokens=20, interventions=el.Ablate(heads))\n"
    'print(heads, "".join(generation.written[:4]).replace("▁", " "), "…", without.completion)\n'
    "el.generation_view(without, language=language)",
)
