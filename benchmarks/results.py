"""Every table of docs/results.md, benchmarks/README.md and README.md, measured again: `make results`.

    python -m benchmarks.results                   all that this machine can do, one after the other
    python -m benchmarks.results --list            what that is, how long each takes, and what it needs
    python -m benchmarks.results capture syntax    these alone
    python -m benchmarks.results --at-most 10      those of at most ten minutes

Run it on a machine that does nothing else. Each result names the commit, the day and the machine it was measured with.
"""

from __future__ import annotations

import argparse
import importlib.util
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass

from benchmarks import written_tables
from benchmarks.output import DATA, ROOT

OUT = ROOT / "out" / "results"


@dataclass(frozen=True)
class Result:
    """One section, and the command that measures it again.

    command   what follows `python -m`; {data}: the folder of corpora, {out}: a folder for what is not kept
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


RESULTS, BENCHMARKS = "docs/results.md", "benchmarks/README.md"
WIKITEXT = "wikitext2-test.txt.gz"
TREEBANKS = ("en_ewt-dev.conllu.gz", "en_ewt-train.conllu.gz", "ja_gsd-dev.conllu.gz", "ko_gsd-dev.conllu.gz")
EVERY = (
    Result("capture", BENCHMARKS, "benchmarks.cost.capture -o benchmarks/cost/capture.json", 6),
    Result("corpus", BENCHMARKS, "benchmarks.cost.corpus -o benchmarks/cost/corpus.json", 4),
    Result("grammar", BENCHMARKS, "benchmarks.cost.grammar --repeats 6 -o benchmarks/cost/grammar.json", 3, ("en_ewt-dev.conllu.gz",)),
    Result("probe", BENCHMARKS, "benchmarks.cost.probe -o benchmarks/cost/probe.json", 2),
    Result("space", BENCHMARKS, "benchmarks.cost.space --model e5-small -o benchmarks/cost/space.json", 2),
    Result("causes", BENCHMARKS, "benchmarks.cost.causes --repeats 1 -o benchmarks/cost/causes.json", 12),
    Result("peers_causes", BENCHMARKS, "benchmarks.peers.causes -o benchmarks/peers/causes.json", 5),
    Result("start", BENCHMARKS, "benchmarks.cost.start -o benchmarks/cost/start.json", 1),
    Result("engines", "docs/how-to/scale.md", "benchmarks.cost.engines -o benchmarks/cost/engines.json", 5),
    Result("switched_off", BENCHMARKS, "benchmarks.cost.switched_off -o benchmarks/cost/switched_off.json", 2, needs="browser"),
    Result("app", BENCHMARKS, "benchmarks.pages.app -o benchmarks/pages/app.json", 4, needs="browser"),
    Result("two_apps", BENCHMARKS, "benchmarks.pages.app --apps 2 -o benchmarks/pages/two_apps.json", 2, needs="nginx"),
    Result("clicks", BENCHMARKS, "benchmarks.pages.clicks -o benchmarks/pages/clicks.json", 3, needs="browser"),
    Result("opening", BENCHMARKS, "benchmarks.pages.opening -o benchmarks/pages/opening.json", 2, needs="browser"),
    Result("gallery", BENCHMARKS, "benchmarks.pages.gallery -o benchmarks/pages/gallery.json", 2, needs="browser"),
    Result("space_view", BENCHMARKS, "benchmarks.pages.space_view -o benchmarks/pages/space_view.json", 3, needs="browser"),
    Result("views", BENCHMARKS, "benchmarks.pages.views {bertviz} -o benchmarks/pages/views.json", 12, needs="bertviz"),
    Result("gpu", RESULTS, "benchmarks.cost.gpu -o benchmarks/cost/gpu.json", 5, needs="gpu"),
    Result("gpu_section", RESULTS, "benchmarks.cost.gpu --write benchmarks/cost/gpu.json", 0.1),
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
    return [sys.executable, "-m", *shlex.split(result.command.format(data=DATA, out=OUT, bertviz=bertviz))]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="of results; all without them")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--at-most", type=float, metavar="MINUTES")
    parser.add_argument("--bertviz", help="the python of an environment with bertviz 1.4.1")
    parser.add_argument("--libraries", help="a folder with jquery, d3 and requirejs from npm")
    given = parser.parse_args(arguments)
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
        written_tables.write()
    if failed:
        print(f"Failed, so that the old numbers stand: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
