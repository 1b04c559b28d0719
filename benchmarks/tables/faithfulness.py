"""How faithful each quantity is to a model's answers, as the section `faithfulness` of docs/results.md.

    python -m benchmarks.tables.faithfulness --keep runs/

Sentences of reviews from the English Web Treebank (en_ewt-test.conllu.gz, which is read where it lies, --data; it is not part of this
repository), 6 to 30 words each, drawn at random with seed 0. A sentiment classifier reads --reviews of them, a decoder the first --next.
The runs are kept in --keep: with the same folder the command continues where it was stopped.
"""

from __future__ import annotations

import random
from pathlib import Path

from scipy.stats import spearmanr

import eyeline as el
from benchmarks.output import existing, markdown_table, put_section, section_parser
from eyeline.attributions import METHODS, Faithfulness
from eyeline.measure.causes.faithfulness import RANDOM, SLOW

TREEBANK = "en_ewt-test.conllu.gz"
SHORTEST, LONGEST = 6, 30
CLASSIFIER, DECODER = "e5-small-sentiment", "smollm2"
#: AOPC on SST-2 of another model: DecompX (Modarressi et al. 2023), table 1.
PUBLISHED = {"decompx": 0.627, "alti": 0.416, "integrated-gradients": 0.340, "globenc": 0.307}
#: Left out for the decoder: about a hundred gradients for each text.
NOT_FOR_DECODER = ("integrated-gradients", *SLOW)


def reviews(path: Path, count: int) -> list[str]:
    """`count` sentences of reviews in a seeded random order: a smaller count gives the first of them."""
    fitting = [
        written(sentence)
        for sentence in el.treebanks.read_treebank(existing(path))
        if sentence.id.startswith("reviews-") and SHORTEST <= len(sentence.words) <= LONGEST
    ]
    random.Random(0).shuffle(fitting)  # noqa: S311 - a sample
    return fitting[:count]


def written(sentence: el.treebanks.Sentence) -> str:
    """The sentence with spaces where its file has them."""
    spaces = sentence.spaces or (True,) * len(sentence.words)
    return "".join(word + " " * space for word, space in zip(sentence.words, spaces, strict=True)).strip()


def measure(name: str, texts: list[str], folder: Path | None) -> el.Run:
    methods = None if name == CLASSIFIER else [method for method in METHODS if method not in NOT_FOR_DECODER]
    model = el.load(name)
    allowed = Faithfulness()
    allowed.prepare(model, 0)
    chosen = None if methods is None else [method for method in methods if method not in allowed.refused]
    return el.analyse(model, el.corpora.Corpus.from_texts(texts), [Faithfulness(chosen)], folder=folder, resume=folder is not None)


def ordered(run: el.Run) -> list[dict[str, object]]:
    return sorted(run.table("faithfulness").rows(), key=lambda row: -float(row["aopc"]))


def numbers(rows: list[dict[str, object]], published: bool) -> str:
    header = ["quantity", "AOPC", "± error", "comprehensiveness", "sufficiency", *(["published AOPC"] if published else [])]
    lines = [
        [
            str(row["method"]),
            *(f"{row[column]:.3f}" for column in ("aopc", "aopc_error", "comprehensiveness", "sufficiency")),
            *([f"{PUBLISHED[str(row['method'])]:.3f}" if row["method"] in PUBLISHED else ""] if published else []),
        ]
        for row in rows
    ]
    return markdown_table(header, lines)


def clear_of_random(rows: list[dict[str, object]]) -> list[str]:
    """Those whose AOPC lies more than two standard errors (of both together) above that of a random order."""
    chance = next(row for row in rows if row["method"] == RANDOM)
    return [
        str(row["method"])
        for row in rows
        if float(row["aopc"]) - float(chance["aopc"]) > 2 * (float(row["aopc_error"]) ** 2 + float(chance["aopc_error"]) ** 2) ** 0.5
    ]


def beside_published(rows: list[dict[str, object]]) -> str:
    ours = {str(row["method"]): float(row["aopc"]) for row in rows}
    shared = [name for name in PUBLISHED if name in ours]
    rank = float(spearmanr([PUBLISHED[name] for name in shared], [ours[name] for name in shared]).statistic)
    order = sorted(shared, key=lambda name: -ours[name])
    return f"Our order of these {len(shared)} is {' > '.join(order)}, theirs {' > '.join(shared)} (rank correlation {rank:+.1f})."


def section(classified: el.Run, decoded: el.Run, command: str) -> str:
    first, second = ordered(classified), ordered(decoded)
    clear, clear_decoder = clear_of_random(first), clear_of_random(second)
    unclear = [str(row["method"]) for row in first if row["method"] not in (*clear, RANDOM)]
    n, n_decoder = first[0]["texts"], second[0]["texts"]
    return f"""## Which quantity the answers follow

`{command}`: the tokens that a quantity ranks first are erased,
and the probability of the model's own answer is measured again ([how](how-to/causes.md#faithfulness)). AOPC and comprehensiveness: high is
faithful; sufficiency: low is. *random* erases in a random order.

**{CLASSIFIER}**, our sentiment classifier (`training/updates/sentiment`), on {n} sentences of reviews from the English Web
Treebank, 6 to 30 words each. The published column is another model on SST-2 (DecompX, Modarressi et al. 2023, table 1): orders may be
compared, numbers not.

{numbers(first, published=True)}

{beside_published(first)}
Integrated gradients start at the very mask token that erased tokens become here, which favours them.
More than two standard errors above a random order: {", ".join(clear) or "none"}. Not: {", ".join(unclear) or "none"}.

**{DECODER}**, the probability of the token that it puts after each of {n_decoder} of these sentences; erased tokens are taken out,
the last token stays. DecompX is refused (gated feed-forward parts), integrated gradients were left out (a hundred gradients for each text).

{numbers(second, published=False)}

More than two standard errors above a random order: {", ".join(clear_decoder) or "none"}.
"""


def main() -> None:
    parser = section_parser(__doc__)
    parser.add_argument("--reviews", type=int, default=100, help="sentences for the classifier")
    parser.add_argument("--next", type=int, default=40, help="of these, for the decoder")
    parser.add_argument("--keep", type=Path, help="a folder for the two runs")
    arguments = parser.parse_args()
    texts = reviews(arguments.data / TREEBANK, arguments.reviews)
    runs = []
    for name, part in ((CLASSIFIER, texts), (DECODER, texts[: arguments.next])):
        folder = None if arguments.keep is None else arguments.keep / name
        runs.append(measure(name, part, folder))
        if folder is not None:
            runs[-1].save(folder)
    text = section(runs[0], runs[1], f"python -m benchmarks.tables.faithfulness --reviews {arguments.reviews} --next {arguments.next}")
    print(text)
    if not arguments.print:
        put_section("faithfulness", text)


if __name__ == "__main__":
    main()
