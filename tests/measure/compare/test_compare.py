"""Two models on one corpus: the same one is zero apart, a changed one where it was changed, and what cannot be compared is said."""

from __future__ import annotations

import copy
from functools import partial

import numpy as np
import pytest
import torch
import transformers as t

import eyeline as el
from eyeline.measure.space import fit as space_fit
from eyeline.measure.space.fit import fit_projections
from tests.laws.statistics import tiny_model
from tests.models.families import BY_NAME, SPECIAL, TINY, WORDS, open_family, tiny_tokenizer

pytestmark = pytest.mark.usefixtures("quick_pictures")

TEXTS = ["the cat sat on the mat .", "a dog ran home , and it purred .", "dog", "the dog and the cat ran a very long way home ."]
PAIRS = [(TEXTS[0], TEXTS[1]), (TEXTS[3], TEXTS[2])]  # what an encoder-decoder read, and what it wrote


@pytest.fixture(autouse=True)
def quick_fit(monkeypatch):
    """What is compared here is attention; the pictures beside it may be rough."""
    monkeypatch.setattr(space_fit, "fit_projections", partial(fit_projections, starts=1, steps=10))


def bert(seed: int = 0, name: str = "bert", **changed: int) -> el.Model:
    torch.manual_seed(seed)
    hf = t.BertModel._from_config(t.BertConfig(**{**TINY, **changed}), attn_implementation="eager").eval()
    return el.wrap(hf, tiny_tokenizer(), name=name)


@pytest.mark.parametrize("name", ["bert", "llama", "marian", "deberta-v2"])
def test_a_model_against_itself_is_zero_everywhere(name):
    model = open_family(name)
    comparison = el.compare(model, model, PAIRS if len(model.layout.stacks) > 1 else TEXTS, spaces=False)
    numbers = [column for column in comparison.table.columns if column == "js" or column.endswith("_change")]
    assert len(numbers) > 5
    for column in numbers:
        values = comparison.table[column].astype(float)
        assert np.abs(values[np.isfinite(values)]).max() == 0, column
    assert comparison.facts.level == "token"
    assert comparison.facts.left_out == {}


def perturbed(model: el.Model, layer: int, head: int) -> el.Model:
    """A copy whose one head asks other questions."""
    hf = copy.deepcopy(model.hf)
    query = hf.bert.encoder.layer[layer].attention.self.query
    size = query.weight.shape[0] // 4
    with torch.no_grad():
        query.weight[head * size : (head + 1) * size] *= -1
    return el.wrap(hf, model.tokenizer, name="perturbed")


def test_a_perturbed_copy_differs_where_it_was_changed_and_after():
    first = tiny_model()
    result = el.compare(first, perturbed(first, 1, 2), TEXTS, spaces=False)
    js = result.table["js"].astype(float).reshape(3, 4)
    assert js[0].max() == 0
    assert js[1].argmax() == 2
    assert js[1, 2] > 0.02
    assert np.delete(js[1], 2).max() == 0
    assert js[2].min() > 0  # what comes after reads what was changed
    changes = result.table["entropy_change"].astype(float).reshape(3, 4)
    assert changes[0].tolist() == [0] * 4
    assert changes[1, 2] != 0


def test_the_divergence_is_the_plain_formula():
    first, second = tiny_model(), perturbed(tiny_model(), 0, 1)
    comparison = el.compare(first, second, TEXTS, spaces=False)
    rows = []
    for text in TEXTS:
        p, q = (model.trace(text).weights[0, 1].astype(np.float64) for model in (first, second))
        m = (p + q) / 2
        rows += [0.5 * np.sum(a * np.log(a / c)) + 0.5 * np.sum(b * np.log(b / c)) for a, b, c in zip(p, q, m, strict=True)]
    assert float(comparison.table["js"][1]) == pytest.approx(np.mean(rows), rel=1e-5)


def test_progress_goes_on_through_all_three_passes_and_can_end_any_of_them():
    first, second, seen = tiny_model(), perturbed(tiny_model(), 0, 1), []
    el.compare(first, second, TEXTS, spaces=False, progress=seen.append)
    n = len(TEXTS)
    assert [progress.done for progress in seen] == sorted(progress.done for progress in seen)
    assert {n, 2 * n, 3 * n} <= {progress.done for progress in seen}
    assert {progress.of for progress in seen} == {3 * n}

    def stop(progress):
        if progress.done > 2 * n:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        el.compare(first, second, TEXTS, spaces=False, progress=stop)


def test_the_two_spaces_show_the_same_texts(tmp_path):
    comparison = el.compare(tiny_model(), perturbed(tiny_model(), 1, 2), TEXTS, layers=[1])
    first, second = comparison.spaces
    assert first.only.query_tokens.texts == second.only.query_tokens.texts
    view = el.space_view(first, second, layer=1, head=2)
    assert [space["model"] for space in view.spec["spaces"]] == ["tiny", "perturbed"]
    assert el.runs.write_report(comparison.save(tmp_path)) == tmp_path / "report.html"
    assert el.runs.open_space(tmp_path / "compare-b.safetensors").model == "perturbed"
    assert el.figure(comparison.run, "compare").layout.title.text.startswith("tiny compared with perturbed")


