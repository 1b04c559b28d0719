"""Word vectors: GloVe's in two formats, the model's own, and files that are neither."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
import torch

import eyeline as el
from eyeline.errors import StorageError, TextError
from eyeline.measure.probes.features import LONGEST_LINE, GoldSentences, glove_vectors, model_vectors, read_glove, read_gold
from tests.laws.statistics import tiny_model

WORDS = {"the": [1.0, 2.0, 0.5], "cat": [0.25, -1.0, 3.0], "sat": [4.0, 0.0, 1.5]}


@pytest.fixture
def folder(tmp_path):
    np.save(tmp_path / "vectors.float16.npy", np.array(list(WORDS.values()), np.float16))
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def golds() -> dict[str, GoldSentences]:
    words = (el.treebanks.Sentence("a", ("The", "cat", "purred"), (1, 2, -1), ("det", "nsubj", "root")),)
    return {part: read_gold(tiny_model(), words, part, 128) for part in ("train", "test")}


def test_a_folder_of_arrays_and_a_text_file_give_the_same_vectors(folder, tmp_path):
    lines = "".join(f"{word} {' '.join(map(str, vector))}\n" for word, vector in WORDS.items())
    plain, packed = tmp_path / "glove.txt", tmp_path / "packed" / "glove.6B.3d.txt.gz"
    packed.parent.mkdir()
    plain.write_text(lines, encoding="utf-8")
    packed.write_bytes(gzip.compress(lines.encode()))
    for path in (folder, plain, packed, packed.parent):
        result = read_glove(path, {"the", "sat", "unknown"})
        assert {word: vector.tolist() for word, vector in result.items()} == {"the": WORDS["the"], "sat": WORDS["sat"]}
        assert all(vector.dtype == np.float32 for vector in result.values())


def test_words_are_looked_up_in_lower_case_and_unknown_ones_are_zero(folder, golds):
    vectors = glove_vectors(folder, golds)
    assert vectors.of("test", 0).tolist() == [WORDS["the"], WORDS["cat"], [0.0, 0.0, 0.0]]
    assert vectors.name == "GloVe"
    assert vectors.covered == pytest.approx(2 / 3)


def test_the_models_own_vectors_are_the_mean_of_a_words_pieces_in_one_scale(golds):
    model = tiny_model()
    vectors = model_vectors(model, golds)
    table = model.hf.get_input_embeddings().weight.detach()
    example = golds["train"].texts.examples[0].source
    expected = torch.stack([table[[i for i, w in zip(example.ids, example.words, strict=True) if w == word]].mean(0) for word in range(3)])
    actual = vectors.of("train", 0)
    assert torch.allclose(actual / expected, (actual / expected)[0, 0].expand_as(actual), rtol=1e-4)
    assert actual.norm(dim=1).mean().item() == pytest.approx(5.5, rel=1e-5)
    assert (vectors.name, vectors.covered) == ("model embeddings", 1.0)


def test_a_treebank_that_shares_no_word_with_the_vectors_is_refused(folder):
    words = (el.treebanks.Sentence("a", ("dog", "ran"), (1, -1), ("nsubj", "root")),)
    golds = {part: read_gold(tiny_model(), words, part, 128) for part in ("train", "test")}
    with pytest.raises(TextError, match=r"None of the 2 words.*has a vector"):
        glove_vectors(folder, golds)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda f: (f / "vocab.txt").unlink(), "no word vectors"),
        (lambda f: (f / "vocab.txt").write_text("the\ncat\n"), "3 vectors, but 2 words"),
        (lambda f: np.save(f / "vectors.float16.npy", np.zeros(3, np.float16)), r"\[word, dim\] was needed"),
        (lambda f: np.save(f / "vectors.float16.npy", np.full((3, 3), np.nan, np.float16)), "not finite"),
        (lambda f: (f / "vectors.float16.npy").write_bytes(b"PK rubbish"), "cannot be read"),
        (lambda f: np.save(f / "vectors.float16.npy", np.array([{}]), allow_pickle=True), "cannot be read"),
    ],
    ids=["no vocabulary", "too few words", "one axis", "nan", "no array", "a pickle"],
)
def test_a_folder_that_does_not_hold_vectors_is_refused(folder, spoil, message):
    spoil(folder)
    with pytest.raises(StorageError, match=message):
        read_glove(folder, set(WORDS))


@pytest.mark.parametrize(
    ("text", "shown_text"),
    [("the 1 2 3\ncat 1 2\n", "line 2: 2 numbers"), ("the one two\n", "cannot be read"), ("\xff\n", "numbers after the word")],
    ids=["ragged", "words", "nothing"],
)
def test_a_text_that_does_not_hold_vectors_is_refused_by_its_line(tmp_path, text, shown_text):
    (tmp_path / "glove.txt").write_text(text, encoding="utf-8")
    with pytest.raises(StorageError, match=shown_text):
        read_glove(tmp_path / "glove.txt", {"the"})


def test_a_packed_line_without_end_is_refused_before_it_is_read_whole(tmp_path):
    (tmp_path / "glove.txt.gz").write_bytes(gzip.compress(b"the" + b" 1" * LONGEST_LINE))
    with pytest.raises(StorageError, match="line 1: longer than"):
        read_glove(tmp_path / "glove.txt.gz", {"the"})


def test_vectors_that_are_not_there_are_refused(tmp_path):
    with pytest.raises(StorageError, match="no such folder or file"):
        read_glove(tmp_path / "nowhere", {"the"})
