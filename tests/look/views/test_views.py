"""Views lay a trace out as docs/view-format.md says, and refuse what the trace cannot show."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import eyeline as el
from eyeline.errors import TraceError
from eyeline.traces import Stack, TokenizedText

TOKENS = ["[CLS]", "un", "##do", "[SEP]"]


def text(tokens: list[str] = TOKENS) -> TokenizedText:
    plain = TokenizedText.from_tokens(tokens)
    return replace(plain, words=(None, 0, 0, None), word_texts=("undo",), special=(True, False, False, True)) if tokens == TOKENS else plain


def uniform(heads: int, queries: int, keys: int) -> np.ndarray:
    return np.full((heads, queries, keys), 1 / keys, dtype=np.float32)


def bert(layers: tuple[int, ...] = (0, 1, 5), **more: object) -> el.Trace:
    stack = Stack("encoder", text(), text(), layers, weights_by_layer=tuple(uniform(2, 4, 4) for _ in layers), **more)  # type: ignore[arg-type]
    return el.Trace("tiny", {"encoder": stack})


def two_towers() -> el.Trace:
    source, target = text(), text(["a", "b", "c"])
    return el.Trace(
        "t5",
        {
            "encoder": Stack("encoder", source, source, (0, 1, 2), weights_by_layer=(uniform(2, 4, 4),) * 3),
            "decoder": Stack("decoder", target, target, (0,), weights_by_layer=(uniform(2, 3, 3),)),
            "cross": Stack("cross", target, source, (0,), weights_by_layer=(uniform(2, 3, 4),)),
        },
    )


def test_a_spec_is_json_and_names_only_arrays_that_are_there() -> None:
    view = el.head_view(two_towers())
    spec = json.loads(json.dumps(view.spec))
    named = {layer["weights"] for stack in spec["stacks"] for layer in stack["layers"]}
    assert named == set(view.arrays)


def test_texts_are_written_once_and_stacks_point_to_them() -> None:
    spec = el.head_view(two_towers()).spec
    assert [t["tokens"] for t in spec["texts"]] == [TOKENS, ["a", "b", "c"]]
    assert [(s["name"], s["query_text"], s["key_text"]) for s in spec["stacks"]] == [("encoder", 0, 0), ("decoder", 1, 1), ("cross", 1, 0)]


def test_unequal_depths_keep_every_layer() -> None:
    assert [len(stack["layers"]) for stack in el.model_view(two_towers()).spec["stacks"]] == [3, 1, 1]


def test_the_state_holds_the_layers_position_not_its_number() -> None:
    view = el.head_view(bert(), layer=5, heads=[1], theme="dark")
    assert view.state == {"stack": 0, "layer": 2, "heads": [1], "theme": "dark"}


def test_the_reader_can_begin_at_cross_attention() -> None:
    assert el.head_view(two_towers(), stack="cross").state["stack"] == 2


def test_only_the_layers_asked_for_are_included() -> None:
    view = el.head_view(bert(), layers=[0, 5], layer=5)
    assert list(view.arrays) == ["encoder.0.weights", "encoder.5.weights"]
    assert view.state["layer"] == 1


def test_the_model_views_heads_are_its_first_columns() -> None:
    assert el.model_view(bert(), heads=[1]).state["columns"] == [1]


def test_a_word_level_trace_is_shown_by_its_words() -> None:
    view = el.head_view(bert().words())
    assert view.spec["texts"][0]["tokens"] == ["[CLS]", "undo", "[SEP]"]
    np.testing.assert_allclose(view.weights()[0], [[0.25, 0.5, 0.25]] * 3, atol=5e-4)


def test_the_weights_of_a_view_are_those_of_its_trace() -> None:
    true = np.random.default_rng(0).dirichlet(np.ones(4), size=(1, 3, 4)).astype(np.float32)
    view = el.head_view(el.Trace.from_arrays(true, TOKENS))
    np.testing.assert_allclose(view.weights(0, 0), true[0], atol=5e-4)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: el.head_view(bert(), layer=3), "The encoder has layers 0, 1, 5"),
        (lambda: el.head_view(bert(), layer=0, heads=[2]), "It has 2 heads, 0 to 1"),
        (lambda: el.model_view(bert(), layers=[7]), "It has encoder: 0, 1, 5"),
        (lambda: el.head_view(bert(), stack="cros"), "Choices: encoder"),
        (lambda: el.neuron_view(bert()), "no keys: it was not kept; trace again with keep={'keys'} added"),
    ],
    ids=["layer", "head", "layers", "stack", "neuron"],
)
def test_what_the_trace_cannot_show_is_refused_with_the_choices(ask: object, message: str) -> None:
    with pytest.raises(TraceError) as error:
        ask()  # type: ignore[operator]
    assert message in str(error.value)


def test_a_trace_without_weights_is_refused() -> None:
    stack = Stack("encoder", text(), text(), (0,), queries_by_layer=(np.ones((2, 4, 8)),), keys_by_layer=(np.ones((2, 4, 8)),))
    with pytest.raises(TraceError, match="no weights"):
        el.head_view(el.Trace("tiny", {"encoder": stack}))


def test_the_neuron_view_carries_vectors_scale_bias_and_key_heads() -> None:
    queries, keys = np.ones((4, 4, 8), dtype=np.float32), np.ones((2, 4, 8), dtype=np.float32)
    bias = np.zeros((4, 4, 4), dtype=np.float32)
    stack = Stack(
        "encoder",
        text(),
        text(),
        (3,),
        (uniform(4, 4, 4),),
        (queries,),
        (keys,),
        bias_by_layer=(bias,),
        mask_by_layer=(None,),
        scales=(0.125,),
    )
    view = el.neuron_view(el.Trace("llama", {"encoder": stack}), layer=3, head=2)
    layer = view.spec["stacks"][0]["layers"][0]
    assert (layer["n_heads"], layer["n_key_heads"], layer["scale"]) == (4, 2, 0.125)
    assert [view.arrays[layer[name]].shape for name in ("queries", "keys", "bias")] == [(4, 4, 8), (2, 4, 8), (4, 4, 4)]
    assert view.state["heads"] == [2]


def masked(mask: tuple[np.ndarray | None, ...], weights: np.ndarray) -> el.Trace:
    vectors = (np.ones((2, 4, 8), dtype=np.float32),) * 3
    stack = Stack("encoder", text(), text(), (0, 1, 2), (weights,) * 3, vectors, vectors, mask_by_layer=mask, scales=(1.0,) * 3)
    return el.Trace("tiny", {"encoder": stack})


def test_layers_share_a_mask_and_none_means_everywhere() -> None:
    causal = np.tril(np.ones((4, 4), dtype=bool))
    view = el.neuron_view(masked((causal, causal.copy(), None), uniform(2, 4, 4)))
    names = [layer["mask"] for layer in view.spec["stacks"][0]["layers"]]
    assert names == ["encoder.0.mask", "encoder.0.mask", None]
    np.testing.assert_array_equal(view.arrays["encoder.0.mask"].decode(), causal)


def test_a_mask_that_the_trace_does_not_know_is_what_no_head_looks_at() -> None:
    causal = np.tril(np.ones((4, 4), dtype=np.float32))
    weights = np.stack([causal / causal.sum(1, keepdims=True)] * 2)
    weights[0, 3] = [0, 0, 0, 1]  # one head alone: not a mask
    view = el.neuron_view(masked((), weights))
    np.testing.assert_array_equal(view.arrays["encoder.0.mask"].decode(), causal)
    assert el.neuron_view(masked((), uniform(2, 4, 4))).spec["stacks"][0]["layers"][0]["mask"] is None


def test_the_neuron_view_needs_a_scale() -> None:
    vectors = (np.ones((2, 4, 8), dtype=np.float32),)
    stack = Stack("encoder", text(), text(), (0,), (uniform(2, 4, 4),), vectors, vectors)
    with pytest.raises(TraceError, match="scale"):
        el.neuron_view(el.Trace("tiny", {"encoder": stack}))


def test_another_starting_state_leaves_the_first_view_alone() -> None:
    view = el.head_view(bert())
    assert view.starting(theme="dark").state["theme"] == "dark"
    assert "theme" not in view.state


@pytest.mark.parametrize(
    ("state", "text"),
    [
        ({"theme": "blue"}, ["theme='blue'", "Choices: system, light, dark"]),
        ({"bogus": 1}, ["no 'bogus'", "Choices: stack, layer"]),
        ({"hide_specal": True}, ["no 'hide_specal'", "Did you mean hide_special?"]),
        ({"level": "wordd"}, ["level='wordd'", "Did you mean word?", "Choices: token, word"]),
        ({"opened": "yes"}, ["opened='yes'", "True, False"]),
        ({"query": 4}, ["query=4", "from 0 to 3"]),
        ({"query": None}, ["query=None"]),
        ({"expanded": -1}, ["expanded=-1"]),
        ({"rows": [3]}, ["rows=3", "there are 3 layers"]),
        ({"columns": "all"}, ["columns='all'", "Give a list"]),
        ({"threshold": 2}, ["threshold=2", "from 0 to 1"]),
        ({"threshold": float("nan")}, ["threshold=nan"]),
        ({"zoom": 3}, ["zoom=3", "'k'"]),
        ({"zoom": {"z": 1}}, ["no 'z'", "x, y, k"]),
        ({"find": 3}, ["find=3"]),
    ],
    ids=lambda given: "-".join(given) if isinstance(given, dict) else "",
)
def test_a_state_that_is_not_one_is_refused_with_the_choices(state: dict[str, object], text: list[str]) -> None:
    for ask in (lambda: el.head_view(bert(), **state), lambda: el.head_view(bert()).starting(**state)):  # type: ignore[arg-type]
        with pytest.raises(TraceError) as error:
            ask()
        assert all(part in str(error.value) for part in text)


def test_a_state_is_plain_json_whatever_numbers_it_was_given() -> None:
    state = el.head_view(bert(), heads=np.array([1]), rows=np.arange(2), hide_special=np.True_, zoom={"k": 2}, expanded=None, query=3).state
    assert json.loads(json.dumps(state)) == {
        "stack": 0,
        "layer": 0,
        "heads": [1],
        "rows": [0, 1],
        "hide_special": True,
        "zoom": {"k": 2},
        "expanded": None,
        "query": 3,
    }


def test_one_head_may_stand_without_a_list() -> None:
    assert el.head_view(bert(), heads=1).state["heads"] == [1]
    assert el.head_view(bert()).starting(heads=1).state["heads"] == [1]


@pytest.mark.parametrize("heads", ["1", 1.5, [None], [True]])
def test_heads_that_are_no_numbers_are_refused(heads: object) -> None:
    with pytest.raises(TraceError):
        el.head_view(bert(), heads=heads)  # type: ignore[arg-type]


def test_the_model_view_opens_a_head_or_shows_a_row() -> None:
    opened = el.model_view(bert(), layer=5, head=1).state
    assert (opened["opened"], opened["layer"], opened["heads"]) == (True, 2, [1])
    assert el.model_view(bert(), layer=5).state["rows"] == [2]
    assert el.model_view(bert(), head=1).state["columns"] == [1]
