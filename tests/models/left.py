"""What a model is apart from its weights: everything that opening it or looking into it must leave as it was."""

from __future__ import annotations

from typing import Any

import torch
from transformers import PretrainedConfig, PreTrainedModel

PLAIN = (bool, int, float, str, bytes, type(None), torch.dtype)
SWITCHED = ("_attn_implementation_internal", "_attn_implementation_autoset")


def facts(hf: PreTrainedModel) -> dict[str, dict[str, Any]]:
    """Of every module by name: its class, its plain attributes, its mode, the number of its hooks, the names of its buffers; and its
    configuration without the attention implementation."""
    return {
        name: {
            "class": type(module).__name__,
            "attributes": {key: value for key, value in vars(module).items() if is_plain(value)},
            "hooks": (len(module._forward_hooks), len(module._forward_pre_hooks)),
            "buffers": sorted(module._buffers),
            "configs": {key: _settings(value) for key, value in vars(module).items() if isinstance(value, PretrainedConfig)},
        }
        for name, module in hf.named_modules()
    }


def is_plain(value: Any) -> bool:
    if isinstance(value, (tuple, list, set, frozenset)):
        return all(map(is_plain, value))
    return isinstance(value, PLAIN)


def _settings(config: PretrainedConfig) -> dict[str, Any]:
    return {
        key: _settings(value) if isinstance(value, PretrainedConfig) else value
        for key, value in vars(config).items()
        if key not in SWITCHED and (is_plain(value) or isinstance(value, PretrainedConfig))
    }


def differences(before: dict[str, dict[str, Any]], after: dict[str, dict[str, Any]]) -> list[str]:
    """What has changed, in words."""
    names = before.keys() ^ after.keys()
    changed = [f"{name}: {before[name]} -> {after[name]}" for name in before.keys() & after.keys() if before[name] != after[name]]
    return [*(f"{name} is new or gone" for name in sorted(names)), *changed]
