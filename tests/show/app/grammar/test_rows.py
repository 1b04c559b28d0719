"""A click anywhere in a row of table 1 opens its relation."""

from __future__ import annotations

import pytest
import streamlit as st

from eyeline.show.app.grammar_run import _picked


@pytest.mark.parametrize("selection", [{"rows": [1], "cells": []}, {"rows": [], "cells": [(1, "accuracy")]}])
def test_a_click_on_the_box_or_on_any_cell_of_a_row_picks_its_relation(selection, monkeypatch):
    monkeypatch.setattr(st, "session_state", {})
    rows = [{"relation": "all"}, {"relation": "det"}]
    assert _picked({"selection": selection}, rows, "run") == "det"
    assert _picked({"selection": selection}, rows, "run") is None, "the same click is not taken twice"
    assert _picked({"selection": {}}, rows, "run") is None
    assert _picked({"selection": selection}, rows, "run") == "det", "after a click beside the table the same row opens again"
