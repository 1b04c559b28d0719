"""What eyeline changes in a user's model for a while, and how it is put back: training mode, parts, attributes, hooks, configurations."""

from __future__ import annotations

import copy
import functools
import inspect
import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import MethodType
from typing import Any

import torch
from torch import nn
from transformers import PretrainedConfig, PreTrainedModel
from transformers.utils import logging as transformers_logging

from eyeline.errors import ModelError

# ---- Training mode: one state for every module of this process, whoever wrapped it and in which model


@dataclass(eq=False)
class _Pass:
    """A pass that is running: in which thread, through which modules, whether no other may run through them, whether it was disturbed."""

    thread: int
    modules: dict[int, nn.Module]
    alone: bool
    disturbed: bool = False

    def shares(self, other: _Pass) -> bool:
        return not self.modules.keys().isdisjoint(other.modules)


_turn = threading.Condition()

_running: list[_Pass] = []

#: Modules that were in training mode when the first pass through them began, by id. The last one puts them back.
_training: dict[int, nn.Module] = {}

#: Modules that replace parts of themselves when they run (BigBird on short texts): their passes run alone, and are undone.
_replacing: weakref.WeakSet[nn.Module] = weakref.WeakSet()


@contextmanager
def evaluating(model: nn.Module, *, alone: bool = False) -> Iterator[None]:
    """Evaluation mode for a pass, so that no dropout is recorded. An error if somebody calls `train()` meanwhile.

    Any number of threads may run passes through the same modules, as one model or as parts of several: the first pass through a module
    switches it, the last restores it. Compiled code runs uncompiled meanwhile, since it does not call our attention function.

    alone   wait until no other pass runs through these modules, and let none begin
    """
    modules = {id(module): module for module in model.modules()}
    replaces_parts = bool(_replacing) and any(module in _replacing for module in modules.values())
    new_pass = _Pass(threading.get_ident(), modules, alone or replaces_parts)
    with _turn:
        _wait(new_pass)
        _switch(new_pass)
    try:
        with _uncompiled(new_pass):
            if replaces_parts:
                with restored(model):
                    yield
            else:
                yield
    finally:
        with _turn:
            disturbed = new_pass.disturbed or any(module.training for module in modules.values())
            _running.remove(new_pass)
            for key in modules.keys() & _training.keys():
                if not any(key in other.modules for other in _running):
                    _training.pop(key).training = True
            _turn.notify_all()
    if disturbed:
        raise ModelError(
            f"{type(model).__name__} was put into training mode during a pass.",
            "Dropout may have changed the attention, so nothing of this pass is kept. Call it again.",
        )


def _wait(new_pass: _Pass) -> None:
    """Wait until no pass of another thread excludes this one."""

    def excluded() -> bool:
        return any((new_pass.alone or other.alone) and other.thread != new_pass.thread and other.shares(new_pass) for other in _running)

    if new_pass.alone and any(other.thread == new_pass.thread and not other.alone and other.shares(new_pass) for other in _running):
        raise ModelError("A model cannot be opened while a pass of it is running in the same thread.", "Open it before or after that pass.")
    _turn.wait_for(lambda: not excluded())


def _switch(new_pass: _Pass) -> None:
    """Put the modules of a pass into evaluation mode. A pass that is already running through one in training mode was disturbed."""
    training = {key: module for key, module in new_pass.modules.items() if module.training}
    for other in _running:
        other.disturbed |= not training.keys().isdisjoint(other.modules)
    for module in training.values():
        module.training = False
    _training.update(training)
    _running.append(new_pass)


def mark_as_replacing(modules: Iterable[nn.Module]) -> None:
    """Remember modules that replace parts of themselves in a pass."""
    _replacing.update(modules)


_uncompiled_passes = 0

_stance: Any = None


@contextmanager
def _uncompiled(new_pass: _Pass) -> Iterator[None]:
    """A block in which what `compile()` was called on runs as it was written. How torch runs compiled code is one state of the process."""
    global _uncompiled_passes, _stance
    if not any(
        module._compiled_call_impl is not None or ("forward" in vars(module) and not is_placed(module))
        for module in new_pass.modules.values()
    ):
        yield
        return
    with _turn:
        if _uncompiled_passes == 0:
            _stance = torch.compiler.set_stance("force_eager")
        _uncompiled_passes += 1
    try:
        yield
    finally:
        with _turn:
            _uncompiled_passes -= 1
            if _uncompiled_passes == 0:
                _stance.__exit__(None, None, None)
                _stance = None


# ---- Modules whose `forward` accelerate has replaced, to bring what enters to the device of their weights (device_map)


def is_placed(module: nn.Module) -> bool:
    """Whether the `forward` of this module is accelerate's, which calls the module's own on the module's device."""
    forward = vars(module).get("forward")
    return isinstance(forward, functools.partial) and forward.func.__module__ == "accelerate.hooks" and "_old_forward" in vars(module)


def rebind_placed(copied: nn.Module) -> None:
    """Let a copy of such a module run its own parts, not those of the module it was copied from."""
    forward, own = vars(copied)["forward"], vars(copied)["_old_forward"]
    vars(copied)["_old_forward"] = MethodType(own.__func__, copied) if isinstance(own, MethodType) else own
    vars(copied)["forward"] = functools.partial(forward.func, copied)


# ---- A model that is left as it was


#: What a pass may change within a module, beside its attributes: transformers adds hooks, some families replace buffers or whole parts.
CHANGED_BY_A_PASS = ("_modules", "_parameters", "_buffers", "_forward_hooks", "_forward_pre_hooks")


