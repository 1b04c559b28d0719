"""What a command reads: a text or a conversation, with names for its parts, and what of it a trace keeps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
import transformers as t

import eyeline as el
from tests.models.families import GROUPED, tiny_tokenizer

#: A short template with a mark for each role.
TEMPLATE = (
    "{% for message in messages %}{{ '[CLS] ' + message['role'] + ' : ' + message['content'] + ' [SEP] ' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '[CLS] assistant :' }}{% endif %}"
)
CHAT = [{"role": "system", "content": "the cat ran home"}, {"role": "user", "content": "a very long way"}]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EYELINE_CACHE", str(tmp_path / "cache"))
    torch.manual_seed(0)
    t.LlamaForCausalLM(t.LlamaConfig(**GROUPED, initializer_range=0.4)).save_pretrained(tmp_path / "llama")
    tokenizer = tiny_tokenizer()
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(tmp_path / "llama")
    (tmp_path / "chat.json").write_text(json.dumps(CHAT))
    return tmp_path


def test_messages_are_traced_with_their_parts(eyeline, folder):
    done = eyeline(
        "trace", "--messages", folder / "chat.json", "--part", "place=ran home", "--model", folder / "llama", "-o", folder / "x.safetensors"
    )
    assert done.returncode == 0, done.stderr
    text = el.open(folder / "x.safetensors").text
    assert {"system", "user 1", "place"} <= set(text.parts)
    assert [text.tokens[i] for i in text.in_part("place")] == ["ran", "home"]
    assert text.ids == el.load(folder / "llama").trace(CHAT).text.ids
    again = eyeline("trace", "--messages", folder / "chat.json", "--model", folder / "llama", "-o", folder / "y.safetensors")
    assert again.returncode == 0, again.stderr
    assert "place" not in el.open(folder / "y.safetensors").text.parts


def test_an_object_with_messages_and_a_page_of_it(eyeline, folder):
    (folder / "chat.json").write_text(json.dumps({"messages": CHAT}))
    done = eyeline("view", "--messages", folder / "chat.json", "--model", folder / "llama", "-o", folder / "x.html")
    assert done.returncode == 0, done.stderr
    assert (folder / "x.html").stat().st_size > 10_000


def test_a_trace_keeps_the_heads_and_queries_that_are_named(eyeline, folder):
    done = eyeline(
        "trace", "the cat sat on the mat", "--model", folder / "llama", "--heads", "1,3", "--rows", "0,-1", "--precision", "float16",
        "--part", "where=on the mat", "-o", folder / "x.safetensors",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "2 queries, 8 keys" in " ".join(done.stdout.split())
    stack = el.open(folder / "x.safetensors").only
    assert (stack.heads, stack.rows, stack.query_text.tokens) == ((1, 3), (0, 7), ("[CLS]", "[SEP]"))
    assert stack.key_text.parts == ("first position", "text", "where")
    assert stack.weights_by_layer.precision == "float16"


def test_json_lines_with_messages_are_measured_by_part(eyeline, folder):
    chats = [CHAT, [*CHAT, {"role": "assistant", "content": "home"}]]
    (folder / "chats.jsonl").write_text("\n".join(json.dumps({"messages": chat}) for chat in chats))
    done = eyeline(
        "analyse", folder / "chats.jsonl", "--model", folder / "llama", "-o", folder / "run", "--only", "average_attention",
        "--part", "user",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    table = el.open(folder / "run").tables["average_attention"]
    shares = list(table.where(target="user").rows())
    assert len(shares) == 3 * 4
    traces = el.load(folder / "llama").traces(chats)
    for row in shares:
        by_text = [trace.weights[row["layer"], row["head"]][:, trace.text.in_part("user 1")].sum(-1).mean() for trace in traces]
        assert row["mean"] == pytest.approx(sum(by_text) / 2, abs=1e-5)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "No text"),
        (["the cat", "--messages", "chat.json"], "Give one of them"),
        (["--messages", "no.json"], "cannot be read"),
        (["--messages", "broken.json"], "no JSON"),
        (["--messages", "other.json"], "Message 0 has no role"),
        (["the cat", "--part", "x"], "NAME=WORDS"),
        (["the cat", "--part", "x=dog"], "dog"),
        (["the cat", "--precision", "int8"], "auto, float16, float32"),
    ],
)
def test_what_cannot_be_read_is_refused(eyeline, folder, monkeypatch, arguments, says):
    monkeypatch.chdir(folder)
    (folder / "broken.json").write_text("[")
    (folder / "other.json").write_text('[{"text": "the cat"}]')
    done = eyeline("trace", *arguments, "--model", folder / "llama")
    assert done.returncode == 2
    assert says in done.stderr
