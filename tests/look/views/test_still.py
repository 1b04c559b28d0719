"""The still picture is well-formed whatever the tokens are, and small whatever their number."""

from __future__ import annotations

import re
import struct
import warnings
import zlib
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import eyeline as el
from eyeline.errors import TraceError
from eyeline.look.palette import ATTENTION, ATTENTION_DARK, HEAD_COLOURS, rgb
from eyeline.look.views.drawing import png, pooled
from eyeline.look.views.graph import FONTS, installed
from eyeline.look.views.still import SAVED, read, still
from eyeline.look.views.view import View
from eyeline.traces import Stack, TokenizedText
from tests.tiers import slow_but

SVG = "{http://www.w3.org/2000/svg}"


def trace(tokens: list[str], layers: int = 1, heads: int = 2) -> el.Trace:
    n = len(tokens)
    weights = np.random.default_rng(0).dirichlet(np.ones(n), size=(layers, heads, n)).astype(np.float32)
    return el.Trace.from_arrays(weights, tokens)


@settings(deadline=None)
@given(st.lists(st.text(min_size=1), min_size=1, max_size=4))
def test_any_tokens_give_well_formed_xml(tokens: list[str]) -> None:
    ElementTree.fromstring(still(el.head_view(trace(tokens))))  # noqa: S314 - our own output


def test_tokens_are_shown_as_themselves() -> None:
    tokens = ["</text>", "<img onerror=x>", '"', "猫", "😀", "שלום"]
    shown = [text.text for text in ElementTree.fromstring(still(el.head_view(trace(tokens)))).iter(SVG + "text")]  # noqa: S314
    assert shown[1 : 1 + len(tokens)] == tokens


def test_a_short_text_has_a_line_for_a_strong_weight_and_none_for_a_weak_one() -> None:
    small_trace = el.Trace.from_arrays([[[[0.997, 0.003], [0.0, 1.0]]]], ["a", "b"])
    assert line_count(still(el.head_view(small_trace))) == 2


def line_count(drawn: str) -> int:
    return sum(path.count("C") for path in re.findall(r'<path d="([^"]*)"', drawn))


@pytest.mark.parametrize("view", [el.head_view, el.model_view])
@pytest.mark.parametrize("tokens", [5, 60, 700])
def test_the_picture_is_bounded_at_any_length(view: object, tokens: int) -> None:
    drawn = still(view(trace([f"t{i}" for i in range(tokens)], heads=3)))  # type: ignore[operator]
    assert len(drawn) < 400_000
    assert ("data:image/png" in drawn) == (tokens > 48 or view is el.model_view)


def test_pooling_loses_no_strong_cell() -> None:
    weights = np.zeros((1000, 700), dtype=np.float32)
    weights[777, 333] = 0.9
    assert pooled(weights, 64).shape == (64, 64)
    assert pooled(weights, 64).max() == np.float32(0.9)


def test_the_png_holds_a_byte_for_each_weight() -> None:
    data = png(np.array([[0.0, 1.0, 0.25]], dtype=np.float32))
    assert struct.unpack(">II", data[16:24]) == (3, 1)
    start = data.index(b"IDAT") + 4
    assert zlib.decompress(data[start : data.index(b"IEND") - 8]) == bytes([0, 0, 255, 128])


@pytest.mark.parametrize("dark", [False, True])
def test_a_heatmap_has_the_colours_of_attention_that_the_page_has(dark: bool) -> None:
    data = png(np.array([[0.0, 0.25, 1.0]], dtype=np.float32), dark=dark)
    start = data.index(b"PLTE") + 4
    palette = np.frombuffer(data[start : start + 768], dtype=np.uint8).reshape(256, 3)
    stops = ATTENTION_DARK if dark else ATTENTION
    np.testing.assert_allclose(palette[[0, 255]], [rgb(stops[0]), rgb(stops[-1])])
    np.testing.assert_allclose(palette[128], rgb(stops[3]), atol=3)  # half way between the two, and of the square root of 0.25


