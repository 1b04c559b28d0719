"""A conversation → the text of its chat template, tokenised, and the part of it that each token belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eyeline.errors import TextError
from eyeline.text.tokenized import Span, TokenizedText, is_byte_level, show
from eyeline.text.words import TokenWords, group, group_by_marks, segment

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

#: Parts with fixed names. Messages are `user 1`, `assistant 2` …, thoughts `thinking 1` …
FIRST, TEMPLATE, TOOLS, THINKING = "first position", "template", "tools", "thinking"

#: The part of a plain text to which everything belongs that has no name.
REST = "text"

#: How models mark what they think before they answer.
THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)|<\|channel\|>analysis<\|message\|>.*?(?:<\|end\|>|\Z)", re.DOTALL)

#: Parts that a user names: characters [start, end) of the text that the model reads, or the words themselves.
NamedParts = Mapping[str, Span | str]


#: How a user gives a conversation: messages {"role": …, "content": …}, in order.
Messages = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Conversation:
    """Messages in order, each with a role and a content, and the tools that the model was told of.

    >>> Conversation.of([{"role": "user", "content": "Hello."}]).asks
    True
    """

    messages: tuple[Mapping[str, Any], ...]
    tools: tuple[Mapping[str, Any], ...] = ()

    @classmethod
    def of(cls, messages: Any, tools: Any = ()) -> Conversation:
        """Checked: a list of messages {"role": …, "content": …}, where the content is a text, or a list of parts that are texts."""
        if isinstance(messages, Conversation):
            return messages
        if not isinstance(messages, Sequence) or isinstance(messages, str | bytes) or not messages:
            raise TextError(f"Messages given as {type(messages).__name__}.", 'Give a list: [{"role": "user", "content": "Hello."}].')
        return cls(tuple(_checked(message, number) for number, message in enumerate(messages)), tuple(tools or ()))

    @property
    def asks(self) -> bool:
        """Whether the next to write is the model: the last message is not its own."""
        return bool(self.messages[-1]["role"] != "assistant")

    def to_json(self) -> dict[str, Any]:
        return {"messages": list(map(dict, self.messages)), **({"tools": list(map(dict, self.tools))} if self.tools else {})}

    def __len__(self) -> int:
        """How many characters its messages have."""
        return sum(len(message["content"]) for message in self.messages)


def is_conversation(item: object) -> bool:
    """Whether this is a conversation, or a list of messages."""
    return isinstance(item, Conversation) or (isinstance(item, list | tuple) and bool(item) and isinstance(item[0], Mapping))


def _checked(message: Any, number: int) -> dict[str, Any]:
    """One message with its content as one text."""
    role = message.get("role") if isinstance(message, Mapping) else None
    if not isinstance(role, str) or not role:
        raise TextError(f"Message {number} has no role: {str(message)[:60]!r}.", 'Give each a role: {"role": "user", "content": "Hello."}.')
    content = message.get("content")
    if content is None and message.get("tool_calls"):
        content = ""
    if isinstance(content, Sequence) and not isinstance(content, str):
        texts = [part.get("text") if isinstance(part, Mapping) else None for part in content]
        if not all(isinstance(text, str) for text in texts):
            raise TextError(f"Message {number} ({role}) holds something that is no text.", "Give pictures with model.trace_inputs.")
        content = "".join(map(str, texts))
    if not isinstance(content, str):
        raise TextError(f"The content of message {number} ({role}) is of type {type(content).__name__}.", "Give a string.")
    return {**message, "role": role, "content": content}


def encode_conversation(
    tokenizer: PreTrainedTokenizerBase,
    conversation: Conversation,
    *,
    parts: NamedParts | None = None,
    max_length: int | None = None,
    truncate: bool = False,
) -> TokenizedText:
    """The tokens that the model reads when it is given these messages, with the part that each belongs to.

    The chat template is rendered once; its text is tokenised, and the ids must be those that the tokeniser gives for the messages.
    Where the model is next to write, the template's beginning of its answer follows.

    parts                 further parts, by name: characters of the rendered text, or words that stand in it once
    max_length, truncate  as in `encode`
    """
    rendered = render(tokenizer, conversation)
    if not getattr(tokenizer, "is_fast", False):
        raise TextError(
            f"{type(tokenizer).__name__} does not say where its tokens lie in the text.", "Open the fast version of this tokeniser."
        )
    encoding: Any = tokenizer(rendered, add_special_tokens=False, truncation=False, padding=False, verbose=False).encodings[0]
    ids = tuple(encoding.ids)
    expected = _template(tokenizer, conversation, tokenize=True)
    if ids != tuple(expected):
        raise TextError(
            "The chat template gives other tokens for these messages than for the text that it writes.",
            f"as messages: {tokenizer.convert_ids_to_tokens(list(expected)[:8])} …",
            f"as text: {tokenizer.convert_ids_to_tokens(list(ids)[:8])} …",
            "Where a message begins cannot be known. Give the text itself: model.trace(text, parts=…).",
        )
    named = [*parts_of_messages(tokenizer, conversation, rendered), *spans_of_parts(parts or {}, rendered)]
    text = _with_parts(_tokenized(tokenizer, rendered, encoding), named, TEMPLATE)
    if max_length is None or len(text) <= max_length:
        return text
    if not truncate:
        raise TextError(
            f"{len(text):,} tokens, but the model takes {max_length:,}.", "Leave messages out, or pass truncate=True to keep the beginning."
        )
    return text.only(range(max_length))


def with_parts(text: TokenizedText, parts: NamedParts) -> TokenizedText:
    """The same plain text with these parts, by the characters of its source or the words themselves."""
    if len(text.sources) != 1 or not text.spans:
        raise TextError("Where the tokens of this text lie in it is not known.", "Name the parts of a conversation: model.trace(messages).")
    return _with_parts(text, list(spans_of_parts(parts, text.sources[0])), REST)


# ---- The chat template


def render(tokenizer: PreTrainedTokenizerBase, conversation: Conversation) -> str:
    """The text that the chat template writes."""
    return str(_template(tokenizer, conversation, tokenize=False))


def _template(tokenizer: PreTrainedTokenizerBase, conversation: Conversation, *, tokenize: bool) -> Any:
    """What the template makes of the messages: its text, or the ids. It runs in transformers' sandbox."""
    if getattr(tokenizer, "chat_template", None) is None:
        raise TextError(
            f"{type(tokenizer).__name__} of this model has no chat template: it does not say how messages are written.",
            "Give a text, or set tokenizer.chat_template.",
        )
    try:
        return tokenizer.apply_chat_template(
            [dict(message) for message in conversation.messages],
            tools=[dict(tool) for tool in conversation.tools] or None,
            add_generation_prompt=conversation.asks,
            tokenize=tokenize,
            return_dict=False,
        )
    except Exception as error:  # a template is a program, of the model's author
        raise TextError(
            "The chat template of this model refuses these messages.",
            f"{type(error).__name__}: {' '.join(str(error).split())[:300]}",
            f"roles: {', '.join(message['role'] for message in conversation.messages)}",
        ) from error


