"""Every figure of a run: in every language, on light and dark, and clicked."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest

import eyeline as el
from eyeline.errors import TraceError
from eyeline.figures import FIGURES, available, record_of
from eyeline.measure.corpus.figures import MARKERS
from eyeline.measure.grammar.figures import draw_relation
from eyeline.measure.heads.profile import profiles
from eyeline.measure.runs.figure import DARK, ENGLISH, LIGHT, Style, head_from
from eyeline.measure.training.result import MEASURES
from eyeline.messages import catalogue
from eyeline.words import LANGUAGES, Words
from tests.measure.causes.by_hand import induction_model
from tests.show.app.small_runs import compare_run, grammar_run, save_shallow, space_run

#: What stays as it is in every language: names of the models and files of these runs, tags and blanks of Plotly, names of methods.
KEPT = re.compile(
    r"<[^>]*>|%\{[^}]*\}|L\d+·H\d+|\[CLS\]|shallow|small\.conllu|texts|BERT-base|Penn Treebank|Clark|n = |synthetic-[\d-]+|AttentionViz|"
    r"GlobEnc|ALTI|DecompX|N-ResOut|AOPC|by hand"
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, minilm: el.Model) -> list[el.Run]:
    """Runs of every kind, which together have every figure but that of gradients."""
    folder = tmp_path_factory.mktemp("runs")
    model = el.load(save_shallow(minilm, folder / "shallow"))
    texts = el.corpora.sample_text().split("\n\n")[:3]
    el.analyse(model, texts, [el.statistics.AverageAttention(), el.statistics.Entropy(), el.statistics.HeadDistances()]).save(
        folder / "corpus"
    )
    grammar_run(model, folder / "grammar")
    space_run(model, folder / "space")
    compare_run(model, folder / "compare")
    opened = [el.runs.open_run(folder / name) for name in ("corpus", "grammar", "space", "compare")]
    numbers = ("comprehensiveness", "sufficiency", "aopc", "comprehensiveness_error", "sufficiency_error", "aopc_error")
    rows = [{"method": method, **dict.fromkeys(numbers, 0.25), "texts": 3} for method in (*el.attributions.METHODS, "random")]
    model = induction_model()
    effects = el.causes(model, ["a b c d a b", "d a b c d a"])
    circuit = el.circuit(model, "a b c d a", "c b a d a", answer="b", against="d")
    course = [{"step": step, "layer": 0, "head": head, **dict.fromkeys(MEASURES, 0.1 * step)} for step in (0, 1) for head in (0, 1)]
    tables = {"faithfulness": el.runs.Table.from_rows(rows), "training": el.runs.Table.from_rows(course)}
    return [*opened, el.Run(opened[0].facts, tables), effects, circuit]


def with_figure(runs: list[el.Run], name: str) -> el.Run:
    return next(run for run in runs if name in available(run))


#: The figure of gradients needs a model with a loss; the tests of the report draw it.
DRAWN = [name for name in FIGURES if name != "importance"]


def words_in(drawing: go.Figure) -> list[str]:
    """Every text that a reader can see: titles, names, labels, hover texts, ticks and names of bars."""
    texts: list[str] = []

    def walk(value: Any, key: str = "") -> None:
        if isinstance(value, dict):
            for name, part in value.items():
                walk(part, name)
        elif isinstance(value, list):
            for part in value:
                walk(part, key)
        elif isinstance(value, str) and key in ("text", "name", "label", "hovertemplate", "hovertext", "ticktext", "x", "y"):
            texts.append(value)

    walk(json.loads(drawing.to_json()))
    return texts


def own_words(run: el.Run) -> set[str]:
    """Words of the corpus itself, and names of its relations."""
    words: set[str] = set()
    if "syntax" in run.tables:
        words |= {str(name) for name in run.table("syntax").columns["relation"]} - {"all"}
        for text in run.table("syntax_examples").columns["words"]:
            words |= set(json.loads(str(text)))
        words |= {str(word) for name in ("word", "mention") for word in run.table("coreference_example").columns[name]}
    if "probe_parses" in run.tables:
        words |= {"ROOT"}
        for text in run.table("probe_parses").columns["words"]:
            words |= set(json.loads(str(text)))
    return words


@pytest.mark.slow
@pytest.mark.parametrize("language", ["ja", "ko"])
@pytest.mark.parametrize("name", DRAWN)
def test_no_english_is_left_in_a_figure(runs: list[el.Run], name: str, language: str) -> None:
    run = with_figure(runs, name)
    own = sorted(own_words(run), key=len, reverse=True)
    kept = re.compile("|".join([KEPT.pattern, *(rf"\b{re.escape(word)}\b" for word in own if word.strip())]))
    texts = words_in(el.figure(run, name, Style(Words(language), clickable=True)))
    assert texts
    assert [text for text in texts if re.search(r"[A-Za-z]{3,}", kept.sub("", text))] == []


@pytest.mark.parametrize("name", FIGURES)
def test_a_record_has_a_title_a_meaning_and_its_symbols_in_every_language(name: str) -> None:
    record = FIGURES[name]
    assert record.formula
    for language in LANGUAGES:
        assert all(text(Words(language)) for text in (record.title, record.meaning, record.symbols))


def test_every_message_of_a_figure_belongs_to_a_record() -> None:
    groups = {key.split(".")[1] for key in catalogue("en") if key.startswith("figure.")}
    assert groups == {*FIGURES, "label", "caption", "graph", "still"}  # the last two are of pictures of views


def test_a_figure_of_one_stack_is_found_by_its_name() -> None:
    assert record_of("head_map_cross") == (FIGURES["head_map"], "cross")
    assert record_of("syntax_examples") == (FIGURES["syntax_examples"], "")


@pytest.mark.parametrize("name", DRAWN)
def test_a_dark_figure_has_no_colour_of_the_light_page(runs: list[el.Run], name: str) -> None:
    text = el.figure(with_figure(runs, name), name, Style(dark=True)).to_json()
    assert not [colour for colour in (LIGHT.ink, LIGHT.hairline) if colour in text]
    assert DARK.ground in text


@pytest.mark.parametrize("dark", [False, True])
def test_numbers_of_both_signs_are_blue_below_zero_and_orange_above_with_one_range(runs: list[el.Run], dark: bool) -> None:
    scale = [tuple(step) for step in (DARK if dark else LIGHT).signed]
    for name in ("compare", "probe_weights", "causes", "patching"):
        drawing = el.figure(with_figure(runs, name), name, Style(dark=dark))
        signed = [trace for trace in drawing.data if isinstance(trace, go.Heatmap) and trace.zmin < 0]
        assert signed, name
        for trace in signed:
            assert trace.zmin == -trace.zmax
            assert [tuple(step) for step in trace.colorscale] == scale


def test_the_two_sides_mean_the_same_on_light_and_on_dark() -> None:
    for theme in (LIGHT, DARK):
        below, zero, above = ([int(colour[i : i + 2], 16) for i in (1, 3, 5)] for _, colour in theme.signed)
        assert below[2] - below[0] > 100, "negative is blue"
        assert above[0] - above[2] > 100, "positive is orange"
        assert zero == [int(theme.ground[i : i + 2], 16) for i in (1, 3, 5)]


def test_no_figure_names_a_scale_of_another_library_for_numbers_of_both_signs() -> None:
    named = re.compile(r"""colorscale["']?\s*[:=]\s*["'](\w+)["']""")
    folder = Path(el.__file__).parent
    scales = {name for path in folder.rglob("*.py") for name in named.findall(path.read_text(encoding="utf-8"))}
    assert scales <= {"Viridis"}


@pytest.mark.parametrize("name", [name for name, record in FIGURES.items() if record.clickable == "cells"])
def test_every_cell_of_a_grid_gives_its_head(runs: list[el.Run], name: str) -> None:
    drawing = el.figure(with_figure(runs, name), name, Style(clickable=True))
    cells = sum(len(trace.x) * len(trace.y) for trace in drawing.data if isinstance(trace, go.Heatmap))
    points = [trace for trace in drawing.data if isinstance(trace, go.Scatter) and trace.customdata is not None]
    assert sum(len(trace.x) for trace in points) == cells
    labels = [label for trace in drawing.data if isinstance(trace, go.Heatmap) for row in trace.text for label in row]
    heads = [head_from(list(data)) for trace in points for data in trace.customdata]
    assert [head and head.full_label for head in heads] == labels
    for menu in drawing.layout.updatemenus:
        assert all(len(button.args[0]["visible"]) == len(drawing.data) for button in menu.buttons)


@pytest.mark.parametrize("name", [name for name, record in FIGURES.items() if record.clickable == "points"])
def test_every_point_of_a_figure_gives_its_head(runs: list[el.Run], name: str) -> None:
    points = [trace for trace in el.figure(with_figure(runs, name), name).data if trace.customdata is not None]
    heads = {head_from(list(data)) for trace in points for data in trace.customdata}
    every = {el.HeadRef("", layer, head) for layer in (0, 1) for head in range(3 if name.startswith("c") else 12)}
    assert heads == every if name != "circuit" else el.HeadRef("", 1, 0) in heads <= every


@pytest.mark.parametrize("name", [name for name, record in FIGURES.items() if record.clickable == "cells"])
def test_the_title_of_a_colour_bar_stands_a_line_above_its_numbers(runs: list[el.Run], name: str) -> None:
    drawing = el.figure(with_figure(runs, name), name)
    bars = [trace.colorbar for trace in drawing.data if trace.type == "heatmap"] + [drawing.layout.coloraxis.colorbar]
    titles = [bar.title for bar in bars if bar.title.text]
    assert titles
    assert all(title.side == "top" and "<br>" in title.text for title in titles)


def test_the_head_map_shows_the_role_by_colour_and_the_papers_rule_by_marker_at_once(runs: list[el.Run]) -> None:
    run, style = with_figure(runs, "head_map"), Style(ENGLISH)
    drawing = el.figure(run, "head_map")
    roles = {(profile.head.layer, profile.head.head): profile.role.name for profile in profiles(run)}
    rules = {(row["layer"], row["head"]): str(row["behaviour"]) for row in run.table("head_map").rows()}
    points = [trace for trace in drawing.data if trace.customdata is not None]
    assert sum(len(trace.x) for trace in points) == len(rules)
    for trace in points:
        for (layer, head, _), colour in zip(trace.customdata, trace.marker.color, strict=True):
            assert colour == style.role_colour(roles[layer, head])
            assert trace.marker.symbol == MARKERS[rules[layer, head]]
    assert not drawing.layout.updatemenus


@pytest.mark.parametrize("color", ["layer", "entropy", "cls"])
def test_the_head_map_is_coloured_by_the_layer_or_by_a_number_of_the_tables(color: str, runs: list[el.Run]) -> None:
    run = with_figure(runs, "head_map")
    drawing = el.figure(run, "head_map", color=color)
    shares = run.table("average_attention").where(target="cls")
    table, column = {"layer": (run.table("head_map"), "layer"), "entropy": (run.table("entropy"), "all"), "cls": (shares, "mean")}[color]
    expected = {(row["layer"], row["head"]): row[column] for row in table.rows()}
    points = [trace for trace in drawing.data if trace.customdata is not None]
    assert {
        (layer, head): colour for trace in points for (layer, head, _), colour in zip(trace.customdata, trace.marker.color, strict=True)
    } == expected
    assert drawing.layout.coloraxis.colorbar.title.text
    assert {trace.marker.symbol for trace in points} == {MARKERS[str(rule)] for rule in run.table("head_map")["behaviour"]}


def test_a_colour_that_a_figure_cannot_show_is_refused(runs: list[el.Run]) -> None:
    run = with_figure(runs, "head_map")
    with pytest.raises(el.EyelineError, match=r"(?s)color='entropi'.*entropy"):
        el.figure(run, "head_map", color="entropi")
    with pytest.raises(el.EyelineError, match="head_map alone"):
        el.figure(run, "entropy", color="layer")


def test_correlations_of_a_space_are_labelled(runs: list[el.Run]) -> None:
    titles = [note.text for note in el.figure(with_figure(runs, "space_pairs"), "space_pairs").layout.annotations if "→" in note.text]
    assert titles
    assert all("correlation" in title for title in titles)


def test_a_probe_has_one_name_in_every_figure(runs: list[el.Run]) -> None:
    run = with_figure(runs, "probes")
    bars = set(el.figure(run, "probes").data[0].y)
    lines = {trace.name for trace in el.figure(run, "probes_learning").data}
    assert lines <= bars
    assert "distances and words, no attention" in bars


def test_the_words_of_a_text_are_never_translated(runs: list[el.Run]) -> None:
    """`head` and `all` are words of figures too."""
    run = with_figure(runs, "coreference_example")
    shown = [[trace.text for trace in el.figure(run, "coreference_example", Style(Words(language))).data] for language in ("en", "ja")]
    assert shown[0] == shown[1]
    drawing = draw_relation(run.parts["syntax"], Style(Words("ko")), "det")
    texts = [word for trace in drawing.data if trace.mode == "text" for word in trace.text]
    row = next(row for row in run.table("syntax_examples").rows() if row["relation"] == "det")
    assert set(json.loads(str(row["words"]))) <= set(texts)
    assert Words("ko")("figure.label.gold") in texts
    assert not drawing.layout.updatemenus


def test_a_figure_without_a_heading_is_shorter_by_it(runs: list[el.Run]) -> None:
    run = with_figure(runs, "entropy")
    titled, bare = el.figure(run, "entropy"), el.figure(run, "entropy", Style(titled=False))
    assert titled.layout.title.text.startswith("How broadly")
    assert bare.layout.title.text is None
    assert bare.layout.height < titled.layout.height


def test_arcs_of_a_treebank_end_in_arrows_where_the_head_should_look(runs: list[el.Run]) -> None:
    run = with_figure(runs, "syntax_examples")
    row = next(row for row in run.table("syntax_examples").rows() if row["relation"] == "det")
    drawing = draw_relation(run.parts.get("syntax", run), Style(), "det")
    heads = [trace for trace in drawing.data if trace.meta == "arrowheads" and trace.xaxis == "x"]
    gold = next(trace for trace in heads if trace.marker.symbol == "triangle-down")
    centres = next(trace for trace in drawing.data if trace.mode == "text" and trace.xaxis == "x").x
    to = 1 if str(row["direction"]).startswith("dependent") else 0
    expected = [centres[pair[to]] for pair in json.loads(str(row["gold"])) if pair[1] >= 0]
    assert list(gold.x) == pytest.approx(expected, abs=0.01)
    assert any(len(trace.x) for trace in heads if trace.marker.symbol == "triangle-up")  # and those of attention


def test_arcs_of_mentions_end_in_arrows_at_what_they_attend_to(runs: list[el.Run]) -> None:
    run = with_figure(runs, "coreference_example")
    drawing = el.figure(run, "coreference_example")
    heads = next(trace for trace in drawing.data if trace.meta == "arrowheads")
    assert len(heads.x) == len(drawing.layout.shapes)
    ends = [float(shape.path.split()[-1].split(",")[0]) for shape in drawing.layout.shapes]
    assert list(heads.x) == pytest.approx(ends)


def test_a_figure_takes_the_language_of_its_reader_by_name(runs: list[el.Run]) -> None:
    run = with_figure(runs, "entropy")
    assert el.figure(run, "entropy", language="ja").layout.title.text == el.figure(run, "entropy", Style(Words("ja"))).layout.title.text
    with pytest.raises(TraceError, match="language='fr'"):
        el.figure(run, "entropy", language="fr")