def drawn_texts(view: View) -> list[str | None]:
    return [text.text for text in ElementTree.fromstring(still(view)).iter(SVG + "text")]  # noqa: S314


def undo() -> el.Trace:
    text = TokenizedText(("[CLS]", "un", "##do", "it"), (None, 0, 0, 1), ("undo", "it"), (0, 0, 0, 1), (True, False, False, False))
    weights = np.full((2, 4, 4), 0.25, dtype=np.float32)
    return el.Trace("tiny", {"encoder": Stack("encoder", text, text, (0, 1), (weights, weights))})


@pytest.mark.parametrize(
    ("state", "queries", "keys"),
    [
        ({"level": "word"}, ["[CLS]", "undo", "it"], ["[CLS]", "undo", "it"]),
        ({"hide_special": True}, ["un", "##do", "it"], ["un", "##do", "it"]),
        ({"segments": "ab"}, ["[CLS]", "un", "##do"], ["it"]),
        ({"level": "word", "hide_special": True, "segments": "ba"}, ["it"], ["undo"]),
    ],
)
def test_words_hidden_tokens_and_segments_are_drawn_as_the_state_says(
    state: dict[str, str], queries: list[str], keys: list[str], tmp_path: Path
) -> None:
    view = el.head_view(undo(), heads=[0], **state)  # type: ignore[arg-type]
    assert drawn_texts(view)[1:-1] == queries + keys  # and beneath, how it was made
    view.save(tmp_path / "x.svg")
    saved = ["".join(t.itertext()).strip() for t in ElementTree.parse(tmp_path / "x.svg").iter(SVG + "text")]  # noqa: S314
    assert saved[1:-1] == queries + keys


def test_no_heads_are_no_lines() -> None:
    assert "<path" not in still(el.head_view(undo(), heads=[]))


def test_a_picture_of_several_heads_names_the_colour_of_each() -> None:
    drawn = still(el.head_view(trace(["a", "b"], heads=3), heads=[0, 2]))
    squares = re.findall(r'<rect [^>]*width="10" height="10" fill="([^"]*)"/><text [^>]*>([^<]*)<', drawn)
    assert squares == [(HEAD_COLOURS[0], "H0"), (HEAD_COLOURS[2], "H2")]
    assert 'width="10"' not in still(el.head_view(trace(["a", "b"], heads=3), heads=[1]))


def test_the_legend_of_many_heads_stays_inside_the_picture() -> None:
    root = ElementTree.fromstring(still(el.head_view(trace(["a", "b"], heads=40))))  # noqa: S314 - our own output
    squares = [rect for rect in root.iter(SVG + "rect") if rect.get("width") == "10"]
    assert len(squares) == 40
    assert all(float(rect.get("x", 0)) + 30 <= float(root.get("width", 0)) for rect in squares)
    assert all(float(rect.get("y", 0)) + 10 <= float(root.get("height", 0)) for rect in squares)


@pytest.mark.parametrize("view", [el.head_view, el.model_view])
def test_faint_lines_are_raised_on_a_dark_ground(view: object) -> None:
    weights = el.Trace.from_arrays([[[[0.9, 0.1], [0.1, 0.9]]]], ["a", "b"])

    def faintest(theme: str) -> float:
        drawn = still(view(weights, theme=theme), SAVED)  # type: ignore[operator]
        return min(float(opacity) for opacity in re.findall(r'<path [^>]*opacity="([^"]*)"', drawn))

    assert faintest("dark") == pytest.approx(faintest("light") ** 0.8, abs=0.002)


def test_rows_and_columns_of_the_model_view_are_kept() -> None:
    assert drawn_texts(el.model_view(undo(), rows=[1], columns=[1]))[1:] == ["H1", "L1"]


