"""What eyeline changes in a user's model for a while, and how it is put back: attention implementation, hooks, training mode."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from transformers import PretrainedConfig, PreTrainedModel

from eyeline.errors import ModelError

#: Where a configuration keeps the name of its attention function.
IMPLEMENTATION_KEYS = ("_attn_implementation_internal", "_attn_implementation_autoset")
#: What a first pass may change within a module, beside its attributes: transformers adds hooks, some families replace buffers.
CHANGED_BY_A_PASS = ("_forward_hooks", "_forward_pre_hooks", "_buffers")


@contextmanager
def restored_on_failure(model: PreTrainedModel) -> Iterator[None]:
    """If the block fails, the model is left exactly as it was: attention implementation, hooks, training mode."""
    configs = [(config, {key: vars(config)[key] for key in IMPLEMENTATION_KEYS if key in vars(config)}) for config in _configs(model)]
    modules = [(module, dict(vars(module)), [dict(vars(module)[name]) for name in CHANGED_BY_A_PASS]) for module in model.modules()]
    try:
        yield
    except BaseException:
        for config, implementation in configs:
            for key in IMPLEMENTATION_KEYS:
                vars(config).pop(key, None)
            vars(config).update(implementation)
        for module, attributes, contents in modules:
            vars(module).clear()
            vars(module).update(attributes)
            for name, saved in zip(CHANGED_BY_A_PASS, contents, strict=True):
                attributes[name].clear()
                attributes[name].update(saved)
        raise


def _configs(model: PreTrainedModel) -> list[PretrainedConfig]:
    """Every configuration of a model and of its parts, each once."""
    configs: dict[int, PretrainedConfig] = {}
    queue: list[Any] = [module.config for module in model.modules() if isinstance(getattr(module, "config", None), PretrainedConfig)]
    while queue:
        config = queue.pop()
        if isinstance(config, PretrainedConfig) and id(config) not in configs:
            configs[id(config)] = config
            queue += [getattr(config, name, None) for name in config.sub_configs]
    return list(configs.values())


class EvaluationMode:
    """Puts a model into evaluation mode for a pass, so that no dropout is recorded, and back when the last pass has ended.

    Several threads may run passes of one model: the first switches, the last restores. Compiled modules run uncompiled meanwhile, since
    a compiled graph does not call our attention function.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        self._model = model
        self._lock = threading.Lock()
        self._passes = 0
        self._training: list[torch.nn.Module] = []

    @contextmanager
    def for_a_pass(self) -> Iterator[None]:
        """Evaluation mode within this block; an error if somebody calls `train()` meanwhile."""
        with self._lock:
            modules = list(self._model.modules())  # listing them takes longer than the work on them, so it is done once
            training = [module for module in modules if module.training]
            for module in training:
                module.training = False
            self._training += training
            self._passes += 1
        try:
            with uncompiled(modules):
                yield
        finally:
            with self._lock:
                switched = any(module.training for module in modules)
                self._passes -= 1
                if self._passes == 0:
                    for module in self._training:
                        module.training = True
                    self._training = []
        if switched:
            raise ModelError(
                f"{type(self._model).__name__} was put into training mode during a pass.",
                "Dropout may have changed the attention, so nothing of this pass is kept. Call it again.",
            )


def uncompiled(modules: Iterable[torch.nn.Module]) -> Any:
    """A block in which modules that `compile()` was called on run as they were written."""
    if any(module._compiled_call_impl is not None for module in modules):
        return torch.compiler.set_stance("force_eager")
    return nullcontext()
