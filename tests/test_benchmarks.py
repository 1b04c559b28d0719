"""Every benchmark can be started by the command that its first lines name."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

import pytest
from benchmarks import output, results
from benchmarks.cost import gpu, gpu_runs
from benchmarks.cost.capture import candidates
from PIL import Image

ROOT = Path(__file__).parents[1]
#: What can be started. A part of another benchmark has no `main`.
STARTED = [path for path in (ROOT / "benchmarks").glob("*/[!_]*.py") if "def main(" in path.read_text(encoding="utf-8")]
SCRIPTS = sorted(".".join(path.relative_to(ROOT).with_suffix("").parts) for path in STARTED)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_benchmark_can_be_imported_and_names_its_command(name: str):
    module = importlib.import_module(name)
    assert f"python -m {name} " in str(module.__doc__)
    assert callable(module.main)


def test_the_page_of_benchmarks_lists_every_script():
    page = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    assert [name for name in SCRIPTS if f"`{'/'.join(name.split('.')[1:])}.py`" not in page] == []


def test_every_way_that_the_benchmark_of_recording_compares_runs():
    for way in candidates(8, 2).values():
        way.prepare()
        way.run()


def test_what_the_benchmark_of_a_gpu_measures_of_a_model_of_today_runs_on_a_processor_too():
    def once(run):
        run()
        return 1.0

    small = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2}
    model = gpu_runs.decoder_of_today(small, "cpu")
    runs = gpu_runs.today(model, 3, 40, once, lambda: 0)
    assert (runs["streamed"], runs["notices"], runs["ratio"]) == (True, [], 1.0)
    trace = gpu_runs.trace_of_today(model, 20, once)
    assert trace["bytes"] == 3 * 2 * (4 * 20 * 20 + (4 + 2 + 2) * 20 * 8)
    half = gpu_runs.today(gpu_runs.in_float16(model), 1, 40, once, lambda: 0)
    assert half["dtype"] == "float16"
    section = gpu.section_of_today({"runs": [runs, half], "trace": trace}, "processor")
    assert "| 3 x 40 tokens, bfloat16 | 1.00 s | 1.00 s | 1.00 |  | 0.00 GB | no maps |" in section
    assert "| 40 tokens, float16 |" in section
    assert "No run gave a notice." in section


@pytest.mark.parametrize("name", list(results.TABLES))
def test_a_table_is_what_its_json_gives(name: str):
    file, _, page = results.TABLES[name]
    text = (ROOT / page).read_text(encoding="utf-8")
    assert f"<!-- {name} -->" in text
    if (results.HERE / file).exists():
        section = text.partition(f"<!-- {name} -->\n")[2].partition(f"\n<!-- /{name} -->")[0]
        assert section == results.section_text(name), "python -m benchmarks.results --tables writes it"


def test_every_section_of_the_results_and_every_script_has_a_command_that_measures_it_again():
    commands = [result.command for result in results.EVERY]
    assert [name for name in SCRIPTS if not any(command.split()[0] == name for command in commands)] == []
    measured = {name for name in ("gpu", "today") if f"{name}_section" in {result.name for result in results.EVERY}}
    written = set(re.findall(r"<!-- (\w+) -->", (ROOT / "docs" / "results.md").read_text(encoding="utf-8")))
    tables = "\n".join((ROOT / "benchmarks" / "tables" / path.name).read_text() for path in (ROOT / "benchmarks" / "tables").glob("*.py"))
    assert [name for name in written - measured - set(results.TABLES) if f'put_section("{name}"' not in tables] == []


def test_a_result_that_this_machine_cannot_measure_says_why(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(results, "DATA", tmp_path)
    assert results.main(["--list", "syntax", "views"]) == 0
    printed = capsys.readouterr().out
    assert "needs en_ewt-dev.conllu.gz" in printed
    assert "needs BertViz" in printed or "needs Chromium" in printed


def test_numbers_carry_the_commit_they_were_made_with(tmp_path, capsys):
    output.give({"seconds": 1}, tmp_path / "a.json")
    origin = json.loads((tmp_path / "a.json").read_text())["made_with"]
    assert origin == output.made_with()
    page = tmp_path / "page.md"
    page.write_text("# Page\n")
    output.put_section("part", "Text.", page)
    assert f"Text.\n\n{output.made_line(origin)}\n<!-- /part -->" in page.read_text()


def test_every_picture_of_the_documentation_carries_the_commit_it_was_made_with(tmp_path):
    origin = {"commit": "1234567", "date": "2026-11-16"}
    output.save_picture(Image.new("RGB", (2, 2)), tmp_path / "small.png", origin)
    assert output.picture_origin(tmp_path / "small.png") == origin
    pictures = [path for path in output.PICTURES.iterdir() if path.suffix in (".png", ".gif")]
    assert {path.name: path for path in pictures if set(output.picture_origin(path)) != {"commit", "date"}} == {}


def test_every_section_of_the_results_ends_with_its_commit():
    page = output.RESULTS.read_text(encoding="utf-8")
    sections = re.findall(r"<!-- (\w+) -->\n(.*?)<!-- /\1 -->", page, re.DOTALL)
    assert [
        name for name, text in sections if not re.search(r"\nMeasured (with commit [0-9a-f]{7}|before the commit was noted)", text)
    ] == []
