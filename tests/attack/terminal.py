"""Names and values with escape sequences: none reaches the terminal raw."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from pathlib import Path

from eyeline.show.cli.main import main
from eyeline.text.corpora.sample_treebank import sample_conllu
from tests.attack.family import Family
from tests.laws.statistics import new_tiny_model

#: Colour, a new window title, a link, a bell, backspaces, a carriage return, C1 controls, text turned right to left.
SEQUENCES = ("\x1b[31m", "\x1b]0;owned\x07", "\x1b]8;;x\x07", "\x07", "\b\b\b", "\x9b31m", "\x85", "\u202e")
#: What must never be printed; a line end is ours.
CONTROLS = {chr(code) for code in (*range(32), 0x7F, *range(0x80, 0xA0))} - {"\n"} | {"\u202e"}


def attack_terminal(folder: Path) -> list[Family]:
    """Every command that prints a name: of a file, a folder, a model type, a relation, a token, a column."""
    family = Family("escape sequences in names and files", "output without control characters")
    model = new_tiny_model()
    (folder / "model").mkdir()
    model.hf.save_pretrained(folder / "model")
    assert model.tokenizer is not None
    model.tokenizer.save_pretrained(folder / "model")
    tree = sample_conllu(3, seed=0)
    for number, sequence in enumerate(SEQUENCES):
        path = folder / str(number)
        path.mkdir()
        good = path / "good.conllu"
        good.write_text(tree, encoding="utf-8")
        relation = path / "relation.conllu"
        relation.write_text(tree.replace("\tnsubj\t", f"\tns{sequence}ubj\t"), encoding="utf-8")
        broken = path / f"bro{sequence}ken.conllu"
        broken.write_text("1\ta\tb\n", encoding="utf-8")
        strange = path / f"mo{sequence}del"
        strange.mkdir()
        (strange / "config.json").write_text(json.dumps({"model_type": f"be{sequence}rt", "architectures": [sequence]}))
        known = str(folder / "model")
        for what, arguments in {
            "the name of a file that is not there": ["syntax", f"{path}/x{sequence}y.conllu", "--model", known, "-o", f"{path}/run"],
            "the name of a damaged file": ["syntax", str(broken), "--model", known, "-o", f"{path}/run1"],
            "the name of a relation": [
                "syntax",
                str(relation),
                "--model",
                known,
                "--min-count",
                "1",
                "--labels",
                "as-is",
                "-o",
                f"{path}/run2",
            ],
            "the name of a folder to write": ["syntax", str(good), "--model", known, "--min-count", "1", "-o", f"{path}/ru{sequence}n"],
            "the name of a model": ["trace", "the cat sat", "--model", f"no{sequence}model", "--no-cache"],
            "the type of a model": ["models", "show", str(strange)],
            "the text itself": ["trace", f"the {sequence} cat", "--model", known, "--no-cache"],
            "an option": ["view", "the cat", "--model", known, "--view", f"he{sequence}ad", "-o", f"{path}/x.html"],
        }.items():
            family.check(f"{what}, {sequence!r}", lambda arguments=arguments: raw_controls(arguments))
    return [family]


def raw_controls(arguments: list[str]) -> str | None:
    """The control characters that a command prints, or None."""
    out, before, folder = io.StringIO(), sys.argv, Path.cwd()
    sys.argv = ["eyeline", *arguments]
    os.environ.update(NO_COLOR="1", TERM="dumb")
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), contextlib.suppress(SystemExit):
            main()
    finally:
        sys.argv = before
        os.chdir(folder)
    printed = sorted(set(out.getvalue()) & CONTROLS)
    return f"printed {printed}" if printed else None
