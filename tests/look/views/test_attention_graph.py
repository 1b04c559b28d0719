"""The attention graph as a file: what is in it, where, and that it is the same every time."""

from __future__ import annotations

import itertools
import re
import sys
import warnings
import zlib
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import eyeline as el
from eyeline.errors import EyelineError, StorageError, TraceError
from eyeline.figures import AttentionGraph, attention_graph
from eyeline.look.views.graph import IGRAPH, column_points, draw, place_labels, value_plane
from tests.tiers import slow_but

SVG = "{http://www.w3.org/2000/svg}"
TOKENS = ["[CLS]", "the", "cat", "sat", "the"]


def trace(tokens: list[str] = TOKENS, *, values: object = None) -> el.Trace:
    n = len(tokens)
    weights = np.random.default_rng(0).dirichlet(np.ones(n), size=(2, 3, n)).astype(np.float32)
    return el.Trace.from_arrays(weights, tokens, values=values, model="tiny")


def tree(graph: AttentionGraph) -> ElementTree.Element:
    return ElementTree.fromstring(draw(graph, "svg"))  # noqa: S314 - our own output


def texts(graph: AttentionGraph) -> list[str]:
    return ["".join(text.itertext()).strip() for text in tree(graph).iter(SVG + "text")]


def strokes(graph: AttentionGraph) -> list[str]:
    return re.findall(r"stroke: (#\w+)", draw(graph, "svg").decode())


def test_the_drawing_has_a_title_and_both_columns_as_text() -> None:
    assert texts(attention_graph(trace(), 1, 2)) == ["tiny · L1·H2 · 5 tokens", *TOKENS, *TOKENS]


def test_there_is_an_edge_for_each_weight_above_the_threshold() -> None:
    graph = attention_graph(trace(), 0, 0, threshold=0.2)
    expected = int((trace().weights[0, 0] >= 0.2).sum())
    assert len(graph.edges()) == expected
    assert strokes(graph).count("#2563eb") == expected


def test_strong_edges_lie_above_weak_ones_and_red_ones_above_all() -> None:
    *blue, last = attention_graph(trace(), 0, 0, red=[(1, 2)]).edges()
    assert [weight for _, _, weight in blue] == sorted(weight for _, _, weight in blue)
    assert last[:2] == (1, 2)


def test_a_long_text_shows_its_strongest_edges_and_says_so() -> None:
    graph = attention_graph(trace([f"t{i}" for i in range(90)]), 0, 0, red=[(1, 2)])
    kept, last = graph.edges()[:-1], graph.edges()[-1]
    assert len(kept) == 5000
    assert min(weight for _, _, weight in kept) >= np.sort(graph.weights, axis=None)[-5001]
    assert last[:2] == (1, 2)
    assert graph.heading.endswith("the 5,000 strongest weights")


def test_the_heading_says_what_the_threshold_left_out() -> None:
    assert attention_graph(trace(), 0, 0, threshold=0.05).heading == "tiny · L0·H0 · 5 tokens · weights from 0.05"


def test_width_and_opacity_grow_with_the_weight() -> None:
    small_trace = el.Trace.from_arrays([[[[0.9, 0.1], [0.0, 1.0]]]], ["a", "b"])
    drawn = draw(attention_graph(small_trace, 0, 0), "svg").decode()
    widths = [float(w) for w in re.findall(r"stroke: #2563eb;.*?stroke-width: ([\d.]+)", drawn)]
    opacities = [float(o) for o in re.findall(r"stroke: #2563eb; stroke-opacity: ([\d.]+)", drawn)]
    assert widths == sorted(widths)
    assert widths[0] < widths[-1]
    assert opacities == pytest.approx([0.1, 0.9], abs=0.01)  # a weight of 1 is drawn solid


