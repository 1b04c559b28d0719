"""A head has one name: printed and read in heads.py, and by what is generated from it."""

import re

import pytest

import eyeline as el
from eyeline.heads import PATTERN_OF_PAGES


@pytest.mark.parametrize("head", [el.HeadRef("", 0, 0), el.HeadRef("cross", 3, 17), el.HeadRef("decoder", 120, 7)])
def test_the_label_of_a_head_is_read_as_the_same_head(head: el.HeadRef) -> None:
    assert el.HeadRef.parse(head.full_label) == head
    assert re.fullmatch(PATTERN_OF_PAGES.replace("?<", "?P<"), head.full_label)


@pytest.mark.parametrize("label", ["", "L3", "L3H7", "L3-H7", "other L3·H7", "L3·H7 ", "3.7", "L3·MLP"])
def test_anything_else_is_no_label(label: str) -> None:
    with pytest.raises(ValueError, match="not the label of a head"):
        el.HeadRef.parse(label)


def test_names_of_files_and_addresses_of_pages_are_those_of_before() -> None:
    assert (el.HeadRef("", 3, 7).file_name, el.HeadRef("cross", 3, 7).file_name) == ("L3-H7", "cross-L3-H7")
    assert el.HeadRef("", 3, 7).page == "L3H7.html"