# ---- Where the parts lie in the text that the template writes


def parts_of_messages(tokenizer: PreTrainedTokenizerBase, conversation: Conversation, rendered: str) -> Iterator[tuple[str, Span]]:
    """The name and the characters of every message's content, of thoughts in it, and of the tools.

    The template is rendered once more with a mark in place of each content. Where the text around the marks is the same, the contents
    lie between; where the template writes other things than it was given (Qwen3 drops earlier thoughts), each content is searched in order.
    """
    counts: dict[str, int] = {}
    spans = _between_marks(tokenizer, conversation, rendered) or _in_order(conversation, rendered)
    if conversation.tools and (of_tools := _tools_span(tokenizer, conversation, rendered)) is not None:
        yield TOOLS, of_tools
    thoughts = 0
    for message, span in zip(conversation.messages, spans, strict=True):
        role = message["role"]
        counts[role] = counts.get(role, 0) + 1
        if span is None or span[0] == span[1]:
            continue
        yield (role if role == "system" and counts[role] == 1 else f"{role} {counts[role]}"), span
        for thought in THOUGHT.finditer(rendered, *span):
            thoughts += 1
            yield f"{THINKING} {thoughts}", thought.span()


def _between_marks(tokenizer: PreTrainedTokenizerBase, conversation: Conversation, rendered: str) -> list[Span | None] | None:
    marks = [f"\ue000{number}\ue001" for number in range(len(conversation.messages))]
    marked = Conversation(
        tuple({**message, "content": mark} for message, mark in zip(conversation.messages, marks, strict=True)), conversation.tools
    )
    try:
        frame = render(tokenizer, marked)
    except TextError:  # a template may want other contents
        return None
    spans: list[Span | None] = []
    read, at = 0, 0  # in the frame, in the text
    for message, mark in zip(conversation.messages, marks, strict=True):
        start = frame.find(mark, read)
        if start < 0 or frame.count(mark) != 1:
            return None
        at += start - read
        content = next((text for text in (message["content"], message["content"].strip()) if rendered.startswith(text, at)), None)
        if content is None or rendered[at - (start - read) : at] != frame[read:start]:
            return None
        spans.append((at, at + len(content)))
        read, at = start + len(mark), at + len(content)
    return spans if rendered[at:] == frame[read:] else None


