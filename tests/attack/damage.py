"""Damaged files of our own formats: bits flipped, ends cut off, blocks zeroed, bytes added, one format in the place of another."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import eyeline as el
from eyeline.measure.runs.run import FACTS_FILE
from eyeline.measure.runs.trained import FILE as PROBES
from eyeline.measure.statistics.loop import FILE as STATE
from eyeline.measure.statistics.loop import load_state
from tests.attack.family import Family
from tests.laws.statistics import new_tiny_model
from tests.models.families import tiny_tokenizer
from tests.models.test_onnx_weights import read_or_refuse, small_graph

TEXTS = ["the cat sat on the mat .", "a dog ran home", "it purred , and sat on a very long mat ."]
#: A view of an object that is equal for equal objects.
Look = Callable[[Path], object]


def damaged(data: bytes, count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """`count` single-bit flips, and a quarter as many of each other kind of damage."""
    draw = random.Random(seed)  # noqa: S311 - a seeded choice, not a secret
    for _ in range(count):
        at, bit = draw.randrange(len(data)), draw.randrange(8)
        yield f"bit {bit} of byte {at}", data[:at] + bytes([data[at] ^ (1 << bit)]) + data[at + 1 :]
    for _ in range(count // 4):
        at = draw.randrange(len(data))
        yield f"cut at {at}", data[:at]
        end = min(len(data), at + draw.randrange(1, 64))
        yield f"bytes {at} to {end} zeroed", data[:at] + bytes(end - at) + data[end:]
        yield f"noise at {at}", data[:at] + draw.randbytes(draw.randrange(1, 64)) + data[at:]


def damage(family: Family, path: Path, look: Look, count: int) -> None:
    """Damage a file again and again. Reading it must end in our error, or in the object that was written."""
    data, seen = path.read_bytes(), look(path)
    for number, (what, changed) in enumerate(damaged(data, count, seed=len(data))):
        if changed == data:
            continue
        path.write_bytes(changed)
        family.check(f"{path.name}, {number}: {what}", lambda: None if look(path) == seen else "opened as something else")
    path.write_bytes(data)


def run_of(folder: Path) -> object:
    run = el.runs.open_run(folder)
    return repr(run), {name: table.to_csv() for name, table in run.tables.items()}


def trace_of(path: Path) -> object:
    trace = el.traces.open_trace(path)
    return trace.model, trace.text, [(name, stack.weights_by_layer[0].tobytes(), stack.layers) for name, stack in trace.stacks.items()]


def space_of(path: Path) -> object:
    space = el.runs.open_space(path)
    stacks = [(name, stack.queries, stack.keys) for name, stack in space.stacks.items()]
    return space.model, [(name, None if queries is None else queries.tobytes(), keys.tobytes()) for name, queries, keys in stacks]


def probes_of(path: Path, model: el.Model) -> object:
    return el.probes.open_probe(path, model=model).parse(TEXTS[0]).scores.tobytes()


def attack_files(folder: Path, count: int) -> list[Family]:
    """Traces, spaces, runs (facts, tables, example), and the sums of an unfinished run."""
    rule = "our error, or the object that was written"
    model = new_tiny_model()
    statistics = [el.statistics.Entropy(), el.statistics.AverageAttention()]
    model.trace(TEXTS[0], TEXTS[1]).save(folder / "cat.safetensors")
    el.space(model, TEXTS, project="pca").save(folder / "space.safetensors")
    run = el.analyse(model, TEXTS, statistics, folder=folder / "run")
    run.save(folder / "run")

    traces = Family("damaged traces", rule)
    damage(traces, folder / "cat.safetensors", trace_of, count)
    spaces = Family("damaged spaces", rule)
    damage(spaces, folder / "space.safetensors", space_of, count)
    runs = Family("damaged run folders: facts, tables, example", rule)
    files = [FACTS_FILE, *(f"tables/{name}.csv" for name in run.tables), "example.safetensors"]
    for name in files:
        if (folder / "run" / name).is_file():
            damage(runs, folder / "run" / name, lambda _: run_of(folder / "run"), count // len(files))
    sums = Family("damaged sums of an unfinished run", rule)

    def state_of(path: Path) -> object:
        state = load_state(path.parent, [item.fresh() for item in statistics])
        return state and (repr(state.position), [{k: v.tobytes() for k, v in item.state().items()} for item in state.statistics])

    damage(sums, folder / "run" / STATE, state_of, count)
    probes = Family("damaged trained probes", rule)
    test, train = el.treebanks.sample_treebank(6), el.treebanks.sample_treebank(12, seed=1)
    el.probe(model, test, train=train, seeds=1, epochs=1).save(folder / "probed")
    damage(probes, folder / "probed" / PROBES, lambda path: probes_of(path, model), count)
    graphs = attack_graphs(folder / "graphs", count // 4)
    return [traces, spaces, runs, sums, probes, graphs, attack_swaps(folder), attack_cache(folder / "cache", count // 4)]


def attack_swaps(folder: Path) -> Family:
    """Each of our files, and three of other people, in the place of each other."""
    family = Family("one format in the place of another", "our error")
    (folder / "empty").write_bytes(b"")
    (folder / "zip").write_bytes(b"PK\x03\x04" + bytes(200))
    (folder / "pickle").write_bytes(b"\x80\x04\x95\x1d\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94\x93\x94.")
    sources = ["cat.safetensors", "space.safetensors", f"run/{STATE}", f"run/{FACTS_FILE}", "empty", "zip", "pickle"]
    openers: dict[str, Callable[[Path], object]] = {
        "cat.safetensors": el.traces.open_trace,
        "space.safetensors": el.runs.open_space,
        f"run/{FACTS_FILE}": lambda path: el.runs.open_run(path.parent),
    }
    for target, opens in openers.items():
        kept = (folder / target).read_bytes()
        for source in sources:
            if source == target:
                continue
            shutil.copyfile(folder / source, folder / target)
            family.check(f"{source} as {target}", lambda opens=opens, path=folder / target: "opened" if opens(path) else None)
            (folder / target).write_bytes(kept)
    return family


def attack_cache(folder: Path, count: int) -> Family:
    """A damaged entry of the cache is computed again."""
    family = Family("damaged cache entries", "the same attention, computed again")
    model = new_tiny_model()
    model.hf.save_pretrained(folder / "model")
    tiny_tokenizer().save_pretrained(folder / "model")
    cached = el.load(folder / "model", cache=folder / "traces")
    expected = cached.trace(TEXTS[0]).weights
    entry = next((folder / "traces").rglob("*.safetensors"))
    data = entry.read_bytes()
    for number, (what, changed) in enumerate(damaged(data, count, seed=5)):
        entry.write_bytes(changed)
        family.check(f"{number}: {what}", lambda: None if (cached.trace(TEXTS[0]).weights == expected).all() else "another map came back")
    return family


def attack_graphs(folder: Path, count: int) -> Family:
    """The graph of a packed model, and the file with its weights."""
    family = Family("damaged graphs of packed models", "our error, or weights of the right names and shapes")
    for where in ("within", "beside"):
        small_graph(folder / where, external=where == "beside")
        for path in sorted((folder / where).glob("model.onnx*")):
            data = path.read_bytes()
            for number, (what, changed) in enumerate(damaged(data, count, seed=len(data))):

                def attack(path: Path = path, changed: bytes = changed) -> None:
                    path.write_bytes(changed)
                    read_or_refuse(path.parent)

                family.check(f"{where}, {path.name}, {number}: {what}", attack)
            path.write_bytes(data)
    return family
