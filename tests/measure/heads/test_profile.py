"""A head's roles come from its numbers by one table, and every page and figure says the same of a head."""

from __future__ import annotations

import json
import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import eyeline as el
from eyeline import HeadRef
from eyeline.figures import figure
from eyeline.look.palette import DARK_PAGE, LIGHT_PAGE, LUMINANCE, ROLE_COLOURS, role_colour
from eyeline.measure.grammar.options import SyntaxFacts, SyntaxOptions
from eyeline.measure.heads.profile import HeadProfile, by_role, notable_heads, open_measured, profile_of, profiles
from eyeline.measure.heads.roles import FAMILY, NONE, ROLES, RULES, Role, has
from eyeline.measure.runs.facts import CorpusFacts, ModelFacts
from eyeline.runs import Table
from eyeline.show.app.kit.page import escaped
from eyeline.show.gallery.pages import ModelPages, head_page, model_page
from eyeline.show.report import write_report
from eyeline.words import LANGUAGES, Words
from tests.show.gallery.tiny import HEADS, LAYERS, measured

FACTS = SyntaxFacts(model=ModelFacts("tiny"), corpus=CorpusFacts("sentences"), options=SyntaxOptions())


def run_of(**tables: dict[str, list[Any]]) -> el.Run:
    """A run of one head, L0·H0: table → column → values."""
    return el.Run(
        FACTS,
        {
            name: Table({"layer": [0] * n, "head": [0] * n, **columns})
            for name, columns in tables.items()
            for n in [len(next(iter(columns.values())))]
        },
    )