def _in_order(conversation: Conversation, rendered: str) -> list[Span | None]:
    """Each content where it first stands after the one before; None where it is not in the text."""
    spans: list[Span | None] = []
    at = 0
    for message in conversation.messages:
        content = str(message["content"]).strip()
        answer = THOUGHT.sub("", content).strip()
        span = next(((start, start + len(text)) for text in (content, answer) if text and (start := rendered.find(text, at)) >= 0), None)
        spans.append(span)
        at = at if span is None else span[1]
    return spans


def _tools_span(tokenizer: PreTrainedTokenizerBase, conversation: Conversation, rendered: str) -> Span | None:
    """What the template writes of the tools: where its text with them differs from its text without."""
    without = render(tokenizer, Conversation(conversation.messages))
    start = next((i for i, (a, b) in enumerate(zip(rendered, without, strict=False)) if a != b), min(len(rendered), len(without)))
    most = min(len(rendered), len(without)) - start
    same = next((i for i in range(most) if rendered[-1 - i] != without[-1 - i]), most)
    end = len(rendered) - same
    return (start, end) if end > start else None


def spans_of_parts(parts: NamedParts, text: str) -> Iterator[tuple[str, Span]]:
    """The parts that a user has named, checked: inside the text, apart from each other, with a name."""
    taken: list[tuple[int, int, str]] = []
    for name, where in parts.items():
        if not isinstance(name, str) or not name.strip():
            raise TextError(f"A part named {name!r}.", "Give it a name.")
        if isinstance(where, str):
            if text.count(where) != 1 or not where:
                raise TextError(
                    f"The part {name!r} stands {text.count(where) if where else 0} times in the text.",
                    f"words: {where[:60]!r}",
                    f"Give words that stand in it once, or characters: parts={{{name!r}: (start, end)}}.",
                )
            start = text.index(where)
            end = start + len(where)
        else:
            try:
                start, end = map(int, where)
            except (TypeError, ValueError):
                raise TextError(
                    f"The part {name!r} is {where!r}.", "Give its words, or its first character and the one after it."
                ) from None
        if not 0 <= start < end <= len(text):
            raise TextError(f"The part {name!r} is characters {start} to {end} of a text of {len(text):,}.", "Give a span inside the text.")
        if (other := next((n for a, b, n in taken if a < end and start < b), None)) is not None:
            raise TextError(f"The parts {other!r} and {name!r} overlap.", "Give parts that lie apart.")
        taken.append((start, end, name))
        yield name, (start, end)


# ---- From the text to tokens


def _tokenized(tokenizer: PreTrainedTokenizerBase, rendered: str, encoding: Any) -> TokenizedText:
    """The tokens of a rendered text; those of the template that are no text ([INST], <|im_end|>) are special."""
    byte_level = is_byte_level(tokenizer)
    special_ids = set(tokenizer.all_special_ids) | {n for n, added in tokenizer.added_tokens_decoder.items() if added.special}
    special = tuple(number in special_ids for number in encoding.ids)
    shown = tuple(show(piece, byte_level) for piece in encoding.tokens)
    spans: list[Span] = list(encoding.offsets)
    own = [index for index, is_special in enumerate(special) if not is_special]
    words: TokenWords = group(rendered, segment(rendered), [spans[i] for i in own], [shown[i] for i in own]) if own else group_by_marks([])
    of = iter(words.of)
    return TokenizedText(
        tokens=shown,
        words=tuple(None if is_special else next(of) for is_special in special),
        word_texts=words.texts,
        segments=(0,) * len(shown),
        special=special,
        ids=tuple(encoding.ids),
        spans=tuple(spans),
        sources=(rendered,),
        types=tuple(encoding.type_ids) if "token_type_ids" in tokenizer.model_input_names else (),
    )


def _with_parts(text: TokenizedText, parts: Sequence[tuple[str, Span]], rest: str) -> TokenizedText:
    """Each token belongs to the last of these parts that holds at least half of it, else to the rest; the first token is a part of its
    own, since many models put there what they have no other use for."""
    names = [FIRST, rest, *(name for name, _ in parts)]
    of = [1] * len(text)
    for index, (_, (start, end)) in enumerate(parts):
        for token, (first, last) in enumerate(text.spans):
            if min(last, end) > max(first, start) and 2 * (min(last, end) - max(first, start)) >= last - first:
                of[token] = index + 2
    of[0] = 0
    kept = [index for index in range(len(names)) if index in of]
    return text.with_parts([names[index] for index in kept], [kept.index(index) for index in of])
