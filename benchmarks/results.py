"""Every table of docs/results.md, benchmarks/README.md and README.md, measured again: `make results`.

    python -m benchmarks.results                   all that this machine can do, one after the other
    python -m benchmarks.results --list            what that is, how long each takes, and what it needs
    python -m benchmarks.results capture syntax    these alone
    python -m benchmarks.results --at-most 10      those of at most ten minutes
    python -m benchmarks.results --tables          the tables again, from the JSON that is there

Run it on a machine that does nothing else. Each result names the commit, the day and the machine it was measured with.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.cost import as_tables as of_costs
from benchmarks.output import DATA, ROOT, made_line, put_section
from benchmarks.pages import as_tables as of_pages
from benchmarks.peers import as_tables as of_peers

HERE = ROOT / "benchmarks"
OUT = ROOT / "out" / "results"


@dataclass(frozen=True)
class Result:
    """One section, and the command that measures it again.

    command   what follows `python -m`; {data}: the folder of corpora, {out}: a folder for what is not kept
    file      the JSON that it writes, in benchmarks/; table: its table, as Markdown. Others write their section themselves
    inputs    files of the folder of corpora
    minutes   a rough guess, for two quiet cores
    needs     "" (a processor), "gpu", "bertviz" (its environment, named by --bertviz and --libraries), "browser" or "nginx"
    """

    name: str
    page: str
    command: str
    minutes: float
    inputs: tuple[str, ...] = ()
    needs: str = ""
    file: str = ""
    table: Callable[[dict[str, Any]], str] | None = None


RESULTS, BENCHMARKS, SCALE, TRAINING = "docs/results.md", "benchmarks/README.md", "docs/how-to/scale.md", "docs/how-to/training.md"
WIKITEXT = "wikitext2-test.txt.gz"
TREEBANKS = ("en_ewt-dev.conllu.gz", "en_ewt-train.conllu.gz", "ja_gsd-dev.conllu.gz", "ko_gsd-dev.conllu.gz")
EVERY = (
    Result("capture", BENCHMARKS, "benchmarks.cost.capture", 6, file="cost/capture.json", table=of_costs.capture),
    Result("corpus", BENCHMARKS, "benchmarks.cost.corpus", 4, file="cost/corpus.json", table=of_costs.corpus),
    Result(
        "grammar", BENCHMARKS, "benchmarks.cost.grammar --repeats 6", 3, ("en_ewt-dev.conllu.gz",),
        file="cost/grammar.json", table=of_costs.grammar,
    ),
    Result("probe", BENCHMARKS, "benchmarks.cost.probe", 2, file="cost/probe.json", table=of_costs.probe),
    Result("space", BENCHMARKS, "benchmarks.cost.space --model e5-small", 2, file="cost/space.json", table=of_costs.space),
    Result("causes", BENCHMARKS, "benchmarks.cost.causes --repeats 1", 12, file="cost/causes.json", table=of_costs.causes),
    Result("peers_causes", RESULTS, "benchmarks.peers.causes", 15, file="peers/causes.json", table=of_peers.causes),
    Result("start", BENCHMARKS, "benchmarks.cost.start", 1, file="cost/start.json", table=of_costs.start),
    Result("training", TRAINING, "benchmarks.cost.training", 2, file="cost/training.json", table=of_costs.training),
    Result("engines", SCALE, "benchmarks.cost.engines", 5, file="cost/engines.json", table=of_costs.engines),
    Result(
        "switched_off", BENCHMARKS, "benchmarks.cost.switched_off", 2, needs="browser",
        file="cost/switched_off.json", table=of_costs.switched_off,
    ),
    Result("app", BENCHMARKS, "benchmarks.pages.app", 4, needs="browser", file="pages/app.json", table=of_pages.app),
    Result("two_apps", BENCHMARKS, "benchmarks.pages.app --apps 2", 2, needs="nginx", file="pages/two_apps.json", table=of_pages.two_apps),
    Result("clicks", BENCHMARKS, "benchmarks.pages.clicks", 3, needs="browser", file="pages/clicks.json", table=of_pages.clicks),
    Result("first_screen", BENCHMARKS, "benchmarks.pages.first_screen", 3, needs="browser"),
    Result("opening", BENCHMARKS, "benchmarks.pages.opening", 2, needs="browser", file="pages/opening.json", table=of_pages.opening),
    Result("gallery", BENCHMARKS, "benchmarks.pages.gallery", 2, needs="browser", file="pages/gallery.json", table=of_pages.gallery),
    Result(
        "space_view", BENCHMARKS, "benchmarks.pages.space_view", 3, needs="browser",
        file="pages/space_view.json", table=of_pages.space_view,
    ),
    Result("views", BENCHMARKS, "benchmarks.pages.views {bertviz}", 12, needs="bertviz", file="pages/views.json", table=of_pages.views),
    Result("gpu", BENCHMARKS, "benchmarks.cost.gpu", 5, needs="gpu", file="cost/gpu.json", table=of_costs.gpu),
    Result("generation", RESULTS, "benchmarks.cost.generation", 15, file="cost/generation.json", table=of_costs.generation),
    Result(
        "generation_gpu", BENCHMARKS, "benchmarks.cost.generation --gpu", 5, needs="gpu",
        file="cost/generation_gpu.json", table=of_costs.generation,
    ),
    Result("gpu_section", RESULTS, "benchmarks.cost.gpu --write benchmarks/cost/gpu.json", 0.1),
    Result("today", RESULTS, "benchmarks.cost.today", 3, file="cost/today.json"),
    Result("today_section", RESULTS, "benchmarks.cost.today --write benchmarks/cost/today.json", 0.1),
    Result("section 3", RESULTS, f"benchmarks.tables.corpus --model e5-small --corpus {{data}}/{WIKITEXT} --limit 150", 3, (WIKITEXT,)),
    Result("syntax", RESULTS, "benchmarks.tables.grammar --model e5-small --limit 700", 4, TREEBANKS),
    Result("coreference", RESULTS, "benchmarks.tables.coreference --model e5-small --split dev", 6, ("ontogum-dev.jsonl.gz",)),
    Result("probes", RESULTS, "benchmarks.tables.probes --model e5-small --limit 3000 --seeds 1 --test 700", 22, TREEBANKS[:2]),
    Result(
        "space beside", RESULTS,
        "benchmarks.tables.space --model minilm --tokens 2500 --no-slow --print --keep benchmarks/tables/space_minilm.json --again",
        8, ("gap-development.tsv.gz",),
    ),
    Result(
        "space tables", RESULTS,
        "benchmarks.tables.space --model e5-small --tokens 2500 --keep benchmarks/tables/space_e5-small.json --again"
        " --beside benchmarks/tables/space_minilm.json",
        25, ("gap-development.tsv.gz",),
    ),
    Result("importance", RESULTS, f"benchmarks.tables.importance --corpus {{data}}/{WIKITEXT} --limit 200", 5, (WIKITEXT,)),
    Result("induction", RESULTS, "benchmarks.tables.induction", 4),
    Result("faithfulness", RESULTS, "benchmarks.tables.faithfulness --reviews 60 --next 60 --keep {out}/faithfulness", 45,
           ("en_ewt-test.conllu.gz",)),
)  # fmt: skip


#: The tables of README.md, benchmarks/README.md and docs/how-to/scale.md: a section → its JSON, how it is written, and on which page.
TABLES = {result.name: (result.file, result.table, result.page) for result in EVERY if result.table is not None}
TABLES["comparison"] = ("pages/views.json", of_pages.comparison, "README.md")


def section_text(name: str) -> str:
    """The table of a section, and where its numbers come from: no number is typed by hand."""
    file, table, _ = TABLES[name]
    data = json.loads((HERE / file).read_text(encoding="utf-8"))
    return f"{table(data)}\n\n{made_line(data.get('made_with'))}"


def write_tables() -> None:
    """Every table whose JSON is there; one that was never measured keeps what stands."""
    for name, (file, _, page) in TABLES.items():
        if (HERE / file).exists():
            put_section(name, section_text(name), ROOT / page, origin=None)


def missing(result: Result, bertviz: str = "") -> str:
    """Why this machine cannot measure it; empty where it can."""
    absent = [name for name in result.inputs if not (DATA / name).exists()]
    if absent:
        return f"needs {', '.join(absent)} in {DATA} (EYELINE_DATA names another folder)"
    if result.needs in ("browser", "bertviz") and shutil.which("chromium") is None:
        return "needs Chromium"
    if result.needs == "nginx" and shutil.which("nginx") is None:
        return "needs nginx"
    if result.needs == "bertviz" and not bertviz:
        return "needs BertViz in an environment of its own: --bertviz and --libraries, see benchmarks/pages/views.py"
    if result.needs == "gpu" and not _has_gpu():
        return "needs a GPU"
    return ""


def _has_gpu() -> bool:
    if importlib.util.find_spec("torch") is None:
        return False
    import torch

    return bool(torch.cuda.is_available())


def command_of(result: Result, bertviz: str = "") -> list[str]:
    output = ["-o", f"benchmarks/{result.file}"] if result.file else []
    return [sys.executable, "-m", *shlex.split(result.command.format(data=DATA, out=OUT, bertviz=bertviz)), *output]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="of results; all without them")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--tables", action="store_true")
    parser.add_argument("--at-most", type=float, metavar="MINUTES")
    parser.add_argument("--bertviz", help="the python of an environment with bertviz 1.4.1")
    parser.add_argument("--libraries", help="a folder with jquery, d3 and requirejs from npm")
    given = parser.parse_args(arguments)
    if given.tables:
        write_tables()
        return 0
    unknown = set(given.names) - {result.name for result in EVERY}
    if unknown:
        parser.error(f"No result is called {', '.join(sorted(unknown))}. Choices: {', '.join(result.name for result in EVERY)}")
    bertviz = (
        f"--bertviz {shlex.quote(given.bertviz)} --libraries {shlex.quote(given.libraries)}" if given.bertviz and given.libraries else ""
    )
    chosen = [result for result in EVERY if not given.names or result.name in given.names]
    chosen = [result for result in chosen if given.at_most is None or result.minutes <= given.at_most]
    failed = []
    for result in chosen:
        reason = missing(result, bertviz)
        print(
            f"{result.name} ({result.page}, about {result.minutes:g} min): {shlex.join(command_of(result, bertviz)[1:])}"
            f"{reason and f' ({reason})'}",
            flush=True,
        )
        if given.list or reason:
            continue
        start = time.perf_counter()
        OUT.mkdir(parents=True, exist_ok=True)
        log = OUT / f"{result.name.replace(' ', '_')}.log"
        with log.open("wb") as output:
            code = subprocess.run(command_of(result, bertviz), cwd=ROOT, stdout=output, stderr=subprocess.STDOUT).returncode
        print(f"  {'done' if code == 0 else f'failed with {code}, see {log}'} in {time.perf_counter() - start:.0f} s", flush=True)
        failed += [result.name] if code else []
    if not given.list:
        write_tables()
    if failed:
        print(f"Failed, so that the old numbers stand: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
