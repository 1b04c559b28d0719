"""Damaged files of ours, mutated at random: each is refused with our error, or opens as an equal object. Never a silent change."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import eyeline as el
from eyeline.errors import EyelineError, StorageError
from eyeline.measure.runs.facts import facts_to_json
from eyeline.measure.statistics.loop import FILE, load_state
from eyeline.storage.sealed import read_json, write_sealed_json
from tests.laws.statistics import tiny_model
from tests.measure.runs.test_run_parts import made_up

TEXTS = ["the cat sat on the mat .", "a dog ran home ."]
Mutation = Callable[[bytes], bytes]


def mutations() -> st.SearchStrategy[Mutation]:
    """Bit flips, truncation, insertion and removal of bytes, at a position given as a share of the file."""
    index = st.floats(0, 1, exclude_max=True)

    def flip(where: float, bit: int) -> Mutation:
        def mutate(data: bytes) -> bytes:
            i = int(where * len(data))
            return data[:i] + bytes([data[i] ^ (1 << bit)]) + data[i + 1 :]

        return mutate

    def insert(where: float, new: bytes) -> Mutation:
        return lambda data: data[: int(where * len(data))] + new + data[int(where * len(data)) :]

    return st.one_of(
        st.builds(flip, index, st.integers(0, 7)),
        st.builds(flip, st.floats(0, 0.3), st.integers(0, 7)),  # headers
        st.builds(insert, index, st.binary(min_size=1, max_size=8)),
        st.builds(lambda where: lambda data: data[: int(where * len(data))], index),
        st.builds(
            lambda where, n: lambda data: data[: int(where * len(data))] + data[int(where * len(data)) + n :], index, st.integers(1, 9)
        ),
    )


def arrays_of(result: Any) -> Any:
    """All that a result holds, in a form that can be compared."""
    if isinstance(result, el.Trace):
        stacks = {
            name: (
                stack.query_text,
                stack.key_text,
                stack.layers,
                stack.scales,
                stack.plain,
                stack.level,
                [a.tobytes() for a in stack.weights_by_layer],
            )
            for name, stack in result.stacks.items()
        }
        return result.model, dict(result.about), stacks
    if isinstance(result, el.Space):
        points = {
            name: (s.layers, s.heads, s.query_tokens, s.keys.tobytes(), s.keys.shape, sorted(s.facts)) for name, s in result.stacks.items()
        }
        return result.model, result.of, result.dims, result.facts, points
    if isinstance(result, el.Run):
        return [(facts_to_json(p.facts), {name: t.to_csv() for name, t in p.tables.items()}) for p in result.parts.values()]
    return [{name: (a.dtype.str, a.shape, a.tobytes()) for name, a in item.state().items()} for item in result.statistics], result.position


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("originals")
    model = tiny_model()
    model.trace(TEXTS[0], layers=[0]).save(folder / "trace.safetensors")
    el.space(model, TEXTS, layers=[0], heads=[0], project="pca").save(folder / "space.safetensors", vectors=False)
    el.analyse(model, TEXTS, [el.statistics.Entropy()], layers=[0], folder=folder / "state")
    made_up("syntax", {"s": 1, "t": -3}).save(folder / "run")
    return folder


FILES: dict[str, tuple[str, str, Callable[[Path], Any]]] = {
    "trace": ("trace.safetensors", "trace.safetensors", el.open),
    "space": ("space.safetensors", "space.safetensors", el.open),
    "state": ("state", f"state/{FILE}", lambda path: load_state(path, [el.statistics.Entropy()])),
    "run.json": ("run", "run/run.json", el.open),
    "table": ("run", "run/tables/t.csv", el.open),
}


@pytest.mark.parametrize("name", FILES)
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(mutation=mutations())
def test_a_mutated_file_is_refused_or_equal(originals: Path, name: str, mutation: Mutation) -> None:
    whole, file, opened = FILES[name]
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        if (originals / whole).is_dir():
            shutil.copytree(originals / whole, copy / whole)
        (copy / file).write_bytes(mutation((originals / file).read_bytes()))
        try:
            result = opened(copy / whole)
        except EyelineError:
            return
        assert arrays_of(result) == arrays_of(opened(originals / whole))


@pytest.mark.slow
def test_every_single_bit_of_the_sums_of_a_run_is_guarded(originals: Path, tmp_path: Path) -> None:
    data, expected = (originals / "state" / FILE).read_bytes(), arrays_of(load_state(originals / "state", [el.statistics.Entropy()]))
    for position in range(0, len(data) * 8, 1 if len(data) < 2000 else 5):
        changed = bytearray(data)
        changed[position // 8] ^= 1 << (position % 8)
        (tmp_path / FILE).write_bytes(changed)
        try:
            result = load_state(tmp_path, [el.statistics.Entropy()])
        except StorageError:
            continue
        assert arrays_of(result) == expected, position


def leaves(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [path, *(leaf for key, value in items for leaf in leaves(value, (*path, key)))]


ODD = [None, True, -1, 10**30, 1.5, "", "..", "a/b", "\0", [], {}, [[]], {"x": []}]


def test_hostile_values_in_a_run_json_with_a_valid_checksum_are_our_errors_or_a_run(tmp_path: Path) -> None:
    """Whoever writes a run.json by hand can also write its checksum: every value is checked for itself."""
    made_up("syntax", {"s": 1}).save(tmp_path)
    data = read_json(tmp_path / "run.json")
    outside = {path: path.read_bytes() for path in tmp_path.parent.glob("*.csv")}
    for path in leaves(data)[1:]:
        for odd in ODD:
            changed = json.loads(json.dumps(data))
            at = changed
            for key in path[:-1]:
                at = at[key]
            at[path[-1]] = odd
            write_sealed_json(tmp_path / "run.json", changed)
            try:
                el.runs.open_run(tmp_path)
            except EyelineError:
                continue
    assert {path: path.read_bytes() for path in tmp_path.parent.glob("*.csv")} == outside


NAMES = '"model": {"name": "m"}, "corpus": {"name": "c"}'
MALFORMED = [
    "{", "[]", "3", '{"parts": 3}', '{"parts": {}}', '{"parts": {"probe": {}}}', '{"kind": "syntax"}', "[" * 100_000,
    '{"a": ' + "9" * 5000 + "}", f'{{"tables": ["../../x"], {NAMES}}}', f'{{"tables": ["/etc/passwd"], {NAMES}}}', "\xed\xa0\x80",
]  # fmt: skip


@pytest.mark.parametrize("text", MALFORMED)
def test_a_malformed_run_json_is_our_error_on_open_and_on_save(text: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (tmp_path / "x.csv").write_text("secret\n1\n")
    (folder / "run.json").write_bytes(text.encode("latin1"))
    with pytest.raises(StorageError):
        el.runs.open_run(folder)
    with pytest.raises(StorageError):
        made_up("probe", {"p": 1}).save(folder)
    assert (tmp_path / "x.csv").read_text() == "secret\n1\n"


def test_a_table_with_a_name_that_leads_out_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="is no name for a file"):
        made_up("probe", {"../../x": 1}).save(tmp_path / "run")
    assert not list(tmp_path.glob("*.csv"))


@pytest.mark.parametrize("cell", ["9" * 5000, "x" * 200_000, "a\0b", '"'])
def test_odd_cells_of_a_table_are_our_error_or_read_as_they_are(cell: str, tmp_path: Path) -> None:
    from eyeline.measure.runs.table import open_table

    (tmp_path / "x.csv").write_text(f"name\n{cell}\n")
    try:
        table = open_table(tmp_path / "x.csv")
    except StorageError:
        return
    assert str(np.asarray(table.columns["name"][0]))


def test_cells_that_a_spreadsheet_would_run_stay_as_they_are_and_numbers_stay_numbers(tmp_path: Path) -> None:
    from eyeline.measure.runs.table import open_table

    table = el.runs.Table({"token": ["=1+1", "+x", "-", "@", "'=a", "'"], "x": [-0.3, 1.0, -2.0, 3.0, 4.0, 5.0]})
    table.save(tmp_path / "x.csv")
    again = open_table(tmp_path / "x.csv")
    assert again.columns["token"] == table.columns["token"]
    assert again.columns["x"] == table.columns["x"]
    lines = (tmp_path / "x.csv").read_text().splitlines()
    assert lines[1].startswith("'=1+1,-0.3")