def test_the_dark_theme_has_a_dark_ground() -> None:
    drawn = still(el.head_view(undo(), theme="dark"))
    assert 'fill="#0f1115"' in drawn
    assert "#ffffff" not in drawn


def vectors_and_values(*, values: bool) -> el.Trace:
    rng = np.random.default_rng(0)
    queries, keys, kept = rng.normal(size=(3, 1, 2, 2, 4)).astype(np.float32)
    weights = np.array([[[[0.25, 0.75], [0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]]]], dtype=np.float32)
    return el.Trace.from_arrays(weights, ["a", "b"], queries=queries, keys=keys, **({"values": kept} if values else {}))


def test_the_neuron_view_shows_every_step_from_the_query_to_the_sum_of_values() -> None:
    trace = vectors_and_values(values=True)
    texts = [str(text) for text in drawn_texts(el.neuron_view(trace, query=0))]
    assert "query: a" in texts[0]
    assert {"0.250", "0.750"} <= set(texts)
    assert any("Σ softmax × value" in text for text in texts)
    assert texts.index("keys") > texts.index("softmax")  # the rows of keys have a heading of their own
    assert "가중치" in drawn_texts(el.neuron_view(trace, query=0, language="ko"))
    assert still(el.neuron_view(trace)).count("<image") == 2 + 2 * 3  # query and output; key, product and contribution of each key
    view = el.neuron_view(trace, query=0)
    step = read(view, view.spec["stacks"][0], view.spec["stacks"][0]["layers"][0], 0, 0)
    assert step is not None
    assert step.contributions is not None
    np.testing.assert_allclose(step.output, trace.outputs[0, 0, 0], atol=1e-4)
    np.testing.assert_allclose(step.contributions.sum(axis=0), trace.outputs[0, 0, 0], atol=1e-4)


def test_a_neuron_view_without_values_says_why_the_sum_is_missing() -> None:
    texts = [str(text) for text in drawn_texts(el.neuron_view(vectors_and_values(values=False)))]
    assert not any("Σ" in text for text in texts)
    assert any(text.startswith("The sum of values is not shown: ") for text in texts)


def four() -> el.Trace:
    """Two layers of two heads whose weights are all different."""
    weights = np.random.default_rng(1).dirichlet(np.ones(4), size=(2, 2, 4)).astype(np.float32)
    return el.Trace.from_arrays(weights, list("abcd"), model="tiny")


def test_a_picture_says_how_it_was_made() -> None:
    assert drawn_texts(el.head_view(undo(), heads=[0]))[-1] == "it"  # nothing was changed, nothing is said
    message = str(drawn_texts(el.head_view(undo(), hide_special=True, renormalise=True, threshold=0.05, level="word", rescale=True))[-1])
    for words in ("special tokens hidden", "rows sum to 1 again", "weights from 0.05", "between words", "stretched to its maximum"):
        assert words in message
    assert "special tokens hidden" in str(drawn_texts(el.model_view(undo(), hide_special=True))[-1])
    assert "weights from 0.1" in str(drawn_texts(el.neuron_view(vectors_and_values(values=True), threshold=0.1))[-1])


def test_a_picture_says_how_it_was_made_in_the_language_asked_for(tmp_path: Path) -> None:
    view = el.head_view(undo(), hide_special=True, combine="max")
    for language, words in (("ja", "特殊トークンは非表示 · ヘッドの最大"), ("ko", "특수 토큰 숨김 · 헤드의 최대")):
        view.save(tmp_path / "x.svg", language=language)
        assert words in (tmp_path / "x.svg").read_text(encoding="utf-8")
    with pytest.raises(TraceError, match="en, ja, ko"):
        view.save(tmp_path / "x.svg", language="xx")