@pytest.mark.parametrize("pair", [("cat", "sat"), (2, 3)])
def test_chosen_pairs_are_red_by_token_or_position_even_below_the_threshold(pair: tuple[object, object]) -> None:
    graph = attention_graph(trace(), 0, 0, red=[pair], threshold=1.0)  # type: ignore[list-item]
    assert [edge[:2] for edge in graph.edges()] == [(2, 3)]
    assert set(strokes(graph)) == {"#d00000"}


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: attention_graph(trace(), 2, 0), "It has 0, 1"),
        (lambda: attention_graph(trace(), 0, 3), "It has 3 heads, 0 to 2"),
        (lambda: attention_graph(trace(), 0, 0, red=[("cat", "cta")]), "No key 'cta'"),
        (lambda: attention_graph(trace(), 0, 0, red=[(5, 0)]), "0 to 4"),
        (lambda: attention_graph(trace(), 0, 0, layout="values"), "pass values=…"),
        (lambda: attention_graph(trace(), 0, 0, layout="value"), "Did you mean values?"),
        (lambda: attention_graph(trace(), 0, 0, stack="cross"), "It has: encoder"),
        (lambda: attention_graph(trace(), 0, 0, threshold=2), "from 0 to 1"),
        (lambda: attention_graph(trace(), 0, 0, layout="values", words=True), "A word has no value vector"),
    ],
    ids=["layer", "head", "unknown", "position", "no values", "layout", "stack", "threshold", "words"],
)
def test_what_cannot_be_drawn_is_refused_with_the_choices(ask: object, message: str) -> None:
    with pytest.raises(TraceError) as error:
        ask()  # type: ignore[operator]
    assert message in str(error.value)


def test_long_tokens_widen_the_page_instead_of_being_cut() -> None:
    long = "pneumonoultramicroscopicsilicovolcanoconiosis" * 2
    short, wide = (float(tree(attention_graph(trace(["a", token]), 0, 0)).get("width", "")[:-2]) for token in ("b", long))
    assert wide > short + 2 * 80 * 4  # 90 letters of more than 4 points on both sides
    for label in tree(attention_graph(trace(["a", long]), 0, 0)).iter(SVG + "text"):
        assert 0 <= float(re.findall(r"translate\(([\d.]+)|$", label.get("transform", ""))[0] or label.get("x", 0)) <= wide


def test_odd_tokens_are_drawn_as_themselves() -> None:
    odd = ["</text>", "$x^2$", "猫が", "😀", "שלום", "\\frac", "_", "&amp;"]
    assert texts(attention_graph(trace(odd), 0, 0))[1:] == odd * 2


def test_control_characters_and_half_characters_do_not_break_the_file() -> None:
    assert texts(attention_graph(trace(["a\x00", "\ud83d", "x\ny"]), 0, 0))[1:4] == ["a�", "�", "x�y"]


def test_the_pdf_embeds_its_fonts() -> None:
    assert b"/FontFile2" in draw(attention_graph(trace(), 0, 0), "pdf")


def test_the_pdfs_words_are_text_and_not_outlines() -> None:
    pdf = draw(attention_graph(trace(["cat"]), 0, 0), "pdf")
    pages = [zlib.decompress(part) for part in re.findall(rb"stream\n(.*?)\nendstream", pdf, re.DOTALL) if part[:1] == b"x"]
    assert any(b" Tj" in page or b" TJ" in page for page in pages)


def test_a_character_no_font_has_is_named_in_one_warning() -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        draw(attention_graph(trace(["\U0010fffd", "\U0010fffdb"]), 0, 0), "pdf")
    messages = [str(warning.message) for warning in seen]
    assert len(messages) == 1
    assert "No installed font has \U0010fffd" in messages[0]


