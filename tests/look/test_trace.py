"""Traces of the embedded models: real weights, tokens, words, pairs."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st

import eyeline as el
from eyeline.errors import TextError, TraceError
from eyeline.mathematics import pool_to_words
from tests.reference.pooling import pool_by_loops


def test_a_pair_has_tokens_words_and_segments(cat):
    assert cat.weights.shape == (6, 12, 14, 14)
    assert cat.text.tokens[:3] == ("[CLS]", "the", "cat")
    assert cat.text.segments == (0,) * 9 + (1,) * 5
    assert cat.text.word_texts == ("The", "cat", "sat", "on", "the", "mat", ".", "It", "purred", ".")
    assert [token for token, special in zip(cat.text.tokens, cat.text.special, strict=True) if special] == ["[CLS]", "[SEP]", "[SEP]"]


def test_queries_and_keys_of_real_weights_make_the_weights(cat, smollm2):
    for trace in (cat, smollm2.trace("The cat sat on the mat because it was tired.")):
        stack = trace.only
        keys = np.repeat(stack.keys, stack.n_heads // stack.n_key_heads, axis=1)  # [layer, head, key, dim]
        scores = stack.queries @ keys.swapaxes(2, 3) * np.array(stack.scales)[:, None, None, None]  # [layer, head, query, key]
        for layer, mask in enumerate(stack.mask_by_layer):
            if mask is not None:
                scores[layer][:, ~mask] = -np.inf
        exponents = np.exp(scores - scores.max(-1, keepdims=True))
        assert np.abs(exponents / exponents.sum(-1, keepdims=True) - stack.weights).max() < 1e-5


def test_a_grouped_query_decoder_keeps_its_key_heads_apart(smollm2):
    trace = smollm2.trace("The cat sat.")
    assert trace.weights.shape[:2] == (30, 9)
    assert trace.keys.shape[:2] == trace.values.shape[:2] == (30, 3)
    assert not np.triu(trace.weights, 1).any()
    assert trace.text.tokens[1] == "▁cat"


def test_word_level_sums_pieces_as_keys_and_averages_them_as_queries(cat):
    words = cat.words()
    assert words.text.tokens == ("[CLS]", "The", "cat", "sat", "on", "the", "mat", ".", "[SEP]", "It", "purred", ".", "[SEP]")
    assert np.abs(words.weights.sum(-1) - 1).max() < 1e-5
    pieces = [i for i, token in enumerate(cat.text.tokens) if token in ("pu", "##rred")]
    assert np.allclose(words.weights[..., 0, 10], cat.weights[..., 0, pieces].sum(-1), atol=1e-6)
    assert np.allclose(words.weights[..., 10, 0], cat.weights[..., pieces, 0].mean(-1), atol=1e-6)


def test_word_level_has_weights_alone_and_says_so(cat):
    with pytest.raises(TraceError, match="word level"):
        _ = cat.words().queries


def test_a_word_list_is_taken_as_it_is(minilm):
    words = ["Mary", "'s", "unbelievably", "cat", "did", "n't", "purr"]
    assert minilm.trace(words=words).text.word_texts == tuple(words)


def test_what_was_not_kept_says_how_to_keep_it(minilm):
    trace = minilm.trace("The cat sat.", keep={"weights"}, layers=[0, 5])
    assert trace.layers == (0, 5)
    with pytest.raises(TraceError, match=r"keep=\{'queries'\}"):
        _ = trace.queries


@pytest.mark.parametrize("layers", [[6], [-1], [], 3, [0, "a"], [0.5]])
def test_unknown_layers_are_refused(minilm, layers):
    with pytest.raises(TraceError):
        minilm.trace("The cat sat.", layers=layers)


@pytest.mark.parametrize("keep", ["wights", (), None, 5, ["weights", 3]])
def test_unknown_parts_are_refused(minilm, keep):
    with pytest.raises(TraceError):
        minilm.trace("The cat sat.", keep=keep)


def test_layers_may_be_any_integers(minilm):
    assert minilm.trace("The cat sat.", layers=(np.int64(n) for n in (5, 0)), keep="weights").layers == (0, 5)


def test_one_text_is_not_taken_for_many(minilm):
    with pytest.raises(TextError, match="One text where several were expected"):
        minilm.traces("abc")


def test_a_trace_describes_itself_in_a_line(cat):
    assert repr(cat) == "<trace of minilm: encoder 6 layers, 14 x 14 tokens>"


def test_eight_threads_get_what_each_gets_alone(minilm):
    texts = [f"Text number {i} is about {'cats ' * (i + 1)}and dogs." for i in range(8)]
    alone = [minilm.trace(text) for text in texts]
    together: dict[int, list[el.Trace]] = {i: [] for i in range(8)}
    gate = threading.Barrier(8)

    def work(i: int) -> None:
        gate.wait()
        for _ in range(5):
            together[i].append(minilm.trace(texts[i]))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, traces in together.items():
        assert len(traces) == 5
        for trace in traces:
            assert trace.text == alone[i].text
            assert np.array_equal(trace.weights, alone[i].weights)
            assert np.array_equal(trace.queries, alone[i].queries)


def test_a_batch_comes_back_in_the_order_it_was_given(minilm):
    texts = ["Short.", "A much longer text about a cat that sat on a mat.", ("A pair", "of texts"), ["a", "word", "list"]]
    traces = minilm.traces(texts)
    assert [trace.text.sources[0] for trace in traces] == ["Short.", texts[1], "A pair", "a word list"]
    for trace, alone in zip(traces, [minilm.trace("Short."), minilm.trace(texts[1]), minilm.trace("A pair", "of texts")], strict=False):
        assert np.abs(trace.weights - alone.weights).max() < 1e-5


def test_each_layer_comes_once_for_every_batch(minilm):
    seen = []
    minilm.each_layer(["The cat sat.", "It purred a lot."], lambda layer: seen.append((layer.stack, layer.layer, layer.n_queries)))
    assert seen == [("encoder", layer, seen[0][2]) for layer in range(6)]
    assert sorted(seen[0][2]) == [len(minilm.trace(text).text) for text in ("The cat sat.", "It purred a lot.")]


@settings(max_examples=25, deadline=None)
@given(text=st.text(min_size=1, max_size=40))
def test_any_text_gives_rows_that_sum_to_one_or_a_clear_error(minilm, text):
    try:
        trace = minilm.trace(text, keep={"weights"})
    except TextError as error:
        assert str(error)
        return
    assert np.abs(trace.weights.sum(-1) - 1).max() < 1e-5
    words = trace.words()
    assert np.abs(words.weights.sum(-1) - 1).max() < 1e-5
    assert all(words.text.tokens)


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_pooling_equals_the_obvious_loop(data):
    n = data.draw(st.integers(1, 9))
    cuts = sorted(data.draw(st.sets(st.integers(1, n - 1), max_size=n - 1))) if n > 1 else []
    groups = [list(range(a, b)) for a, b in zip([0, *cuts], [*cuts, n], strict=True)]
    weights = np.random.default_rng(data.draw(st.integers(0, 99))).dirichlet(np.ones(n), size=(2, n))
    assert np.allclose(pool_to_words(weights, groups, groups), pool_by_loops(weights, groups, groups))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty|Empty"),
        ("   \n\t ", "space"),
        ("cat " * 600, "602|512"),
        ("a lone \ud800 surrogate", "surrogate"),
    ],
)
def test_bad_texts_get_a_clear_error(minilm, text, says):
    with pytest.raises(TextError, match=says):
        minilm.trace(text)


def test_a_text_that_is_too_long_can_be_cut(minilm):
    trace = minilm.trace("cat " * 600, truncate=True, keep={"weights"}, layers=[0])
    assert len(trace.text) == 512
    assert trace.text.tokens[-1] == "[SEP]"
    (notice,) = trace.notices
    assert notice == "90 of 602 tokens were cut off: the text is longer than the model takes."
    assert notice in el.head_view(trace).spec["notices"]
    assert minilm.trace("cat " * 510, truncate=True, keep={"weights"}, layers=[0]).notices == ()


def test_markup_control_characters_and_right_to_left_marks_are_data(minilm):
    text = "</script> \u200f\u202e and \x07 bells"
    assert minilm.trace(text).text.sources == (text,)


def test_a_decoder_deeper_than_its_encoder_writes_its_own_text(minilm):
    sizes = {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_heads": 2, "vocab_size": len(minilm.tokenizer)}
    config = transformers.T5Config(**sizes, num_layers=1, num_decoder_layers=3, decoder_start_token_id=0, pad_token_id=0, eos_token_id=102)
    torch.manual_seed(0)
    trace = el.wrap(transformers.T5ForConditionalGeneration(config).eval(), minilm.tokenizer, name="deep").trace("The cat sat.")
    assert [len(trace.stacks[name].layers) for name in ("encoder", "decoder", "cross")] == [1, 3, 3]
    assert len(trace.stacks["decoder"].query_text) > 1


@pytest.mark.parametrize("second", [{"pair": ""}, {"pair_words": []}])
def test_an_empty_second_text_is_no_second_text(minilm, second):
    empty, alone = minilm.trace("The cat sat.", **second), minilm.trace("The cat sat.")
    assert empty.text == alone.text
    assert np.array_equal(empty.weights, alone.weights)
    assert minilm.traces([("The cat sat.", "")])[0].text == alone.text


def test_why_something_is_missing_is_never_read_as_a_format_string():
    stack = replace(el.Trace.from_arrays(np.ones((1, 1, 1, 1)), ["a"]).only, why_missing="{name.__class__} {0} {x!r} {name}")
    with pytest.raises(TraceError, match=r"has no queries: \{name.__class__\} \{0\} \{x!r\} queries"):
        _ = stack.queries
