"""Conversations: the tokens are those of the chat template, and each belongs to the right part."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyeline.errors import TextError
from eyeline.text.conversation import Conversation, encode_conversation, with_parts
from eyeline.text.encode import encode
from eyeline.text.tokenized import TokenizedText
from tests.text.sample_tokenisers import byte_level, llama_like

CHATML = (
    "{% if tools %}<|im_start|>tools\n{{ tools | tojson }}<|im_end|>\n{% endif %}"
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
#: Like Llama 2: contents are trimmed, and only users and assistants may speak, in turn.
IN_TURN = (
    "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Roles must alternate.') }}{% endif %}"
    "{% if m.role == 'user' %}<s>[INST] {{ m.content | trim }} [/INST]{% else %} {{ m.content | trim }} </s>{% endif %}{% endfor %}"
)
#: Like Qwen 3: what an earlier answer thought is dropped.
FORGETFUL = (
    "{% for m in messages %}<{{ m.role }}>"
    "{% if m.role == 'assistant' and not loop.last %}{{ m.content.split('</think>')[-1].lstrip() }}{% else %}{{ m.content }}{% endif %}"
    "</{{ m.role }}>{% endfor %}"
)

SYSTEM = {"role": "system", "content": "The dog is a cat."}
USER = {"role": "user", "content": "Is the dog a cat?"}
ANSWER = {"role": "assistant", "content": "It is."}


def with_template(template: str, make: Any = byte_level) -> Any:
    tokenizer = copy.deepcopy(make())
    tokenizer.chat_template = template
    return tokenizer


def part(text: TokenizedText, name: str) -> str:
    """The characters that the tokens of a part cover, joined."""
    spans = [text.spans[i] for i in text.in_part(name)]
    return text.sources[0][spans[0][0] : spans[-1][1]]


def test_the_tokens_are_those_of_the_template() -> None:
    tokenizer = with_template(CHATML)
    messages = [SYSTEM, USER]
    text = encode_conversation(tokenizer, Conversation.of(messages))
    assert list(text.ids) == list(tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False))
    assert text.sources[0].endswith("<|im_start|>assistant\n")
    assert set(text.segments) == {0}


def test_every_message_is_a_part_and_the_rest_is_the_template() -> None:
    text = encode_conversation(with_template(CHATML), Conversation.of([SYSTEM, USER, ANSWER, USER]))
    assert text.parts == ("first position", "template", "system", "user 1", "assistant 1", "user 2")
    assert text.in_part("first position") == [0]
    assert [part(text, name).strip() for name in text.parts[2:]] == [m["content"] for m in (SYSTEM, USER, ANSWER, USER)]


def test_a_content_that_stands_in_the_template_too_is_found_where_it_was_said() -> None:
    text = encode_conversation(with_template(CHATML), Conversation.of([{"role": "user", "content": "user"}, ANSWER]))
    first = text.spans[text.in_part("user 1")[0]][0]
    assert text.sources[0][first - len("<|im_start|>user\n") : first] == "<|im_start|>user\n"


def test_contents_that_the_template_trims_are_found() -> None:
    text = encode_conversation(with_template(IN_TURN), Conversation.of([{"role": "user", "content": "  the cat \n"}, ANSWER]))
    assert part(text, "user 1").strip() == "the cat"
    assert part(text, "assistant 1").strip() == "It is."


def test_a_conversation_of_a_tokeniser_that_adds_a_beginning_has_it_once() -> None:
    text = encode_conversation(with_template(IN_TURN, llama_like), Conversation.of([USER]))
    assert text.tokens.count("<s>") == 1
    assert text.special[0]


def test_dropped_thoughts_are_no_part_and_the_answer_after_them_is() -> None:
    thinking = {"role": "assistant", "content": "<think>A dog?</think>\nIt is not."}
    text = encode_conversation(with_template(FORGETFUL), Conversation.of([USER, thinking, USER]))
    assert part(text, "assistant 1").strip() == "It is not."
    assert not any(name.startswith("thinking") for name in text.parts)


def test_thoughts_are_a_part_of_their_own() -> None:
    thinking = {"role": "assistant", "content": "<think>A dog?</think>It is not."}
    text = encode_conversation(with_template(CHATML), Conversation.of([USER, thinking]))
    assert part(text, "thinking 1") == "<think>A dog?</think>"
    assert part(text, "assistant 1").endswith("It is not.")


def test_tools_are_a_part() -> None:
    tool = {"type": "function", "function": {"name": "cat", "parameters": {}}}
    text = encode_conversation(with_template(CHATML), Conversation.of([USER], [tool]))
    assert '"name": "cat"' in part(text, "tools")
    assert part(text, "user 1").strip() == USER["content"]


def test_parts_that_a_user_names_come_on_top() -> None:
    text = encode_conversation(with_template(CHATML), Conversation.of([USER]), parts={"animal": "the dog"})
    assert part(text, "animal").strip() == "the dog"
    assert part(text, "user 1").startswith("Is")


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"a": "the"}, "2 times"),
        ({"a": ""}, "0 times"),
        ({"a": (3, 3)}, "3 to 3"),
        ({"a": (0, 10_000)}, "0 to 10000"),
        ({"a": (0, 5), "b": (4, 8)}, "overlap"),
        ({"": (0, 5)}, "Give it a name"),
        ({"a": 7}, "is 7"),
    ],
)
def test_parts_that_overlap_or_lie_outside_are_refused(parts: Any, message: str) -> None:
    with pytest.raises(TextError, match=message):
        with_parts(encode(byte_level(), "the cat and the dog"), parts)


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        ([], "Messages given as list"),
        ("hello", "Messages given as str"),
        ([{"content": "a"}], "no role"),
        ([{"role": "user", "content": 7}], "of type int"),
        ([{"role": "user", "content": [{"type": "image"}]}], "no text"),
        (["hello"], "no role"),
    ],
)
def test_what_is_no_conversation_is_refused(messages: Any, message: str) -> None:
    with pytest.raises(TextError, match=message):
        Conversation.of(messages)


def test_messages_that_the_template_refuses_are_refused_with_its_words() -> None:
    with pytest.raises(TextError, match="Roles must alternate"):
        encode_conversation(with_template(IN_TURN), Conversation.of([USER, USER]))


def test_a_tokeniser_without_a_template_says_so() -> None:
    with pytest.raises(TextError, match="no chat template"):
        encode_conversation(byte_level(), Conversation.of([USER]))


@pytest.mark.parametrize("template", ["{% for i in range(10**10) %}a{% endfor %}", "{{ ''.__class__.__mro__[1].__subclasses__() }}"])
def test_a_hostile_template_runs_in_the_sandbox(template: str) -> None:
    with pytest.raises(TextError, match="refuses these messages"):
        encode_conversation(with_template(template), Conversation.of([USER]))


def test_a_conversation_that_is_too_long_is_refused_or_cut() -> None:
    tokenizer, conversation = with_template(CHATML), Conversation.of([SYSTEM, USER])
    with pytest.raises(TextError, match="the model takes 9"):
        encode_conversation(tokenizer, conversation, max_length=9)
    cut = encode_conversation(tokenizer, conversation, max_length=9, truncate=True)
    assert len(cut) == 9
    assert cut.ids == encode_conversation(tokenizer, conversation).ids[:9]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(min_size=1, max_size=20).filter(lambda text: "<|im" not in text), min_size=1, max_size=4))
def test_whatever_is_said_is_found_again(contents: list[str]) -> None:
    messages = [{"role": ("user", "assistant")[i % 2], "content": content} for i, content in enumerate(contents)]
    try:
        text = encode_conversation(with_template(CHATML), Conversation.of(messages))
    except TextError as error:
        assert "surrogate" in str(error) or "cannot read" in str(error)
        return
    assert len(text.part_of) == len(text)
    for number, content in enumerate(contents):
        name = f"{('user', 'assistant')[number % 2]} {number // 2 + 1}"
        if name in text.parts:  # a character alone may share its token with the template's line break
            assert part(text, name).strip("\n") in f"\n{content}\n" or content.strip() in part(text, name)


def test_word_level_and_files_keep_the_parts(tmp_path: Any) -> None:
    text = encode_conversation(with_template(CHATML), Conversation.of([USER, ANSWER]))
    words = text.at_word_level()
    assert words.parts == text.parts
    assert len(words.part_of) == len(words)
    assert TokenizedText.from_json(text.to_json()) == text
    older = {name: value for name, value in text.to_json().items() if name not in ("parts", "part_of")}
    assert TokenizedText.from_json(older).parts == ()
