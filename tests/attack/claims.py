"""Folders of models whose config.json claims what is not so: sizes that no weights have, code and models that lie elsewhere."""

from __future__ import annotations

import json
import shutil
import socket
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import eyeline as el
from tests.attack.family import Family
from tests.models.families import BY_NAME, tiny_tokenizer

FAMILIES = ("bert", "llama", "t5", "gpt2", "vit", "albert", "bart")
SIZES = (-1, 0, 10**9, 2**62)
#: Seconds within which a folder of a few kilobytes is opened or refused, on a busy machine too.
MOST_SECONDS = 30
#: What config.json may name, at any depth, so that transformers would fetch code or weights from elsewhere.
ELSEWHERE: tuple[dict[str, Any], ...] = (
    *({f"{name}": value} for name in ("_attn_implementation", "attn_implementation", "_attn_implementation_internal")
      for value in ("kernels-community/flash-attn2", "somebody/kernel@main:f", "paged|somebody/kernel", "flash_attention_2",
                    {"": "somebody/kernel", "text_config": "somebody/kernel"})),
    {"_experts_implementation": "somebody/kernel"},
    {"text_config": {"_attn_implementation": "somebody/kernel"}},
    {"auto_map": {"AutoConfig": "somebody/code--custom.Config", "AutoModel": "somebody/code--custom.Model"}},
    {"auto_map": {"AutoConfig": "custom.Config"}, "model_type": "custom"},
    {"model_type": "timm_wrapper", "architecture": "hf-hub:somebody/model"},
    {"model_type": "timm_backbone", "backbone": "hf_hub:somebody/model", "use_pretrained_backbone": True},
    {"_name_or_path": "somebody/model", "name_or_path": "somebody/model", "_commit_hash": "0" * 40},
    {"transformers_weights": "../../outside.safetensors"},
    {"tokenizer_class": "somebody/code--Tokenizer"},
    {"quantization_config": {"quant_method": "mxfp4"}},
    {"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}},
    {"custom_pipelines": {"x": {"impl": "custom.Pipeline", "pt": ["AutoModel"]}}, "use_kernels": True},
    {"encoder": {"_name_or_path": "somebody/model", "model_type": "bert"}, "decoder": {"_name_or_path": "somebody/model"}},
)  # fmt: skip


def attack_claims(folder: Path) -> list[Family]:
    """Sizes and names in config.json; weights that are packed."""
    return [attack_sizes(folder / "sizes"), attack_elsewhere(folder / "elsewhere"), attack_packed_weights(folder / "packed")]


def attack_sizes(folder: Path, families: tuple[str, ...] = FAMILIES) -> Family:
    """Every whole number of config.json replaced by others, one at a time."""
    family = Family("config.json with sizes that the weights do not have", f"our error, or a model, within {MOST_SECONDS} s")
    for name in families:
        model_folder = written(folder / name, name)
        config = json.loads((model_folder / "config.json").read_text())
        for entry in [entry for entry, value in config.items() if isinstance(value, int) and not isinstance(value, bool)]:
            for size in SIZES:
                family.check(f"{name}: {entry} = {size}", lambda f=model_folder, c={**config, entry: size}: opened(f, c))
    return family


def attack_elsewhere(folder: Path) -> Family:
    """Code, kernels, other models: none is fetched, and the code beside the weights does not run."""
    family = Family("config.json that names code and models elsewhere", "our error, or a model; nothing asked for, nothing run")
    model_folder = written(folder / "m", "bert")
    ran = folder / "ran"
    (model_folder / "custom.py").write_text(f"open({str(ran)!r}, 'w')\nclass Config: pass\nclass Model: pass\n")
    config = json.loads((model_folder / "config.json").read_text())
    for entries in ELSEWHERE:

        def attack(entries: dict[str, Any] = entries) -> str | None:
            with connections() as addresses:
                try:
                    opened(model_folder, {**config, **entries})
                finally:
                    problem = f"asked {addresses[0]}" if addresses else "the code beside the weights ran" if ran.exists() else None
            return problem

        family.check(json.dumps(entries)[:80], attack)
    return family


def attack_packed_weights(folder: Path) -> Family:
    """Weights of torch are archives, so that they can be bombs."""
    family = Family("weights that grow when they are read", "our error, before they have grown")
    model_folder = written(folder / "m", "bert")
    (model_folder / "model.safetensors").unlink()
    for name, mebibytes in (("data.pkl", 300), ("data/0", 300)):
        with (
            zipfile.ZipFile(model_folder / "pytorch_model.bin", "w", zipfile.ZIP_DEFLATED) as archive,
            archive.open(f"archive/{name}", "w") as entry,
        ):
            for _ in range(mebibytes):
                entry.write(bytes(1 << 20))
        family.check(name, lambda: "opened" if el.load(model_folder) else None)
    return family


def written(folder: Path, name: str) -> Path:
    """The folder of a tiny model of a family."""
    shutil.rmtree(folder, ignore_errors=True)
    BY_NAME[name].model().save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


def opened(folder: Path, config: dict[str, Any]) -> str | None:
    """Open the folder with this configuration, in time."""
    (folder / "config.json").write_text(json.dumps(config))
    started = time.monotonic()
    try:
        el.load(folder)
    finally:
        seconds = time.monotonic() - started
    return f"took {seconds:.0f} s" if seconds > MOST_SECONDS else None


@contextmanager
def connections() -> Iterator[list[str]]:
    """The addresses that are asked for meanwhile; nothing is sent."""
    addresses: list[str] = []

    def refuse(_: object, address: Any) -> None:
        addresses.append(str(address))
        raise OSError("no network in this attack")

    kept, socket.socket.connect = socket.socket.connect, refuse  # type: ignore[method-assign]
    try:
        yield addresses
    finally:
        socket.socket.connect = kept  # type: ignore[method-assign]
