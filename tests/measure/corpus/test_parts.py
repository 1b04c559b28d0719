"""Parts of conversations as targets: the mean share of a head's attention that goes to what a user, a system message … said."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers as t

import eyeline as el
from eyeline.errors import TextError
from tests.text.test_conversation import CHATML, with_template

CHATS = [
    [{"role": "system", "content": "The cat."}, {"role": "user", "content": "A dog?"}],
    [{"role": "user", "content": "New York is a city."}, {"role": "assistant", "content": "Yes."}, {"role": "user", "content": "The mat!"}],
]


@pytest.fixture(scope="module")
def model() -> el.Model:
    torch.manual_seed(0)
    config = t.LlamaConfig(
        vocab_size=512, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, initializer_range=0.3
    )
    return el.wrap(t.LlamaForCausalLM(config).eval(), with_template(CHATML), name="tiny")


def by_hand(model: el.Model, layer: int, head: int, kind: str) -> float:
    """The mean over the conversations that have such a part of the mean over rows of what goes to its tokens."""
    means = []
    for chat in CHATS:
        trace = model.trace(chat)
        keys = [i for i, part in enumerate(trace.text.part_of) if trace.text.parts[part].rsplit(" ", 1)[0] == kind]
        if keys:
            means.append(trace.weights[layer, head][:, keys].sum(1).mean())
    return float(np.mean(means))


def test_the_share_of_each_part_is_that_of_a_loop_over_traces(model: el.Model, tmp_path: Path) -> None:
    path = tmp_path / "chats.jsonl"
    path.write_text("\n".join(json.dumps({"messages": chat}) for chat in CHATS), encoding="utf-8")
    statistic = el.statistics.AverageAttention(parts=["system", "user", "assistant", "template"])
    table = el.analyse(model, el.corpora.read_corpus(path), [statistic]).table("average_attention")
    rows = {(row["layer"], row["head"], row["target"]): row["mean"] for row in table.rows()}
    for kind in ("system", "user", "assistant", "template"):
        for layer, head in ((0, 0), (1, 3)):
            assert rows[layer, head, kind] == pytest.approx(by_hand(model, layer, head, kind), abs=1e-6)


def test_conversations_in_memory_are_a_corpus_too(model: el.Model) -> None:
    run = el.analyse(model, CHATS, [el.statistics.AverageAttention(parts=["user"])])
    assert run.facts.counts["texts"] == 2
    assert {"user", "first", "other"} <= set(run.table("average_attention")["target"])


def test_names_that_are_taken_are_refused() -> None:
    with pytest.raises(TextError, match="another target"):
        el.statistics.AverageAttention(parts=["first"])
    with pytest.raises(TextError, match="another target"):
        el.statistics.AverageAttention({"user": "x"}, parts=["user"])
    with pytest.raises(TextError, match="Give a list"):
        el.statistics.AverageAttention(parts="user")


def test_a_damaged_conversation_is_named_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "chats.jsonl"
    path.write_text('{"messages": [{"role": "user", "content": "a"}]}\n{"messages": [{"content": "a"}]}', encoding="utf-8")
    with pytest.raises(TextError, match=r"line 2: Message 0 has no role"):
        list(el.corpora.read_corpus(path))
