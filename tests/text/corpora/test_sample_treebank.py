"""The built-in treebank: valid, varied, the same for the same seed, with coreference that follows from its grammar."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import eyeline as el
from eyeline.errors import TextError
from eyeline.show.cli.main import app
from eyeline.text.corpora.sample_treebank import sample_conllu
from eyeline.text.corpora.treebank import parse_treebank

NAMED = (
    "det", "amod", "nsubj", "obj", "case", "obl", "aux", "aux:pass", "nsubj:pass", "nmod:poss", "compound:prt", "acl:relcl", "advmod",
    "mark", "compound", "nmod:poss", "ccomp",
)  # fmt: skip
GENDER = {"she": "female", "her": "female", "he": "male", "him": "male", "his": "male"}


def mentions(sentence: el.treebanks.Sentence) -> list[tuple[int, int, int]]:
    """(entity, first word, last word) of a sentence, from its Entity= marks."""
    open_at: dict[int, list[int]] = defaultdict(list)
    results = []
    for index, misc in enumerate(sentence.misc):
        for opening, closed, closing in re.findall(r"\((\d+)(?:-[^()\d][^()]*)(\))?|(\d+)\)", misc.get("Entity", "")):
            if closing:
                results.append((int(closing), open_at[int(closing)].pop(), index))
            elif closed:
                results.append((int(opening), index, index))
            else:
                open_at[int(opening)].append(index)
    assert not any(open_at.values()), sentence.id
    return results


@given(st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_every_seed_gives_trees_and_mentions_that_close(seed: int) -> None:
    bank = parse_treebank(sample_conllu(12, seed), strict=True)
    assert len(bank) == 12
    for sentence in bank:
        for _, first, last in mentions(sentence):
            inside = range(first, last + 1)
            heads_outside = [position for position in inside if sentence.governors[position] not in inside]
            assert len(heads_outside) == 1, (sentence.id, sentence.words[first : last + 1])  # a mention is a phrase


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_500_sentences_have_100_words_of_every_relation_that_is_promised(seed: int) -> None:
    counts = Counter(name for sentence in el.treebanks.sample_treebank(500, seed) for name in sentence.deprels)
    assert {name: counts[name] for name in NAMED if counts[name] < 100} == {}


def test_sentences_are_varied() -> None:
    texts = [" ".join(sentence.words) for sentence in el.treebanks.sample_treebank(500)]
    assert len(set(texts)) > 490


def test_the_same_seed_gives_the_same_text_and_another_another() -> None:
    assert sample_conllu(30, 4) == sample_conllu(30, 4)
    assert sample_conllu(30, 4) != sample_conllu(30, 5)


def test_pronouns_agree_with_what_they_refer_to_and_follow_it() -> None:
    """Within a document all pronouns of an entity are of one gender and number, and a pronoun is never its first mention."""
    pronouns = 0
    seen: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for sentence in el.treebanks.sample_treebank(200, seed=6):
        known = seen[sentence.document]
        for entity, first, last in sorted(mentions(sentence), key=lambda item: (item[1], -item[2])):
            if first == last and sentence.upos[first] == "PRON":
                word = sentence.words[first].lower()
                assert entity in known, (sentence.id, word)
                known[entity].add(GENDER.get(word, "many" if word in ("they", "them", "their") else "thing"))
                pronouns += 1
            else:
                _ = known[entity]
    assert pronouns > 100
    assert all(len(forms) <= 1 for entities in seen.values() for forms in entities.values())


def test_the_file_says_that_it_is_made_up_and_names_its_documents() -> None:
    text = sample_conllu(20, 0)
    assert "# synthetic = made by eyeline" in text
    assert text.count("# newdoc id = synthetic-") >= 3
    assert "# global.Entity = GRP-etype-infstat-centering-minspan-link-identity" in text


def test_texts_are_written_as_english_is() -> None:
    for sentence in el.treebanks.sample_treebank(100, seed=8):
        assert sentence.spaces is not None
        text = "".join(word + (" " if space else "") for word, space in zip(sentence.words, sentence.spaces, strict=True)).strip()
        assert text[0].isupper()
        assert text.endswith(".")
        assert not re.search(r" [.,']|\ba [aeiou]|\ban [^aeiou]|s's", text), text


def test_no_sentences_are_refused() -> None:
    with pytest.raises(TextError, match="-n 1 or more"):
        el.treebanks.sample_treebank(0)


@pytest.mark.parametrize("name", ["x.conllu", "x.conllu.gz"])
def test_the_command_writes_what_the_function_gives(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    result = CliRunner().invoke(app, ["sample-treebank", "-n", "12", "--seed", "3", "-o", str(path)])
    assert result.exit_code == 0, result.output
    assert el.treebanks.read_treebank(path).sentences == el.treebanks.sample_treebank(12, seed=3).sentences