def test_the_value_layout_puts_tokens_with_like_values_together() -> None:
    values = np.zeros((2, 3, 5, 8), dtype=np.float32)
    values[1, 2, :, 0] = [0, 0, 5, 5, -5]
    values[1, 2, :, 1] = [1, 1, 0, 0, 0]
    positions, explained = value_plane(trace(values=values).encoder, 1, 2)
    np.testing.assert_allclose(positions[2], positions[3], atol=1e-9)
    assert np.linalg.norm(positions[2] - positions[4]) == pytest.approx(10)
    assert sum(explained) == pytest.approx(1)


def test_the_value_layout_places_tokens_by_the_values_of_its_own_head() -> None:
    """Also where there are more tokens than heads, or fewer."""
    values = np.random.default_rng(1).normal(size=(2, 3, 2, 8)).astype(np.float32)
    for tokens in (["a", "b"], TOKENS):
        shown = trace(tokens, values=np.resize(values, (2, 3, len(tokens), 8)))
        for head in range(3):
            own = shown.encoder.values_by_layer[1][head].astype(np.float64)  # [token, dim]
            points = attention_graph(shown, 1, head, layout="values").positions
            assert points is not None
            assert np.linalg.norm(points - points.mean(0)) <= np.linalg.norm(own - own.mean(0)) + 1e-6
            np.testing.assert_array_equal(points, value_plane(shown.encoder, 1, head)[0])
            if len(tokens) == 2:  # two points lie in any plane at their own distance
                assert np.linalg.norm(points[0] - points[1]) == pytest.approx(np.linalg.norm(own[0] - own[1]))


def test_the_heading_is_in_the_language_asked_for() -> None:
    assert attention_graph(trace(), 0, 0, threshold=0.05, language="ja").heading == "tiny · L0·H0 · 5 トークン · 重み 0.05 以上"


def test_labels_of_close_tokens_do_not_cover_each_other() -> None:
    boxes = place_labels(np.array([[100.0, 100.0], [101.0, 101.0], [102.0, 99.0], [300.0, 100.0]]), [40.0, 40.0, 40.0, 40.0])
    for first, second in itertools.combinations(boxes.tolist(), 2):
        assert first[2] < second[0] or second[2] < first[0] or abs(first[1] - second[1]) >= 11
    assert boxes[3].tolist() == [305, 100, 345]  # where nothing is in the way, right beside the point


def test_heads_that_share_values_are_laid_out_by_the_shared_ones() -> None:
    text = trace().text
    values = np.random.default_rng(0).normal(size=(2, 5, 8)).astype(np.float32)
    stack = el.traces.Stack("decoder", text, text, (0,), (np.full((4, 5, 5), 0.2, dtype=np.float32),), values_by_layer=(values,))
    first, last = (value_plane(stack, 0, head)[0] for head in (0, 3))
    np.testing.assert_array_equal(first, value_plane(stack, 0, 1)[0])
    assert not np.allclose(first, last)


def test_words_are_drawn_in_place_of_their_pieces() -> None:
    text = replace(trace(["un", "##do", "it"]).text, words=(0, 0, 1), word_texts=("undo", "it"))
    small = el.Trace("tiny", {"encoder": el.traces.Stack("encoder", text, text, (0,), (np.full((1, 3, 3), 1 / 3, dtype=np.float32),))})
    assert texts(attention_graph(small, 0, 0, words=True)) == ["tiny · L0·H0 · 2 words", "undo", "it", "undo", "it"]


def test_an_unknown_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"\.svg, \.pdf"):
        attention_graph(trace(), 0, 0).save(tmp_path / "x.bmp")


def test_without_igraph_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "igraph", None)
    with pytest.raises(EyelineError, match="pip install"):
        draw(attention_graph(trace(), 0, 0), "svg")