@pytest.mark.parametrize("swapped", [False, True])
def test_a_deeper_model_is_compared_where_both_have_layers_and_the_rest_is_named(swapped):
    models = bert(num_hidden_layers=2, name="shallow"), bert(num_hidden_layers=4, name="deep")
    comparison = el.compare(*(models[::-1] if swapped else models), TEXTS)
    assert sorted({int(layer) for layer in comparison.table["layer"]}) == [0, 1]
    assert comparison.facts.left_out == {"encoder layers 2 to 3": "Only deep has them."}
    assert [space.only.layers for space in comparison.spaces] == [(0, 1), (0, 1)]


@pytest.mark.parametrize("swapped", [False, True])
def test_encoder_decoders_of_different_depth_are_compared_stack_by_stack(swapped):
    models = open_family("marian"), open_family("bart")  # 4 + 2 layers with 4 and 2 heads, 3 + 3 layers with 4 heads
    with pytest.raises(el.EyelineError, match="Layer 0 of the decoder has"):
        el.compare(*models, PAIRS, spaces=False)
    models = open_family("t5"), open_family("bart")  # 3 + 2 layers and 3 + 3
    comparison = el.compare(*(models[::-1] if swapped else models), PAIRS, spaces=False)
    rows = list(comparison.table.rows())
    layers = {stack: sorted({int(row["layer"]) for row in rows if row["stack"] == stack}) for stack in ("encoder", "decoder")}
    assert layers == {"encoder": [0, 1, 2], "decoder": [0, 1]}
    assert np.isfinite(comparison.table["entropy_change"].astype(float)).all()
    assert "Only bart has them." in comparison.facts.left_out.values()


def test_an_encoder_is_compared_with_the_encoder_of_a_larger_model():
    torch.manual_seed(0)
    config = BY_NAME["bart"].config()
    writes = t.BartForConditionalGeneration._from_config(config, attn_implementation="eager").eval()
    comparison = el.compare(bert(), el.wrap(writes, tiny_tokenizer(), name="bart"), TEXTS[:2])
    assert comparison.spaces[1].stacks.keys() == {"encoder", "decoder", "cross"}
    assert [stack["name"] for stack in el.space_view(*comparison.spaces).spec["stacks"]] == ["encoder"]
    assert len(comparison.table) == 12
    assert np.isfinite(comparison.table["entropy_change"].astype(float)).all()
    assert comparison.facts.left_out["decoder attention"] == "Only one of the models has it."


def test_models_of_another_shape_are_refused():
    with pytest.raises(el.EyelineError, match="Layer 0 of the encoder has 4 heads in bert and 2 in wide"):
        el.compare(bert(), bert(num_attention_heads=2, name="wide"), TEXTS)
    with pytest.raises(el.EyelineError, match="none in common"):
        el.compare(bert(), open_family("gpt2"), TEXTS)
    with pytest.raises(el.EyelineError, match=r"They have layers 0…2 in common"):
        el.compare(bert(), bert(), TEXTS, layers=[7])


def test_a_model_without_queries_and_keys_is_compared_without_spaces():
    comparison = el.compare(open_family("deberta-v2"), open_family("mpnet"), TEXTS)
    assert comparison.spaces is None
    assert "gives no queries and keys" in comparison.facts.left_out["space"]
    assert float(comparison.table["js"].max()) > 0


def split_otherwise() -> t.PreTrainedTokenizerFast:
    """Knows no word as a whole: every word is its letters."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    letters = [chr(code) for code in range(97, 123)]
    vocab = {token: i for i, token in enumerate([*SPECIAL, *letters[:20], *[f"##{letter}" for letter in letters], ".", ","])}
    backend = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    return t.PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]", unk_token="[UNK]", model_max_length=48
    )


def test_models_that_split_words_otherwise_are_compared_between_words():
    assert "cat" in WORDS
    single = bert()
    other = el.wrap(bert(seed=1).hf, split_otherwise(), name="letters")
    comparison = el.compare(single, other, TEXTS)
    assert comparison.facts.level == "word"
    assert comparison.facts.counts["texts"] == 4
    assert 0 < float(comparison.table["js"].max()) < np.log(2)
    assert len(comparison.spaces[0].only.query_tokens) != len(comparison.spaces[1].only.query_tokens)
    el.space_view(*comparison.spaces)


def test_texts_that_only_one_model_can_read_are_left_out_of_both():
    long = "the cat sat on a very long mat and purred and ran home"  # 15 tokens for one, over 48 for the other
    comparison = el.compare(bert(), el.wrap(bert(seed=1).hf, split_otherwise(), name="letters"), [*TEXTS, f"{long} {long}"])
    assert comparison.facts.counts["skipped"] == 1
    assert [len(space.only.query_tokens.texts) for space in comparison.spaces] == [4, 4]


def test_layers_asked_for_that_only_one_model_has_are_named():
    comparison = el.compare(bert(), bert(name="deeper", num_hidden_layers=5), TEXTS, layers=[0, 4], spaces=False)
    assert set(comparison.table["layer"].tolist()) == {0}
    assert comparison.facts.left_out == {"encoder layers 4": "Only deeper has them."}
    with pytest.raises(el.EyelineError, match=r"They have layers 0…2 in common"):
        el.compare(bert(), bert(name="deeper", num_hidden_layers=5), TEXTS, layers=[0, 99], spaces=False)


def test_a_bare_text_is_no_corpus():
    for run in (lambda text: el.compare(bert(), bert(), text), lambda text: el.space(bert(), text)):
        with pytest.raises(el.EyelineError, match="One text in place of a corpus: 'the cat sat'"):
            run("the cat sat")
