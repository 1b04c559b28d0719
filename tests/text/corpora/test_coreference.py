"""Coreference corpora: three formats read alike, bad ones named, and what a file does not say derived."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import eyeline as el
from eyeline.errors import TextError
from eyeline.mentions import MarkedDocument, Mention, read_coreference
from tests.laws.statistics import tiny_model
from tests.text.corpora.marked import as_conll2012, as_conllu, as_json, documents, spans

MARY = MarkedDocument(
    "mary",
    (("Mary", "left", "the", "old", "house"), ("She", "liked", "it")),
    (Mention(0, 0, 0, 0, "proper"), Mention(2, 4, 4, 1, "nominal"), Mention(5, 5, 5, 0, "pronoun"), Mention(7, 7, 7, 1, "pronoun")),
)
CONLL2012 = """#begin document (bc/x/00/x_0000); part 000
bc/x/00/x_0000 0 0 The DT (TOP(S(NP* - - - A * (1
bc/x/00/x_0000 0 1 owner NN * - - - A * -
bc/x/00/x_0000 0 2 of IN * - - - A * -
bc/x/00/x_0000 0 3 Mary NNP * - - - A * (2
bc/x/00/x_0000 0 4 's POS * - - - A * 2)
bc/x/00/x_0000 0 5 cats NNS * - - - A * 1)
bc/x/00/x_0000 0 6 left VBD * - - - A * -

bc/x/00/x_0000 0 0 He PRP * - - - B * (1)
bc/x/00/x_0000 0 1 saw VBD * - - - B * -
bc/x/00/x_0000 0 2 her PRP * - - - B * (2)
#end document
#begin document (bc/x/00/x_0000); part 001
bc/x/00/x_0000 1 0 Nobody NN * - - - A * -

#end document
"""
GUM = """# newdoc id = GUM_x
# global.Entity = GRP-etype-infstat-salience-centering-minspan-link-identity
# sent_id = GUM_x-1
# text = 田中さん猫飼う
1	田中	田中	PROPN	NNP	_	4	nsubj	_	Entity=(1-person-new-s-cf1-1,2-coref-Tanaka_%28x%29
2	さん	さん	NOUN	NN	_	1	flat	_	Entity=1)
3	猫	猫	NOUN	NN	_	4	obj	_	Entity=(2-animal-new-n-cf2-1-coref)
4	飼う	飼う	VERB	VB	_	0	root	_	_

# sent_id = GUM_x-2
# text = 그는 운다 .
1-2	그는	_	_	_	_	_	_	_	_
1	그	그	PRON	PRP	Gender=Masc|Number=Sing|Person=3	3	nsubj	_	Entity=(1-person-giv:act-s-cf1-1-coref)
2	는	는	ADP	RP	_	1	case	_	_
3	운다	운다	VERB	VB	_	0	root	_	Entity=(3-event-new-n-cf3-1-sgl(1-person-giv:act-s-cf1-1-coref)
4	.	.	PUNCT	.	_	3	punct	_	Entity=3)
4.1	_	_	PRON	_	_	_	_	_	Entity=(9-person)
"""


def write(folder: Path, text: str, name: str = "x") -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


@settings(max_examples=40, deadline=None)
@given(originals=st.lists(documents(), min_size=1, max_size=3))
def test_what_was_written_is_read_back_from_every_format(originals: list[MarkedDocument], tmp_path_factory: pytest.TempPathFactory) -> None:
    if not any(document.mentions for document in originals):
        return
    folder = tmp_path_factory.mktemp("written")
    from_json = read_coreference(write(folder, "".join(map(as_json, originals)), "x.jsonl.gz"), strict=True)
    assert from_json.documents == tuple(originals)
    for text, name in ((as_conll2012(originals), "x.v4_gold_conll"), (as_conllu(originals), "x.conllu.gz")):
        actual = read_coreference(write(folder, text, name), strict=True)
        assert [document.sentences for document in actual] == [document.sentences for document in originals]
        assert [spans(document) for document in actual] == [spans(document) for document in originals]


def test_a_part_of_conll_2012_is_a_document_and_main_words_types_and_features_are_derived(tmp_path: Path) -> None:
    corpus = read_coreference(write(tmp_path, CONLL2012), strict=True)
    assert [document.id for document in corpus] == ["bc/x/00/x_0000, part 0", "bc/x/00/x_0000, part 1"]
    assert corpus[0].mentions == (
        Mention(0, 5, 1, 1, "nominal", "sg", None, "3"),
        Mention(3, 4, 3, 2, "proper", "sg", None, "3"),
        Mention(7, 7, 7, 1, "pronoun", "sg", "Masc", "3"),
        Mention(9, 9, 9, 2, "pronoun", "sg", "Fem", "3"),
    )
    assert corpus[1].mentions == ()


def test_penns_signs_become_what_stood_in_the_text(tmp_path: Path) -> None:
    text = CONLL2012.replace(" Mary ", " -LRB- ").replace(" owner ", " `` ").replace(" left ", " /. ")
    assert read_coreference(write(tmp_path, text))[0].sentences[0] == ("The", '"', "of", "(", "'s", "cats", ".")


def test_gum_brackets_nest_and_words_without_spaces_are_words(tmp_path: Path) -> None:
    corpus = read_coreference(write(tmp_path, GUM, "x.conllu"))
    (document,) = corpus
    assert document.words == ("田中", "さん", "猫", "飼う", "그", "는", "운다", ".")
    assert [(m.start, m.end, m.main_word, m.cluster, m.type) for m in document.mentions] == [
        (0, 1, 0, 0, "proper"),
        (2, 2, 2, 1, "nominal"),
        (4, 4, 4, 0, "pronoun"),
        (6, 6, 6, 0, "nominal"),
        (6, 7, 6, 3 - 1, "nominal"),
    ]
    assert (document.mentions[2].number, document.mentions[2].gender, document.mentions[2].person) == ("sg", "Masc", "3")
    assert document.spaces == (False, False, False, True, False, True, True, True)
    assert corpus.problems == {"mentions_without_words": 1}


def test_corefuds_head_field_says_which_word_is_the_main_word(tmp_path: Path) -> None:
    text = as_conllu([MARY], "eid-etype-head-other").replace("(1-person-giv:act-1,2-coref-A_B", "(1-thing-2-x")
    (document,) = read_coreference(write(tmp_path, text), strict=True)
    assert document.mentions[1].main_word == 3


@pytest.mark.parametrize(
    ("text", "problem", "says"),
    [
        (CONLL2012.replace("* (2\n", "* -\n"), "malformed_brackets", r"line 6: 2\) closes a mention that was not opened"),
        (CONLL2012.replace("* 2)", "* -"), "malformed_brackets", r"line 5: \(2 is never closed"),
        (CONLL2012.replace("(1)", "(one)"), "malformed_brackets", r"'\(one\)' is not a bracket"),
        (CONLL2012.rsplit("#end", 1)[0], "unclosed_documents", "no #end document"),
        (CONLL2012.replace("(1)", "(1)|(1)"), "repeated_mentions", "marked twice"),
        (GUM.replace("Entity=1)", "Entity=7)"), "malformed_brackets", r"word 2: 7\) closes a mention that was not opened"),
        (GUM.replace("Entity=3)", "Entity=)"), "malformed_brackets", "without a number"),
        (GUM.replace("(2-animal", "(2[1/2]-animal"), "discontinuous_mentions", "2 is marked in several parts"),
        (as_json(MARY).replace('"end": 7', '"end": 70'), "malformed_mentions", "mention 3 cannot be used"),
        (as_json(MARY).replace('"start": 5', '"start": "5"'), "malformed_mentions", "mention 2 cannot be used"),
        (as_json(MARY).replace('"proper"', '"name"'), "malformed_mentions", "type 'name'"),
        (as_json(MARY).replace('"head": 4', '"head": 6'), "malformed_mentions", "whose main word is 6"),
        (as_json(MARY).replace('"head": 4', '"head": 600'), "malformed_mentions", "whose main word is 600"),
        (as_json(MARY).replace('"mentions": [', '"mentions": [null, '), "malformed_mentions", "null has no start, end and cluster"),
    ],
)
def test_what_cannot_be_used_is_counted_or_with_strict_an_error(tmp_path: Path, text: str, problem: str, says: str) -> None:
    corpus = read_coreference(write(tmp_path, text))
    assert corpus.problems[problem] >= 1
    strict = text.replace("4.1\t_\t_\tPRON\t_\t_\t_\t_\t_\tEntity=(9-person)\n", "")
    with pytest.raises(TextError, match=says):
        read_coreference(write(tmp_path, strict), strict=True)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Just a text.\nAnd more of it.\n", "what kind of coreference corpus"),
        ("", "an empty file"),
        (CONLL2012.replace("Nobody NN", "Nobody").replace(" - - - A * -\n\n#end", "\n\n#end"), "not CoNLL-2012"),
        (CONLL2012.replace(" He ", " [WORD] "), "skeleton"),
        ("1\ta\n", "what kind"),
        (GUM.replace("\troot\t", "\t"), "not CoNLL-U"),
        ("# sent_id = 1\n1\tHi\thi\tINTJ\tUH\t_\t0\troot\t_\t_\n\n", "no mentions in 1 documents"),
        ('{"tokens": ["a"], "mentions": []}\n', "no mentions in 1 documents"),
        ('{"tokens": ["a"]}\n', "no tokens and mentions"),
        ('{"tokens": ["a"], "sent_lens": [2], "mentions": []}\n', "do not add up"),
        ('{"tokens": ["a"], "dep_heads": [], "mentions": []}\n', "dep_heads"),
        ('{"tokens": ["a"], "dep_heads": ["b"], "mentions": []}\n', "dep_heads are not all numbers"),
        ('{"tokens": ', "not JSON"),
        ('{"text": "a plain corpus"}\n', "no tokens and mentions"),
    ],
)
def test_a_file_of_the_wrong_kind_is_refused(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(TextError, match=says):
        read_coreference(write(tmp_path, text))


def test_main_words_and_types_come_from_universal_tags_and_pronouns_from_the_word_where_there_are_no_tags(tmp_path: Path) -> None:
    plain = {"tokens": ["the", "man", "in", "town", "left", "and", "she", "ran"], "mentions": [{"start": 0, "end": 3, "cluster": 0}]}
    plain["mentions"] += [{"start": 6, "end": 6, "cluster": 0}]
    tagged = plain | {"upos": ["DET", "NOUN", "ADP", "NOUN", "VERB", "CCONJ", "PRON", "VERB"]}
    for document, head in ((plain, 3), (tagged, 1)):
        (result,) = read_coreference(write(tmp_path, json.dumps(document)))
        assert [(mention.main_word, mention.type) for mention in result.mentions] == [(head, "nominal"), (6, "pronoun")]


def test_xpos_alone_tells_the_type_in_conllu(tmp_path: Path) -> None:
    row = "{0}\t{1}\t_\t_\t{2}\t_\t_\t_\t_\tEntity=({0})\n"
    words = ((1, "Mary", "NNP"), (2, "them", "PRP"), (3, "cats", "NNS"), (4, "her", "_"))
    (outcome,) = read_coreference(write(tmp_path, "".join(row.format(*word) for word in words) + "\n"))
    assert [mention.type for mention in outcome.mentions] == ["proper", "pronoun", "nominal", "pronoun"]


def test_files_that_are_not_there_or_damaged_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TextError, match="no such file"):
        read_coreference(tmp_path / "x")
    (tmp_path / "x.gz").write_bytes(gzip.compress(CONLL2012.encode())[:-20])
    with pytest.raises(TextError, match="cannot be read"):
        read_coreference(tmp_path / "x.gz")
    (tmp_path / "y").write_bytes(b"#begin document (\xff)\n")
    with pytest.raises(TextError, match="not UTF-8"):
        read_coreference(tmp_path / "y")
    with pytest.raises(TextError, match="Did you mean conll2012"):
        read_coreference(write(tmp_path, CONLL2012), kind="conll2013")


def test_what_is_derived_agrees_with_what_ontogum_says(tmp_path: Path) -> None:
    folder = Path(os.environ.get("EYELINE_DATA", Path(__file__).parents[4] / "shared" / "data"))
    if not (folder / "ontogum-dev.jsonl.gz").exists():
        pytest.skip(f"ontogum-dev.jsonl.gz is not in {folder} (set EYELINE_DATA)")
    with gzip.open(folder / "ontogum-dev.jsonl.gz", "rt", encoding="utf-8") as file:
        data = [json.loads(line) for line in file]
    bare = "".join(json.dumps({**item, "mentions": _bare(item["mentions"])}) + "\n" for item in data)
    corpora = read_coreference(folder / "ontogum-dev.jsonl.gz", strict=True), read_coreference(write(tmp_path, bare), strict=True)
    message, derived = ([{(m.start, m.end): m for m in document.mentions} for document in corpus] for corpus in corpora)
    pairs = [(mention, other[span]) for item, other in zip(message, derived, strict=True) for span, mention in item.items()]
    assert len(pairs) > 3000
    for name, least in (("main_word", 1.0), ("type", 0.99), ("gender", 0.99)):
        assert sum(getattr(item, name) == getattr(other, name) for item, other in pairs) >= least * len(pairs), name


def _bare(mentions: list[dict[str, object]]) -> list[dict[str, object]]:
    return [{name: mention[name] for name in ("start", "end", "cluster")} for mention in mentions]


@pytest.mark.parametrize("broken", [(0, 2, 3), (2, 1, 1), (-1, 0, 0)])
def test_a_mention_holds_its_main_word(broken: tuple[int, int, int]) -> None:
    with pytest.raises(TextError, match="must lie within"):
        Mention(*broken, 0, "nominal")


def test_a_mention_beyond_its_document_is_refused() -> None:
    with pytest.raises(TextError, match="there are 1 words"):
        MarkedDocument("x", (("a",),), (Mention(0, 1, 1, 0, "nominal"),))


UNTAGGED = """#begin document (novel); part 0
novel 0 0 Mary _ _ _ _ _ _ _ _ (1)
novel 0 1 met _ _ _ _ _ _ _ _ _
novel 0 2 the _ _ _ _ _ _ _ _ (2
novel 0 3 men _ _ _ _ _ _ _ _ _
novel 0 4 of _ _ _ _ _ _ _ _ _
novel 0 5 Leeds _ _ _ _ _ _ _ _ 2)
novel 0 6 . _ _ _ _ _ _ _ _ _

novel 0 0 Men _ _ _ _ _ _ _ _ (2)
novel 0 1 saw _ _ _ _ _ _ _ _ _
novel 0 2 her _ _ _ _ _ _ _ _ (1)
novel 0 3 . _ _ _ _ _ _ _ _ _

#end document
"""


def test_a_file_without_tags_has_its_types_inferred_and_counted(tmp_path):
    (tmp_path / "novel.conll").write_text(UNTAGGED, encoding="utf-8")
    corpus = read_coreference(tmp_path / "novel.conll")
    result = [(corpus[0].words[mention.main_word], mention.type) for mention in corpus[0].mentions]
    assert result == [("Mary", "proper"), ("men", "nominal"), ("Men", "nominal"), ("her", "pronoun")]
    assert corpus.inferred_types == 4
    tagged = tmp_path / "tagged.conll"
    tagged.write_text(CONLL2012, encoding="utf-8")
    assert read_coreference(tagged).inferred_types == 0


def test_a_run_says_that_types_were_inferred(tmp_path):
    (tmp_path / "novel.conll").write_text(UNTAGGED, encoding="utf-8")
    run = el.coreference(tiny_model(), tmp_path / "novel.conll")
    assert any("the types of 4 mentions were inferred" in notice for notice in run.facts.notices)


def test_a_long_field_without_brackets_is_read_in_one_pass(tmp_path):
    """A search from every character would take hours."""
    (tmp_path / "long.conllu").write_text("1\tcat\t_\tNOUN\t_\t_\t0\troot\t_\tEntity=" + "9" * 500_000 + "\n\n")
    with pytest.raises(TextError, match="has a bracket without a number"):
        read_coreference(tmp_path / "long.conllu", strict=True)