def test_the_value_layouts_page_has_room_for_its_curves() -> None:
    values = np.zeros((1, 1, 4, 2), dtype=np.float32)
    for corners in ([(0, 0), (9, 0), (4, 1), (5, 1)], [(0, 0), (0, 9), (1, 4), (1, 5)], [(0, 0), (9, 9), (0, 9), (9, 0)]):
        values[0, 0] = corners
        graph = attention_graph(el.Trace.from_arrays(np.full((1, 1, 4, 4), 0.25), list("abcd"), values=values), 0, 0, layout="values")
        page = tree(graph)
        wide, high = (float(page.get(side, "")[:-2]) for side in ("width", "height"))
        captions = 12 + 2 * 15
        drawn = [path for path in page.iter(SVG + "path") if "stroke: #2563eb" in path.get("style", "")]
        assert len(drawn) == 12
        for path in drawn:
            numbers = [float(number) for number in re.findall(r"-?[\d.]+", path.get("d", ""))]
            corners = np.array(numbers[:8]).reshape(4, 2)  # a cubic curve
            t = np.linspace(0, 1, 50)[:, None]
            curve = sum(n * t**k * (1 - t) ** (3 - k) * corners[k] for k, n in enumerate((1, 3, 3, 1)))
            assert curve[:, 0].min() >= 2
            assert curve[:, 0].max() <= wide - 2
            assert curve[:, 1].min() >= captions
            assert curve[:, 1].max() <= high - 2


def tips(graph: AttentionGraph) -> list[tuple[float, float]]:
    """The first corner of each arrowhead."""
    group = next(group for group in tree(graph).iter(SVG + "g") if group.get("id") == "arrowheads")
    return [tuple(map(float, re.findall(r"-?[\d.]+", path.get("d", ""))[:2])) for path in group.iter(SVG + "path")]  # type: ignore[misc]


def test_an_arrowhead_points_at_the_key_of_every_edge_that_can_be_seen() -> None:
    graph = attention_graph(el.Trace.from_arrays([[[[0.97, 0.03], [0.5, 0.5]]]], ["a", "b"]), 0, 0)
    assert len(graph.edges()) == 4
    assert len(tips(graph)) == 3  # the faint one has none
    assert len({x for x, _ in tips(graph)}) == 1  # all in the column of keys
    assert len(tips(attention_graph(el.Trace.from_arrays([[[[0.97, 0.03], [0.5, 0.5]]]], ["a", "b"]), 0, 0, red=[("a", "b")]))) == 4


def test_two_tokens_that_attend_to_each_other_have_an_arrow_at_both_ends() -> None:
    values = np.array([[[[0.0, 0.0], [9.0, 0.0]]]], dtype=np.float32)
    graph = attention_graph(el.Trace.from_arrays([[[[0.5, 0.5], [0.5, 0.5]]]], ["a", "b"], values=values), 0, 0, layout="values")
    (first, _), (second, _) = sorted(tips(graph))
    assert second - first > 300


