"""A link shows the same thing to someone else."""

from __future__ import annotations

import base64
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyeline.show.app.kit.address import LARGEST, Looking, pack, read_address, unpack, write_address

DEFAULT = Looking("The cat sat.", model="minilm")


@pytest.mark.parametrize(
    "looking",
    [
        DEFAULT,
        Looking("The cat sat.", "It purred.", "minilm", "neuron", {"layer": 3, "heads": [7], "query": 2}),
        Looking("猫がマットの上に座った。", model="minilm", view="model", state={"colour_by": "layer", "rows": [0, 1]}),
        Looking("a & b = c? #1 + 100%", model="minilm", state={"heads": [], "direction": "to", "hide_special": True}),
        Looking("word " * 120, "second " * 40, "minilm", "head", {"layer": 0}),
    ],
)
def test_what_is_written_into_an_address_is_read_back(looking):
    parameters, whole = write_address(looking)
    assert whole
    assert read_address(parameters, DEFAULT) == looking


def test_a_text_too_long_for_an_address_is_left_out_and_said_so():
    noise = "".join(chr(0x4E00 + (i * 7919) % 20000) for i in range(2000))
    parameters, whole = write_address(Looking(noise, model="minilm"))
    assert not whole
    assert sum(map(len, parameters.values())) < 2000
    assert read_address(parameters, DEFAULT).text == DEFAULT.text


@given(st.dictionaries(st.sampled_from(["text", "pair", "model", "view", "layer", "heads", "s", "t"]), st.text(max_size=60)))
@settings(max_examples=200, deadline=None)
def test_any_address_can_be_read(parameters):
    looking = read_address(parameters, DEFAULT)
    assert looking.view in ("sentence", "head", "model", "neuron")
    assert isinstance(looking.text, str)


def test_a_packed_text_that_would_fill_the_memory_is_not_unpacked():
    bomb = base64.urlsafe_b64encode(zlib.compress(b'"' + b"a" * 50_000_000 + b'"')).decode()
    assert unpack(bomb) is None
    assert unpack(pack("a" * (LARGEST - 10))) == "a" * (LARGEST - 10)


@pytest.mark.parametrize(
    "state",
    [{"stack": "x"}, {"stack": -1}, {"layer": None}, {"layer": "zz"}, {"layer": True}, {"heads": 7}, {"heads": "zz"}, {"heads": [None]}],
)
def test_positions_that_cannot_be_any_are_left_out_of_a_made_up_link(state):
    assert read_address({"text": "x", "s": pack({**state, "level": "word"})}, DEFAULT).state == {"level": "word"}


def test_what_passes_is_not_in_the_address():
    parameters, _ = write_address(Looking("x", model="m", state={"theme": "dark", "find": "cat", "layer": 1}))
    assert "s" not in parameters


def test_the_head_on_which_a_model_opens_is_not_taken_for_another_model():
    default = Looking("The cat sat.", model="minilm", state={"layer": 5, "heads": [11]})
    assert read_address({}, default).state == {"layer": 5, "heads": [11]}
    assert read_address({"model": "minilm"}, default).state == {"layer": 5, "heads": [11]}
    assert read_address({"model": "smollm2"}, default).state == {}
