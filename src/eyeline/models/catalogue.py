"""The available models, without opening them: embedded ones and those in the hub cache."""

from __future__ import annotations

import importlib
import json
from dataclasses import dataclass
from pathlib import Path

from eyeline.look.embedded import EMBEDDED

INTERFACE = "ALL_ATTENTION_FUNCTIONS"


@dataclass(frozen=True)
class Entry:
    """One line of the catalogue."""

    name: str
    about: str
    licence: str
    gives: str
    where: str


def embedded_models() -> list[Entry]:
    """The embedded models, installed or not."""
    return [
        Entry(m.name, m.about, m.licence, "weights, queries, keys, values", "installed" if m.find() else f"eyeline models get {m.name}")
        for m in EMBEDDED
    ]


def cached_models() -> list[Entry]:
    """Models in the hub cache that have a transformers configuration."""
    from huggingface_hub import scan_cache_dir
    from huggingface_hub.errors import CacheNotFound

    try:
        repos = scan_cache_dir().repos
    except CacheNotFound:
        return []
    entries = []
    for repo in sorted(repos, key=lambda repo: repo.repo_id):
        config = next((f.file_path for r in repo.revisions for f in r.files if f.file_name == "config.json"), None)
        if repo.repo_type == "model" and config is not None:
            entries.append(Entry(repo.repo_id, *_read(config), f"hub cache, {repo.size_on_disk / 1e6:.0f} MB"))
    return entries


def _read(config_file: Path) -> tuple[str, str, str]:
    """What a configuration says about its model, the licence (empty: a configuration does not name it), and what the model gives."""
    try:
        config = json.loads(Path(config_file).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return "its config.json is damaged", "", "nothing"
    model_type = str(config.get("model_type", "unknown"))
    layers = config.get("num_hidden_layers", config.get("n_layer", config.get("num_layers", "?")))
    heads = config.get("num_attention_heads", config.get("n_head", config.get("num_heads", "?")))
    return f"{model_type}, {layers} x {heads}", "", what_it_gives(model_type)


def what_it_gives(model_type: str) -> str:
    """Whether a family's code takes its attention from the interface (then it gives everything) or not (then only weights)."""
    try:
        code = importlib.import_module(f"transformers.models.{model_type.replace('-', '_')}.modeling_{model_type.replace('-', '_')}")
    except ImportError:
        return "unknown: eyeline models show"
    return "weights, queries, keys, values" if hasattr(code, INTERFACE) else "weights only"