def test_held_tokens_show_their_lines_alone_with_arrows_and_sums() -> None:
    view = el.head_view(four(), heads=[1], locked=[2])
    texts = drawn_texts(view)
    weights = view.weights(0, 0)[1]
    assert texts[9:13] == [f"{value:.3f}" for value in weights[2]]
    assert still(view).count("Z") == int((weights[2] ** 0.85 >= 0.06).sum())  # fainter lines have no arrowhead
    other = el.head_view(four(), heads=[1], locked=[2], direction="to")
    assert drawn_texts(other)[9:13] == [f"{value:.3f}" for value in weights[:, 2]]


def test_combined_heads_and_layers_are_one_map() -> None:
    view = el.head_view(four(), combine="max", combine_layers=[1], locked=[0])
    both = np.concatenate([view.weights(0, 0), view.weights(0, 1)])
    assert drawn_texts(view)[9:13] == [f"{value:.3f}" for value in both.max(axis=0)[0]]
    assert "largest of the heads, layers 0, 1" in str(drawn_texts(view)[-1])


def test_a_threshold_leaves_weak_lines_out_and_a_heatmap_is_drawn_as_one() -> None:
    view = el.head_view(four(), heads=[0], threshold=0.3)
    assert line_count(still(view)) == int((view.weights(0, 0)[0] >= 0.3).sum())
    drawn = still(el.head_view(four(), heads=[0], **{"as": "heatmap"}))
    assert "<path" not in drawn
    assert "<image" in drawn
    assert "rotate(-90" in drawn


@pytest.mark.parametrize("ending", ["pdf", "png"])
@pytest.mark.parametrize("theme", slow_but([], ["light", "dark"]))
def test_every_view_is_painted_as_a_file_that_is_the_same_every_time(tmp_path: Path, ending: str, theme: str) -> None:
    begins = {"pdf": b"%PDF", "png": b"\x89PNG"}[ending]
    views = [el.head_view(four(), locked=[1]), el.model_view(four()), el.neuron_view(vectors_and_values(values=True))]
    for view in views:
        written = []
        for name in ("x", "y"):
            view.starting(theme=theme).save(tmp_path / f"{name}.{ending}")  # type: ignore[typeddict-item]
            written.append((tmp_path / f"{name}.{ending}").read_bytes())
        assert written[0].startswith(begins)
        assert written[0] == written[1]


def test_zoom_makes_lines_larger_and_cuts_a_heatmap() -> None:
    sizes = [float(ElementTree.fromstring(still(el.head_view(four(), zoom={"k": k}))).get("height", 0)) for k in (1, 2)]  # noqa: S314
    assert sizes[1] > 1.5 * sizes[0]
    cut = drawn_texts(el.head_view(four(), heads=[0], zoom={"x": 0.5, "y": 0, "k": 2}, **{"as": "heatmap"}))
    assert cut[1:] == ["a", "b", "c", "d"]  # the first two queries and the last two keys


def test_a_heatmap_of_several_heads_shows_the_first_as_the_page_does() -> None:
    assert "L0·H1" in str(drawn_texts(el.head_view(four(), heads=[1, 0], **{"as": "heatmap"}))[0])


def test_a_dark_picture_is_dark_in_every_format(tmp_path: Path) -> None:
    from matplotlib.image import imread

    for shown in (el.head_view(four(), theme="dark"), el.model_view(four(), theme="dark")):
        shown.save(tmp_path / "x.png")
        pixels = imread(tmp_path / "x.png")[..., :3]
        assert np.median(pixels) < 0.1


@pytest.mark.parametrize("view", [el.head_view, el.model_view, el.neuron_view])
def test_a_picture_is_in_the_language_of_its_view(view: object, tmp_path: Path) -> None:
    shown = view(vectors_and_values(values=True), language="ja")  # type: ignore[operator]
    everything = " ".join(map(str, drawn_texts(shown)))
    assert [word for word in ("encoder", "layer", "tokens", "query", "keys", "output") if word in everything] == []
    shown.save(tmp_path / "own.svg")
    shown.save(tmp_path / "other.svg", "ko")
    assert "エンコーダー" in (tmp_path / "own.svg").read_text(encoding="utf-8")
    assert "인코더" in (tmp_path / "other.svg").read_text(encoding="utf-8")


