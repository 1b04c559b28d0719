"""Pictures saved from the page: what their colours mean, and a PDF that is drawn and not a photograph."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable

import pytest

from eyeline.plots.palette import head_colour

from . import made_up, made_up_space
from .conftest import Shown, saved


def operators(pdf: bytes) -> str:
    """What the page of a PDF draws."""
    number = re.search(rb"/Contents (\d+) 0 R", pdf)
    assert number
    start = pdf.index(b"\n%s 0 obj" % number[1])
    return zlib.decompress(pdf[pdf.index(b"stream\n", start) + 7 :]).decode("latin1")


def test_a_picture_of_several_heads_says_which_colour_is_which(show: Callable[..., Shown]) -> None:
    shown = show(made_up.view("head", 8, layers=1, heads=3))
    drawn = saved(shown, "svg").read_text(encoding="utf-8")
    for head in range(3):
        assert f">L0·H{head}<" in drawn
        assert f'fill="{head_colour(head)}"' in drawn
    shown.page.locator("[data-head='1']").dblclick()
    shown.until("state.heads.join() === '1'")
    assert ">L0·H1<" not in saved(shown, "svg").read_text(encoding="utf-8")  # the caption names the only head


def test_a_pdf_has_a_curve_for_each_line_and_its_tokens_as_text(show: Callable[..., Shown]) -> None:
    shown = show(made_up.view("head", 8, layers=1, heads=2))
    lines = len(shown.scene["lines"])
    pdf = saved(shown, "pdf").read_bytes()
    drawn = operators(pdf)
    assert len(re.findall(r" c( S)?$", drawn, re.MULTILINE)) == lines
    assert "(quick) Tj" in drawn
    assert drawn.count("([CLS]) Tj") == 2
    assert b"/Image" not in pdf


@pytest.mark.parametrize("kind", ["model", "neuron", "space"])
def test_the_words_of_every_view_are_text_in_its_pdf(show: Callable[..., Shown], kind: str) -> None:
    views = {
        "model": lambda: made_up.view("model", 8, layers=2, heads=2),
        "neuron": lambda: made_up.neurons(8),
        "space": lambda: made_up_space.view(state={"opened": True}),
    }
    drawn = operators(saved(show(views[kind]()), "pdf").read_bytes())
    words = {"model": "(H1) Tj", "neuron": "(quick) Tj", "space": "(quick) Tj"}
    assert words[kind] in drawn


def test_letters_that_no_font_of_pdf_has_are_still_drawn(show: Callable[..., Shown]) -> None:
    pdf = saved(show(made_up.view("head", 20, layers=1, heads=1, strange=True)), "pdf").read_bytes()
    assert b"/SMask" in pdf
    assert "/I0 Do" in operators(pdf)


def test_faint_lines_are_raised_on_the_dark_page(show: Callable[..., Shown]) -> None:
    shown = show(made_up.view("head", 8, layers=1, heads=1))

    def faintest() -> float:
        drawn = saved(shown, "svg").read_text(encoding="utf-8")
        return min(float(opacity) for opacity in re.findall(r'stroke-opacity="([^"]*)"', drawn))

    light = faintest()
    shown.page.locator("select[name=theme]").select_option("dark")
    shown.until("state.theme === 'dark'")
    assert faintest() > 1.3 * light
