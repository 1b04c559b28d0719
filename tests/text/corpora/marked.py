"""Documents with mentions, made up by hypothesis, and writers for the three formats that `read_coreference` reads."""

from __future__ import annotations

import json
from collections.abc import Sequence

from hypothesis import strategies as st

from eyeline.mentions import MarkedDocument, Mention
from eyeline.text.corpora.mentions import TYPES

WORDS = st.sampled_from(["Mary", "she", "the", "house", "猫", "が", "고양이가", "don", "’t", "#1", "a-b", "x|y", "(", "Zoë"])


@st.composite
def documents(draw: st.DrawFn) -> MarkedDocument:
    """A few sentences; mentions lie within one, and mentions of one cluster do not cross (no format could write that)."""
    sentences = draw(st.lists(st.lists(WORDS, min_size=1, max_size=6).map(tuple), min_size=1, max_size=4))
    mentions: dict[tuple[int, int, int], Mention] = {}
    start = 0
    for sentence in sentences:
        for _ in range(draw(st.integers(0, 4))):
            first, last = sorted(draw(st.tuples(*[st.integers(start, start + len(sentence) - 1)] * 2)))
            cluster = draw(st.integers(0, 3))
            crosses = any(c == cluster and (a < first <= b < last or first < a <= last < b) for a, b, c in mentions)
            if not crosses:
                head = draw(st.integers(first, last))
                features = [draw(st.sampled_from([None, *values])) for values in (("sg", "pl"), ("Masc", "Fem"), ("1", "3"))]
                mentions[first, last, cluster] = Mention(first, last, head, cluster, draw(st.sampled_from(TYPES)), *features)
        start += len(sentence)
    return MarkedDocument(draw(st.sampled_from(["one", "bc/cctv", "文書"])), tuple(sentences), tuple(mentions.values()))


def spans(document: MarkedDocument) -> set[frozenset[tuple[int, int]]]:
    """The mentions of each cluster, whatever its number."""
    return {
        frozenset((m.start, m.end) for m in document.mentions if m.cluster == cluster) for cluster in {m.cluster for m in document.mentions}
    }


def as_json(document: MarkedDocument) -> str:
    names = ("start", "end", "head", "cluster", "type", "number", "gender", "person")
    data = {
        "doc": document.id,
        "tokens": list(document.words),
        "sent_lens": list(map(len, document.sentences)),
        "mentions": [{name: getattr(mention, "main_word" if name == "head" else name) for name in names} for mention in document.mentions],
    }
    return json.dumps(data, ensure_ascii=False) + "\n"


def as_conll2012(documents: Sequence[MarkedDocument]) -> str:
    lines: list[str] = []
    for number, document in enumerate(documents):
        lines.append(f"#begin document ({document.id}); part {number:03d}")
        position = 0
        for sentence in document.sentences:
            for index, word in enumerate(sentence):
                brackets = "|".join(_brackets(document, position, lambda m: str(m.cluster))) or "-"
                lines.append(f"{document.id}   {number}   {index}   {word}   NN   (NP*)   -   -   -   speaker   *   {brackets}")
                position += 1
            lines.append("")
        lines.append("#end document")
    return "\n".join(lines) + "\n"


def as_conllu(documents: Sequence[MarkedDocument], header: str = "GRP-etype-infstat-minspan-link-identity") -> str:
    lines: list[str] = []
    for document in documents:
        lines += [f"# newdoc id = {document.id}", f"# global.Entity = {header}"]
        position = 0
        for sentence in document.sentences:
            for index, word in enumerate(sentence):
                entity = "".join(_brackets(document, position, lambda m: f"{m.cluster}-person-giv:act-1,2-coref-A_B"))
                misc = f"Entity={entity}|SpaceAfter=No" if entity else "_"
                lines.append("\t".join([str(index + 1), word, word, "NOUN", "NN", "_", str(index), "dep", "_", misc]))
                position += 1
            lines.append("")
    return "\n".join(lines) + "\n"


def _brackets(document: MarkedDocument, index: int, opening) -> list[str]:  # type: ignore[no-untyped-def]
    ends = [f"{m.cluster})" for m in document.mentions if m.end == index > m.start]
    longest = sorted((m for m in document.mentions if m.start == index < m.end), key=lambda m: -m.end)
    alone = [f"({opening(m)})" for m in document.mentions if m.start == m.end == index]
    return [*ends, *(f"({opening(m)}" for m in longest), *alone]
