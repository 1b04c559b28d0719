"""A head's roles come from its numbers, in a fixed order."""

from __future__ import annotations

from eyeline.heads import HeadRef
from eyeline.results.gallery.measured import open_measured
from eyeline.results.gallery.portrait import Portrait, Reference, Relation, Role, _roles, by_role, portraits
from eyeline.results.head_card import HeadCard
from tests.analyses.gallery.tiny import HEADS, LAYERS, measured


def card(shares: dict[str, float], does: tuple[str, ...] = ()) -> HeadCard:
    return HeadCard("", 0, 0, shares, 1.0, does, ())


def test_a_look_at_a_neighbour_comes_before_grammar_and_grammar_before_a_sink():
    relation = Relation("det", "dependent-to-governor", 90.0, 60.0)
    roles = _roles(card({"sep": 0.5, "previous": 0.4}, ("sep", "previous")), [relation], None)
    assert [role.kind for role in roles] == ["previous", "relation", "sep"]
    assert roles[1] == Role("relation", 30.0, "det")


def test_a_relation_that_is_seldom_found_gives_no_role_and_a_head_without_any_has_none():
    rare, like_an_offset = Relation("advcl", "", 40.0, 0.0), Relation("det", "", 60.0, 55.0)
    assert _roles(card({}), [rare, like_an_offset], None) == (Role("none", 0.0),)


def test_pronouns_alone_are_enough_for_reference():
    assert _roles(card({}), [], Reference("", 50.0, 80.0, 95.0, 70.0)) == (Role("antecedent", 25.0),)
    assert _roles(card({}), [], Reference("", 50.0, 80.0, 75.0, 70.0))[0].kind == "none"


def test_the_first_token_is_not_named_beside_cls():
    assert [role.kind for role in _roles(card({"cls": 0.6, "first": 0.6}, ("cls", "first")), [], None)] == ["cls"]


def test_the_index_has_every_head_once_the_strongest_of_a_role_first():
    def head(number: int, *roles: Role) -> Portrait:
        return Portrait(HeadRef("", 0, number), card({}), roles, (), None, None, None, ())

    weak, strong, other = head(0, Role("next", 0.5)), head(1, Role("next", 0.9), Role("sep", 0.4)), head(2, Role("none", 0.0))
    assert by_role([weak, strong, other]) == {"next": [strong, weak], "none": [other]}
    assert strong.file == "L0H1.html"


def test_what_was_measured_is_read_back_and_every_head_has_a_rank_and_texts(tmp_path):
    measured().save(tmp_path)
    again = open_measured(tmp_path)
    every = portraits(again.run)
    assert [head.head for head in every] == [HeadRef("", layer, head) for layer in range(LAYERS) for head in range(HEADS)]
    assert sorted(head.rank for head in every if head.rank) == list(range(1, LAYERS * HEADS + 1))
    assert all(len(head.examples) == 2 and head.relations and head.reference and head.card.nearest for head in every)
    assert [trace.text.tokens for trace in again.examples] == [trace.text.tokens for trace in measured().examples]