@contextmanager
def restored(model: nn.Module) -> Iterator[None]:
    """After this block, however it ends, every module is as it was: its parts, attributes, buffers, hooks and configuration."""
    configs = [(config, dict(vars(config))) for config in configs_of(model)]
    modules = [(module, dict(vars(module)), [dict(vars(module)[name]) for name in CHANGED_BY_A_PASS]) for module in model.modules()]
    try:
        yield
    finally:
        for config, values in configs:
            _put_back(vars(config), values)
        for module, attributes, contents in modules:
            _put_back(vars(module), attributes)
            for name, saved in zip(CHANGED_BY_A_PASS, contents, strict=True):
                _put_back(attributes[name], saved)


def _put_back(now: dict[str, Any], before: dict[str, Any]) -> None:
    """The same dictionary with its earlier content; untouched where nothing has changed, since another thread may be reading it."""
    if now.keys() != before.keys() or any(now[key] is not value for key, value in before.items()):
        now.clear()
        now.update(before)


def configs_of(model: nn.Module) -> list[PretrainedConfig]:
    """Every configuration of a model and of its parts, each once."""
    configs: dict[int, PretrainedConfig] = {}
    queue: list[Any] = [value for module in model.modules() for value in vars(module).values()]
    while queue:
        config = queue.pop()
        if isinstance(config, PretrainedConfig) and id(config) not in configs:
            configs[id(config)] = config
            queue += [getattr(config, name, None) for name in config.sub_configs]
    return list(configs.values())


# ---- The attention implementation of one model. It is written in a configuration, which other models may have been built from


#: Module → the configurations that were copied for it.
_own_configs: weakref.WeakKeyDictionary[nn.Module, tuple[PretrainedConfig, ...]] = weakref.WeakKeyDictionary()


def give_own_configs(model: nn.Module) -> None:
    """Give the modules of this model a copy of their configuration, so that a switch does not reach others that were built from it.

    Modules that shared one still share its copy: what is changed through `hf.config` reaches them all. Copies are made once.
    """
    held = {
        module: {key: value for key, value in vars(module).items() if isinstance(value, PretrainedConfig)} for module in model.modules()
    }
    copies: dict[int, Any] = {}  # of a configuration that is its modules' own, the same one
    for module, configs in held.items():
        copies |= {id(own): own for own in _own_configs.get(module, ()) if any(own is config for config in configs.values())}
    for module, configs in held.items():
        own = {key: copy.deepcopy(config, copies) for key, config in configs.items()}
        vars(module).update(own)
        if own:
            _own_configs[module] = tuple(own.values())


def use_implementation(model: PreTrainedModel, name: str, *, force: bool = False) -> None:
    """Let a model compute its attention by this function, in configurations of its own.

    force   also where transformers does not recognise in the code that it takes its function from the interface: such code may read the
            name all the same
    """
    give_own_configs(model)
    if force:
        for config in configs_of(model):
            config._attn_implementation_internal = name
    else:
        with quiet_transformers():  # it warns where a part does not take its function from the interface: we find that out ourselves
            model.set_attn_implementation(name)


@contextmanager
def borrowed_implementation(model: PreTrainedModel, name: str, *, force: bool = False) -> Iterator[None]:
    """For this block, let a model compute its attention by this function; then give it back its own, in its own configurations.

    What is changed in a configuration meanwhile stays changed."""
    held = [
        (module, key, config) for module in model.modules() for key, config in vars(module).items() if isinstance(config, PretrainedConfig)
    ]
    before = [(config, config._attn_implementation_internal) for config in configs_of(model)]
    use_implementation(model, name, force=force)
    copies = {id(vars(module)[key]): (vars(module)[key], dict(vars(vars(module)[key])), config) for module, key, config in held}
    try:
        yield
    finally:
        for copied, values, config in copies.values():
            if copied is not config:
                vars(config).update({key: value for key, value in vars(copied).items() if values.get(key, vars) is not value})
        for module, key, config in held:
            if id(vars(module).get(key)) in copies:
                vars(module)[key] = config
        for config, implementation in before:
            config._attn_implementation_internal = implementation


def can_set(model: PreTrainedModel) -> bool:
    """Whether transformers recognises in the model's code that it takes its attention function from the attention interface."""
    return bool(model._can_set_attn_implementation())


# ---- What transformers prints


_quiet = threading.Lock()

_quiet_blocks = 0

_verbosity, _progress_bar = 0, False


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """A block in which transformers prints no warning and no progress bar. What it prints is one state of the process.

    The first of the blocks that run at once, in any threads, changes that state, and the last restores it.
    """
    global _quiet_blocks, _verbosity, _progress_bar
    with _quiet:
        if _quiet_blocks == 0:
            _verbosity, _progress_bar = transformers_logging.get_verbosity(), transformers_logging.is_progress_bar_enabled()
            transformers_logging.set_verbosity_error()
            transformers_logging.disable_progress_bar()
        _quiet_blocks += 1
    try:
        yield
    finally:
        with _quiet:
            _quiet_blocks -= 1
            if _quiet_blocks == 0:
                transformers_logging.set_verbosity(_verbosity)
                if _progress_bar:
                    transformers_logging.enable_progress_bar()


# ---- Arguments of a pass


def no_cache(model: PreTrainedModel) -> dict[str, int]:
    """The arguments of a pass that keeps no keys and values for later passes."""
    return {"use_cache": False} if hasattr(model.config, "use_cache") else {}


def lean_pass(model: PreTrainedModel) -> dict[str, int]:
    """The same for passes whose logits are not read: those of a long text would take gigabytes."""
    return no_cache(model) | ({"logits_to_keep": 1} if "logits_to_keep" in inspect.signature(model.forward).parameters else {})
