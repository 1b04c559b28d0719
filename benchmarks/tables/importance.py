"""The importance section of docs/results.md: figure 3 of Clark et al., gradients of the loss, for a masked language model.

python -m benchmarks.tables.importance --model e5-small-mlm --corpus wikitext2-test.txt.gz [--limit 200]
"""

from __future__ import annotations

import numpy as np

import eyeline as el
from benchmarks.output import markdown_table, put_section
from benchmarks.tables.corpus import PairsRun, by_layer
from eyeline.words import percent

#: The targets of the figure, and their names in the table.
TARGETS = {"sep": "`[SEP]`", "cls": "`[CLS]`", "punctuation": ". and ,", "other": "other tokens"}
#: A layer in which `[SEP]` gets at least this share of attention is one in which the paper's claim can be tested.
MUCH = 0.2
#: Two texts on which value vectors are compared.
PAIR = ("The cat sat on the mat because it was tired.", "The dog, however, went to the old house.")


def claim(attention: np.ndarray, to_sep: np.ndarray, to_other: np.ndarray) -> str:
    """What holds of the paper's claim, in numbers: where `[SEP]` gets much attention, changing that attention changes little."""
    much = np.flatnonzero(attention >= MUCH)
    if not len(much):
        return f"No layer gives `[SEP]` a share of {percent(MUCH)} or more, so that the claim cannot be tested here."
    ratio = to_sep / to_other
    lower = [int(layer) for layer in much if ratio[layer] < 1]
    correlation = float(np.corrcoef(attention, ratio)[0, 1])
    return (
        "The paper's claim is that attention to `[SEP]` does nothing: where heads look at it, the gradient of the loss by that attention is"
        f" small. Here {len(much)} layers give `[SEP]` at least {percent(MUCH)}"
        f" ({', '.join(map(str, much))}); in {len(lower)} of them the gradient is smaller for `[SEP]`"
        f" than for other tokens, by a factor of {ratio[much].min():.2f} to {ratio[much].max():.2f}. In the other layers the factor is"
        f" {np.delete(ratio, much).min():.2f} to {np.delete(ratio, much).max():.2f}."
        f" Over all layers, share of attention and factor correlate with {correlation:+.2f}."
    )


def same_state(model: el.Model) -> str:
    """How far the value vectors of `[CLS]` and of the first `[SEP]` are apart in each layer, on one pair of texts."""
    trace = model.trace(*PAIR)
    stack = next(iter(trace.stacks.values()))
    sep = stack.query_text.tokens.index("[SEP]")
    word = 2
    distances, sizes = [], []
    for values in stack.values_by_layer:
        of_token = np.concatenate(list(values), -1)  # [token, head · dim]
        size = float(np.linalg.norm(of_token[sep]))
        distances.append(float(np.linalg.norm(of_token[0] - of_token[sep])) / size)
        sizes.append(float(np.linalg.norm(of_token[word])) / size)
    same = [layer for layer, distance in enumerate(distances) if distance < 0.01]
    if not same:
        return "The value vectors of `[CLS]` and `[SEP]` differ in every layer."
    lengths, apart = [sizes[layer] for layer in same], percent(max(distances[layer] for layer in same), 1)
    return (
        f"It is not a property of `[SEP]` alone: in layers {', '.join(map(str, same))} the value vectors of `[CLS]` and `[SEP]` are"
        f" the same to {apart} or better (measured on one pair of texts), hence the equal columns,"
        f" and that of *cat* is {min(lengths):.1f} to {max(lengths):.1f} times as long. Both tokens serve as one sink with small values;"
        " the gradient by an attention weight is a product with the value vector of its key."
    )


def section(run: el.Run, model: el.Model, command: str) -> str:
    attention = by_layer(run.table("average_attention").where(target="sep"))
    gradients = {target: by_layer(run.table("importance").where(target=target)) for target in TARGETS}
    rows = [
        [str(layer), f"{share:.2f}", *(f"{1e4 * gradients[target][layer]:.2f}" for target in TARGETS)]
        for layer, share in enumerate(attention)
    ]
    counts = run.facts.counts
    header = ["layer", "attention to `[SEP]`", *(f"to {name}" for name in TARGETS.values())]
    return f"""## How much attention matters: figure 3 for an encoder

`{command}`: {run.facts.model.name} on {counts["texts"]:,} segments `[CLS] A [SEP] B [SEP]` ({counts["tokens"]:,} tokens) of
{run.facts.corpus.name}, seed {run.facts.options.seed}; 15 % of the tokens are masked and predicted. Numbers are the mean |∂L/∂α| · 10⁴ over
heads, rows and keys of a kind; the second column is the mean share of attention that `[SEP]` gets. The model is e5-small, trained for
sentence embeddings, with our own small update that makes it a masked language model again: neither the paper's model nor its text.

{markdown_table(header, rows)}

{claim(attention, gradients["sep"], gradients["other"])} {same_state(model)}
"""


def main() -> None:
    statistics = [el.statistics.AverageAttention(), el.statistics.Importance()]
    measured = PairsRun.of_command(__doc__, "importance", statistics, model="e5-small-mlm", limit=200)
    text = section(measured.run, measured.model, measured.command)
    print(text)
    if not measured.printed:
        put_section("importance", text)


if __name__ == "__main__":
    main()