def contrast(first: str, second: str) -> float:
    """The contrast of two colours (WCAG)."""
    channels = ([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)] for colour in (first, second))
    linear = ([part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts] for parts in channels)
    light, dark = sorted((sum(map(float.__mul__, LUMINANCE, parts)) for parts in linear), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def oklab(colour: str) -> np.ndarray:
    """Lightness and two hues, as people see differences (Ottosson 2020)."""
    parts = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    cones = np.cbrt([[0.41222, 0.53633, 0.05145], [0.21190, 0.68070, 0.10740], [0.08830, 0.28172, 0.62998]] @ linear)
    return np.array([[0.21045, 0.79362, -0.00407], [1.97800, -2.42859, 0.45059], [0.02590, 0.78277, -0.80868]]) @ cones


def shares(**by_target: float) -> dict[str, dict[str, list[Any]]]:
    return {"average_attention": {"target": list(by_target), "mean": list(by_target.values())}}


def grammar(**rows: tuple[float, float]) -> dict[str, dict[str, list[Any]]]:
    """relation → accuracy and best fixed offset, in percent."""
    accuracy, offset = [row[0] for row in rows.values()], [row[1] for row in rows.values()]
    heads = {"relation": list(rows), "direction": ["dependent-to-governor"] * len(rows), "accuracy": accuracy}
    return {"syntax": {"relation": list(rows), "baseline_any": offset}, "syntax_heads": heads}


def roles_of(run: el.Run) -> list[str]:
    return [role.name for role in profile_of(run, HeadRef("", 0, 0)).roles]


def test_a_look_at_a_neighbour_comes_before_grammar_and_grammar_before_a_sink():
    run = run_of(**shares(sep=0.5, previous=0.4), **grammar(det=(90.0, 60.0)))
    assert roles_of(run) == ["previous", "noun_phrase", "sep"]
    assert profile_of(run, HeadRef("", 0, 0)).roles[1] == Role("noun_phrase", 90.0, 60.0, "det")


def test_a_relation_that_is_seldom_found_or_no_better_than_an_offset_gives_no_role():
    assert roles_of(run_of(**grammar(advcl=(40.0, 0.0), det=(60.0, 55.0)))) == [NONE]


@pytest.mark.parametrize(
    ("relation", "role"),
    [
        ("nsubj", "subject"),
        ("nsubjpass", "subject"),
        ("obj", "object"),
        ("dobj", "object"),
        ("amod", "noun_phrase"),
        ("case", "dependency"),
    ],
)
def test_relations_of_both_sets_of_labels_have_their_roles(relation, role):
    assert roles_of(run_of(**grammar(**{relation: (90.0, 20.0)}))) == [role]


@pytest.mark.parametrize(("pronouns", "roles"), [(95.0, ["antecedent"]), (75.0, [NONE])])
def test_pronouns_alone_are_enough_for_reference(pronouns, roles):
    rules = {"method": ["rule-based"], "all": [80.0], "pronoun": [70.0]}
    heads = {"direction": ["mention-to-antecedent"], "all": [50.0], "pronoun": [pronouns]}
    assert roles_of(run_of(coreference=rules, coreference_heads=heads)) == roles


def test_the_first_token_is_not_named_beside_cls_and_named_without_it():
    assert roles_of(run_of(**shares(cls=0.6, first=0.6))) == ["cls"]
    (role,) = profile_of(run_of(**shares(first=0.6)), HeadRef("", 0, 0)).roles
    assert (role.name, role.text(Words())) == ("cls", "looks at the first token: 0.600 of its attention; it may just be resting")


def test_even_neighbours_broad_heads_and_induction_have_their_numbers():
    assert roles_of(run_of(**shares(previous=0.25, next=0.2))) == ["both_neighbours"]
    assert roles_of(run_of(entropy={"all": [3.0], "uniform": [3.2]})) == ["broad"]
    assert roles_of(run_of(**shares(other=0.9), head_scores={"induction": [0.7]})) == ["induction"]


def test_fourteen_roles_in_six_families_have_a_threshold_a_colour_and_words_in_every_language():
    assert len(RULES) == len(ROLES) == 14
    assert len(ROLE_COLOURS) == 6
    assert set(FAMILY) == set(ROLES)
    for language in LANGUAGES:
        words = Words(language)
        for role in RULES:
            assert words(f"role.name.{role.role}")
            assert words(f"role.family.{FAMILY[role.role]}")
            baseline = 10.0 if role.unit == "points" else None
            assert Role(role.role, 90.0, baseline, "det").text(words)
        assert Role(NONE, 0.0).text(words)


@pytest.mark.parametrize("role", FAMILY)
def test_the_colour_of_a_role_stands_out_from_both_pages_and_from_every_other(role):
    assert contrast(role_colour(role), LIGHT_PAGE.ground) >= 3
    assert contrast(role_colour(role, dark=True), DARK_PAGE.ground) >= 3
    assert [other for other in FAMILY if role_colour(other) == role_colour(role)] == [role]


@pytest.mark.parametrize("dark", [False, True])
def test_a_reader_tells_any_two_roles_apart_by_their_colours(dark):
    """The distance is that of Oklab; 0.02 is just seen when two colours touch."""
    colours = {role: oklab(role_colour(role, dark=dark)) for role in FAMILY}
    near = [(one, other) for one, other in combinations(FAMILY, 2) if math.dist(colours[one], colours[other]) < 0.08]
    assert near == []


def test_heads_without_a_role_lie_under_those_with_one_and_the_legends_name_both_rules(e5_run):
    drawing = json.loads(figure(e5_run, "head_map").to_json())
    without = [set(trace["marker"]["color"]) == {role_colour(NONE)} for trace in drawing["data"] if "text" in trace]
    assert without == sorted(without, reverse=True)
    assert len(set(without)) == 2
    titles = [drawing["layout"][legend]["title"] for legend in ("legend", "legend2")]
    assert [title["text"] for title in titles] == ["colour: role", "shape: by the paper’s thresholds"]


def test_the_index_has_every_head_once_the_strongest_of_a_role_first():
    def head(number: int, *roles: Role) -> HeadProfile:
        return HeadProfile(HeadRef("", 0, number), roles)

    weak, strong, other = head(0, Role("next", 0.5)), head(1, Role("next", 0.9), Role("sep", 0.4)), head(2, Role(NONE, 0.0))
    assert by_role([weak, strong, other]) == {"next": [strong, weak], NONE: [other]}
    assert strong.file == "L0H1.html"


def test_what_was_measured_is_read_back_and_every_head_has_a_rank_and_texts(tmp_path):
    measured().save(tmp_path)
    again = open_measured(tmp_path)
    every = profiles(again.run)
    assert [head.head for head in every] == [HeadRef("", layer, head) for layer in range(LAYERS) for head in range(HEADS)]
    assert sorted(head.rank for head in every if head.rank) == list(range(1, LAYERS * HEADS + 1))
    for head in every:
        assert len(head.examples) == 2
        assert all((head.relations, head.reference, head.nearest, head.position_alone, head.shares, head.entropy, head.paper_rule))
    assert [trace.text.tokens for trace in again.examples] == [trace.text.tokens for trace in measured().examples]


@pytest.fixture(scope="module")
def e5_run(e5_small):
    kinds = (el.statistics.AverageAttention, el.statistics.Entropy, el.statistics.PositionAlone, el.statistics.HeadDistances)
    return el.analyse(e5_small, el.corpora.sample_text().split("\n\n")[:12], [kind() for kind in kinds])


def test_no_page_says_two_things_about_one_head(e5_run, tmp_path):
    """Figure 6, the gallery, the heads worth a look and the report: each by the roles of the head's profile, and by no other."""
    every = {profile.head: profile for profile in profiles(e5_run)}
    assert sum(profile.role.name == "cls" and profile.paper_rule == "none of these" for profile in every.values()) > 3, "they differ"
    drawn = {}
    for trace in json.loads(figure(e5_run, "head_map").to_json())["data"]:
        if "text" in trace:
            drawn |= {text.split(" · ")[0]: (text, colour) for text, colour in zip(trace["text"], trace["marker"]["color"], strict=True)}
    model = ModelPages("e5-small", "", measured(), list(every.values()))
    index = "".join(model_page(model, Words()))
    for number, (head, profile) in enumerate(every.items()):
        sentences = [role.text(Words()) for role in profile.roles]
        text, colour = drawn[str(head)]
        assert colour == role_colour(profile.role.name)
        assert Words()(f"role.name.{profile.role.name}") in text
        page = "".join(head_page(model, number, Words()))
        assert all(sentence in page for sentence in sentences)
        others = [rule.role for rule in RULES if rule.unit == "share" and rule.role not in {role.name for role in profile.roles}]
        assert not [role for role in others if Words().messages[f"role.does.{role}"].split(":")[0] + ":" in page.split("<h2>")[0]]
        assert f'title="{head}: {sentences[0]}"' in index
    for notable in notable_heads(e5_run):
        assert {reason for reason in notable.reasons if isinstance(reason, Role)} <= set(every[notable.head].roles)
    e5_run.save(tmp_path)
    report = write_report(tmp_path).read_text(encoding="utf-8")
    assert all(notable.why(Words()) in report for notable in notable_heads(e5_run))


def one_card_below_the_other(run: object) -> None:
    """What AppTest runs: the facts on every head's card."""
    from dataclasses import replace

    from eyeline.measure.heads.profile import profiles
    from eyeline.measure.runs.run import Run
    from eyeline.show.app.corpus_run import _facts
    from eyeline.words import Words

    assert isinstance(run, Run)
    for profile in profiles(run):
        _facts(Words(), replace(profile, nearest=()), "run", [])  # its buttons have a fixed name: a page has one card


def test_the_card_of_every_head_says_its_roles_and_one_line_of_the_papers_rule(e5_run):
    page = AppTest.from_function(one_card_below_the_other, default_timeout=120, kwargs={"run": e5_run}).run()
    assert not page.exception
    lists = [block.value for block in page.markdown if block.value.startswith("- ")]
    every = profiles(e5_run)
    assert lists == ["\n".join(f"- {escaped(role.text(Words()))}" for role in profile.roles) for profile in every]
    rules = [caption.value for caption in page.caption if "Clark" in caption.value]
    behaviours = [Words().name("behaviour", profile.paper_rule) for profile in every]
    assert rules == [Words()("corpus.paper_rule", rule=behaviour) for behaviour in behaviours]


def test_a_previous_token_head_is_nearly_all_position_and_a_head_that_rests_is_not(e5_run):
    every = profiles(e5_run)
    explained = [max(every, key=lambda head: (head.shares or {})[target]).position_alone or 0.0 for target in ("previous", "cls")]
    assert explained[0] > 0.9
    assert explained[1] < 0.6


def test_a_threshold_is_met_by_its_own_value():
    assert all(has(rule.role, rule.least) and not has(rule.role, rule.least - 1e-6) for rule in RULES)
