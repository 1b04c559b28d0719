"""An open model as bytes and arrays: the processes of one machine can share the arrays, and need none of its files."""

from __future__ import annotations

import copy
import copyreg
import io
import pickle
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from eyeline.models.fingerprint import OWN_HOOKS
from eyeline.models.load import torch_device
from eyeline.models.model import Model, ModelSource

#: Attributes of a module by which transformers remembers that its hooks are installed.
HOOKED = ("_is_hooked", "_output_capturing_hooks_installed")
HOOKS = ("_forward_hooks", "_forward_pre_hooks")
HOOK_OPTIONS = {
    "_forward_hooks": ("_forward_hooks_with_kwargs", "_forward_hooks_always_called"),
    "_forward_pre_hooks": ("_forward_pre_hooks_with_kwargs",),
}


@dataclass(frozen=True)
class PackedModel:
    """skeleton: the pickled parts of a model and its tokeniser, without the tensors; arrays: the bytes of each tensor."""

    skeleton: bytes
    arrays: tuple[np.ndarray, ...]
    source: ModelSource | None

    @property
    def n_bytes(self) -> int:
        return len(self.skeleton) + sum(array.nbytes for array in self.arrays)


def pack(model: Model) -> PackedModel | None:
    """The model as it is now; None where it cannot be packed: it has hooks, code of its own, or quantised or sparse tensors."""
    if model.fingerprint.has_hooks or (model.source is not None and model.source.trust_remote_code):
        return None
    file = io.BytesIO()
    pickler = _ModelPickler(file, protocol=5)
    try:
        pickler.dump((model.hf, model.tokenizer, model.name, model.revision))
    except (pickle.PicklingError, AttributeError, TypeError, RuntimeError):
        return None
    return PackedModel(file.getvalue(), tuple(pickler.arrays), model.source)


def unpack(packed: PackedModel) -> Model:
    """The model, on the device that it was opened for; on a processor its weights stay in the given arrays, and nothing may change them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the arrays cannot be written: torch warns
        hf, tokenizer, name, revision = _ModelUnpickler(io.BytesIO(packed.skeleton), packed.arrays).load()
        with torch.device("meta"):  # each process must build the class once, so that transformers knows what it can record
            type(hf)(copy.deepcopy(hf.config))
    device = torch_device("auto" if packed.source is None else packed.source.device)
    return Model(hf.to(device).eval(), tokenizer, name=name, revision=revision, source=packed.source)


class _ModelPickler(pickle.Pickler):
    """Pickles modules without the hooks that only observe, and tensors as indices of arrays."""

    def __init__(self, file: io.BytesIO, protocol: int) -> None:
        super().__init__(file, protocol)
        self.arrays: list[np.ndarray] = []
        self._known: dict[int, tuple[Any, ...]] = {}

    def persistent_id(self, obj: Any) -> tuple[Any, ...] | None:
        if not isinstance(obj, torch.Tensor):
            return None
        if id(obj) not in self._known:  # tied weights are one object, and stay one object when they are read
            if type(obj) not in (torch.Tensor, nn.Parameter) or obj.is_quantized or obj.layout != torch.strided:
                raise TypeError(f"a tensor of type {type(obj).__name__}")
            numbers = obj.detach().cpu().contiguous().reshape(-1)
            self._known[id(obj)] = (
                len(self.arrays),
                str(obj.dtype).removeprefix("torch."),
                tuple(obj.shape),
                isinstance(obj, nn.Parameter),
                obj.requires_grad,
            )
            self.arrays.append(numbers.view(torch.uint8).numpy())
        return self._known[id(obj)]

    def reducer_override(self, obj: Any) -> Any:
        if not isinstance(obj, nn.Module):
            return NotImplemented
        return copyreg.__newobj__, (type(obj),), _without_own_hooks(obj)  # type: ignore[attr-defined]


class _ModelUnpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, arrays: tuple[np.ndarray, ...]) -> None:
        super().__init__(file)
        self._arrays = arrays
        self._tensors: dict[int, torch.Tensor] = {}

    def persistent_load(self, pid: Any) -> torch.Tensor:
        index, dtype, shape, is_parameter, requires_grad = pid
        if index not in self._tensors:
            tensor = torch.from_numpy(self._arrays[index]).view(getattr(torch, dtype)).reshape(shape)
            self._tensors[index] = nn.Parameter(tensor, requires_grad) if is_parameter else tensor.requires_grad_(requires_grad)
        return self._tensors[index]


def _without_own_hooks(module: nn.Module) -> dict[str, Any]:
    """The state of a module; the hooks of transformers that only observe are left out, and installed again when they are needed."""
    state = {name: value for name, value in vars(module).items() if name not in HOOKED}
    for kind in HOOKS:
        own = {key for key, hook in state[kind].items() if getattr(hook, "__module__", "") in OWN_HOOKS}
        for name in (kind, *HOOK_OPTIONS[kind]):
            values = state.get(name)
            if own and values is not None:
                state[name] = type(values)((key, value) for key, value in values.items() if key not in own)
    return state
