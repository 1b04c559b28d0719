"""Coreference as JSON lines: one document per line, with tokens, sent_lens and mentions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from eyeline.errors import TextError
from eyeline.text.coreference.features import features, main_word_by_dependencies, main_word_by_tags, type_by_tag
from eyeline.text.coreference.mention import TYPES, MarkedDocument, Mention, Problems
from eyeline.text.coreference.untagged import type_by_word
from eyeline.text.corpora.lines import numbered_lines

NEEDED = "Each line is an object with tokens, sent_lens and mentions [{start, end (included), cluster, …}]."


def read_json(path: Path, problems: Problems) -> Iterator[MarkedDocument]:
    """The documents of a file. A mention must have start, end and cluster; its main word (`head`), type, number, gender
    and person are derived from dep_heads, xpos and upos where they are missing."""
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            document = _document(where, json.loads(line), problems)
        except TextError:
            raise
        except (ValueError, RecursionError) as error:  # bad JSON, numbers of thousands of digits, lists nested too deeply
            raise TextError(f"{where}: not JSON ({error}).", NEEDED) from error
        yield document


def _document(where: str, data: Any, problems: Problems) -> MarkedDocument:
    words = data.get("tokens") if isinstance(data, dict) else None
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words) or "mentions" not in data:
        keys = ", ".join(data) if isinstance(data, dict) else type(data).__name__
        raise TextError(f"{where}: no tokens and mentions in {keys[:80]}.", NEEDED)
    lengths = data.get("sent_lens", [len(words)])
    if not _numbers(lengths) or sum(lengths) != len(words):
        raise TextError(f"{where}: sent_lens {str(lengths)[:60]} do not add up to {len(words)} tokens.", NEEDED)
    sentences, start = [], 0
    for length in lengths:
        sentences.append(tuple(words[start : start + length]))
        start += length
    for name in ("dep_heads", "xpos", "upos"):
        if name in data and (not isinstance(data[name], list) or len(data[name]) != len(words)):
            raise TextError(f"{where}: {name} does not have one entry for each of {len(words)} tokens.", NEEDED)
        kind, what = (int, "numbers") if name == "dep_heads" else (str, "strings")
        if not all(isinstance(entry, kind) for entry in data.get(name, [])):
            raise TextError(f"{where}: {name} are not all {what}.", NEEDED)
    mentions = []
    for index, record in enumerate(data["mentions"] if isinstance(data["mentions"], list) else [None]):
        try:
            mentions.append(_mention(record, words, data))
            problems.inferred_types += not (data.get("xpos") or data.get("upos") or record.get("type"))
        except (TextError, TypeError) as error:
            what = f"mention {index} cannot be used ({' '.join(str(error).split())})"
            problems.note("malformed_mentions", where, what)
    return MarkedDocument(str(data.get("doc", where)), tuple(sentence for sentence in sentences if sentence), tuple(mentions))


def _mention(record: Any, words: Sequence[str], data: Mapping[str, Any]) -> Mention:
    if not isinstance(record, dict) or not {"start", "end", "cluster"} <= set(record):
        raise TextError(f"{json.dumps(record)[:60]} has no start, end and cluster")
    start, end, cluster = record["start"], record["end"], record["cluster"]
    if not _numbers([start, end, cluster]) or not start <= end < len(words):
        raise TextError(f"words {start!r} to {end!r} of {len(words)}, cluster {cluster!r}")
    tags = data.get("xpos") or data.get("upos")
    main_word = record.get("head")
    if main_word is None and "dep_heads" in data:
        main_word = main_word_by_dependencies(start, end, data["dep_heads"])
    elif main_word is None:
        main_word = start + main_word_by_tags(tags[start : end + 1]) if tags else end
    if not start <= main_word <= end:
        raise TextError(f"words {start} to {end}, whose main word is {main_word}")
    tag = tags[main_word] if tags else ""
    derived = type_by_tag((data.get("upos") or tags)[main_word], alone=start == end) if tags else type_by_word(words[main_word])
    type_ = record.get("type") or derived
    if type_ not in TYPES:
        raise TextError(f"type {type_!r}")
    derived_features = zip(("number", "gender", "person"), features(words[main_word], tag, type_), strict=True)
    return Mention(
        start, end, main_word, cluster, type_, *(_text(record[name]) if name in record else own for name, own in derived_features)
    )


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _numbers(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, int) and not isinstance(value, bool) and value >= 0 for value in values)