def test_a_language_that_we_do_not_have_is_refused() -> None:
    with pytest.raises(TraceError, match="language='fr'"):
        el.head_view(four(), language="fr")


@pytest.mark.parametrize("ending", ["png", "pdf"])
def test_japanese_and_korean_tokens_are_painted_where_a_font_has_them(ending: str, tmp_path: Path) -> None:
    if not any("CJK" in name for name in installed(FONTS)):
        pytest.skip("no installed font has Japanese and Korean")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a missing character is one
        el.head_view(trace(["猫", "座りました", "고양이"]), language="ja").save(tmp_path / f"cat.{ending}")


def test_a_character_that_no_font_has_is_named_once(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="No installed font has") as warned:
        el.head_view(trace(["\U0001341f", "a"])).save(tmp_path / "sign.png")
    assert len(warned) == 1


@pytest.mark.parametrize("tokens", [60, 700])
def test_the_picture_of_a_sentence_is_bounded_at_any_length(tokens: int) -> None:
    assert len(still(el.sentence_view(trace([f"t{i}" for i in range(tokens)], heads=3)))) < 400_000


def arcs_in(view: View) -> list[float]:
    """Widths of the arcs in the still picture of a sentence view."""
    return [float(wide) for wide in re.findall(r'C[^"]*" fill="none" stroke="#[0-9a-f]{6}" stroke-width="([0-9.]+)"', still(view))]


def test_a_sentence_has_an_arc_for_each_weight_of_its_word_as_wide_as_the_weight() -> None:
    weights = np.array([[[0.7, 0.2, 0.096, 0.004], [0.1, 0.9, 0, 0], [0.25] * 4, [0.3, 0.3, 0.2, 0.2]]])
    view = el.sentence_view(el.Trace.from_arrays([weights], ["the", "old", "cat", "sat"]), locked=[0])
    assert arcs_in(view) == pytest.approx([0.75 + 11.25 * weight for weight in (0.096, 0.2, 0.7)], abs=0.02)
    assert len(arcs_in(view.starting(locked=[]))) == 13  # those of all words, without the weakest
    drawn = still(view)
    assert [text in drawn for text in (">0.700<", ">0.200<", ">0.004<")] == [True, True, False]


def test_a_sentence_leaves_out_the_lines_to_a_sink_and_says_so() -> None:
    weights = np.full((1, 5, 5), 0.1)
    weights[:, :, 0] = 0.6
    view = el.sentence_view(el.Trace.from_arrays([weights], ["[CLS]", "a", "b", "c", "d"]), locked=[2])
    assert len(arcs_in(view)) == 4
    assert "“[CLS]” gets 60 % of this head’s attention" in still(view)
    assert len(arcs_in(view.starting(mute_sinks=False))) == 5


def test_a_paragraph_shades_words_by_what_the_chosen_one_looks_at() -> None:
    weights = np.array([[[0.1, 0.8, 0.1], [0.0, 0.5, 0.5], [0.2, 0.2, 0.6]]])
    drawn = still(el.text_view(el.Trace.from_arrays([weights], ["the", "old", "cat"]), locked=[0]))
    opacities = [float(each) for each in re.findall(r'rx="3" fill="#[0-9a-f]{6}" opacity="([0-9.]+)"', drawn)]
    assert opacities == pytest.approx([1, 1, (0.1 / 0.8) ** 0.5], abs=0.01)  # the chosen word; 0.8, the largest; 0.1


def test_the_picture_of_a_long_text_is_bounded_and_holds_the_chosen_word() -> None:
    view = el.text_view(trace([f"t{i}" for i in range(900)], heads=1), locked=[700])
    assert len(still(view)) < 150_000
    assert ">t700<" in still(view)
    assert ">t1<" not in still(view)
    assert ">t1<" in still(view, SAVED)