@pytest.mark.parametrize("token", ["\u200b\u200b", "\ufeff", "a\ufeffb", "\u200d", "\u2060", "\x00", "\ud800", "\U000e0041", "$", "\\"])
def test_a_token_that_cannot_be_seen_is_drawn_in_every_kind_of_file(token: str) -> None:
    graph = attention_graph(trace(["the", token, "cat"]), 0, 0)
    for kind in ("svg", "pdf", "png"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a glyph that no font here has
            assert len(draw(graph, kind)) > 1000


def test_a_learned_reducer_keeps_distances_better_than_the_components_it_starts_from() -> None:
    values = np.random.default_rng(3).normal(size=(2, 3, 5, 8)).astype(np.float32)
    own = values[1, 2].astype(np.float64)
    rows, columns = np.triu_indices(5, 1)

    def stress(points: np.ndarray) -> float:
        before, after = (np.linalg.norm(part[rows] - part[columns], axis=1) for part in (own, points))
        return float(((before - after) ** 2).sum())

    graph = attention_graph(trace(values=values), 1, 2, layout="learned")
    assert graph.positions is not None
    assert stress(graph.positions) < stress(value_plane(trace(values=values).encoder, 1, 2)[0])
    assert any("linear reducer trained to keep distances" in text for text in texts(graph))


@pytest.mark.parametrize(("n", "neighbours"), slow_but([], [(20, 15), (13, 11), (5, 3)]))
def test_tokens_are_placed_by_umap_in_short_sentences_too(n: int, neighbours: int) -> None:
    pytest.importorskip("umap", reason="umap-learn is not installed")
    values = np.random.default_rng(3).normal(size=(1, 1, n, 8)).astype(np.float32)
    graph = attention_graph(
        el.Trace.from_arrays(np.full((1, 1, n, n), 1 / n), [f"t{i}" for i in range(n)], values=values), 0, 0, layout="umap"
    )
    assert graph.positions is not None
    assert graph.positions.shape == (n, 2)
    assert graph.placement.startswith(f"values: UMAP, {neighbours} neighbours; correlation of distances ")


@pytest.mark.parametrize(("layout", "word"), slow_but([("values", "PCA")], [("values", "PCA"), ("learned", "線形写像"), ("umap", "近傍")]))
def test_a_graph_by_values_has_its_heading_in_the_language_of_the_reader(layout: str, word: str) -> None:
    if layout == "umap":
        pytest.importorskip("umap", reason="umap-learn is not installed")
    values = np.random.default_rng(3).normal(size=(1, 1, 6, 8)).astype(np.float32)
    shown = el.Trace.from_arrays(np.full((1, 1, 6, 6), 1 / 6), list("abcdef"), values=values)
    headings = [text for text in texts(attention_graph(shown, 0, 0, layout=layout, language="ja")) if len(text) > 1]
    assert len(headings) == 2
    assert word in headings[1]
    assert "values" not in headings[1]


def test_by_forces_tokens_that_attend_to_each_other_lie_nearer() -> None:
    weights = np.full((6, 6), 0.01)
    weights[[0, 1, 2, 3, 4, 5], [3, 4, 5, 0, 1, 2]] = 0.9
    small = el.Trace.from_arrays(weights[None, None], list("abcdef"))
    points = attention_graph(small, 0, 0, layout="forces").positions
    distances = np.linalg.norm(points[:, None] - points[None], axis=-1)  # [token, token]
    assert max(distances[0, 3], distances[1, 4], distances[2, 5]) < np.delete(distances[0], [0, 3]).min()


def test_in_a_circle_tokens_stand_in_reading_order_clockwise_from_the_top() -> None:
    points = attention_graph(trace(list("abcd")), 0, 0, layout="circle").positions
    assert np.allclose(points, [(0, 1), (1, 0), (0, -1), (-1, 0)], atol=1e-9)


@pytest.mark.parametrize("layout", IGRAPH)
def test_a_layout_of_igraph_is_between_words_too_the_same_each_time_and_says_what_it_is(layout: str) -> None:
    text = replace(trace(["un", "##do", "it", "now"]).text, words=(0, 0, 1, 2), word_texts=("undo", "it", "now"))
    weights = np.random.default_rng(0).dirichlet(np.ones(4), size=(1, 4)).astype(np.float32)
    small = el.Trace("tiny", {"encoder": el.traces.Stack("encoder", text, text, (0,), (weights,))})
    first, second = (draw(attention_graph(small, 0, 0, layout=layout, words=True, language="ja"), "svg") for _ in range(2))
    assert first == second
    drawn = texts(attention_graph(small, 0, 0, layout=layout, words=True))
    assert drawn[2:] == ["undo", "it", "now"]
    assert drawn[1].startswith({"forces": "the more attention", "circle": "in a circle"}[layout])


def test_columns_of_different_lengths_both_begin_at_the_top() -> None:
    assert column_points(2, 3).tolist() == [[0, 0], [0, 1], [1, 0], [1, 1], [1, 2]]
    assert column_points(3, 1).tolist() == [[0, 0], [0, 1], [0, 2], [1, 0]]
