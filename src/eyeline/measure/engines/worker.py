"""A worker: what runs inside it, what it is sent when it starts, and an open model as bytes and arrays."""

from __future__ import annotations

import copy
import copyreg
import io
import pickle
import socket
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import transformers
from torch import nn

from eyeline.errors import EyelineError, ModelError
from eyeline.measure.engines.schedule import EventKind
from eyeline.measure.engines.work import Work
from eyeline.models.context import OWN_HOOKS, has_foreign_code
from eyeline.models.load import check_identity, open_again, torch_device
from eyeline.models.model import Model, ModelSource
from eyeline.version import __version__


class Worker:
    """What runs inside a worker, the same for every engine: it checks the versions, opens the model, and computes shards.

    expected    the versions where the run was started
    assignment  the pickled work; it is read only where the versions agree
    threads     of torch
    packed      the model, where it is not opened by name
    """

    def __init__(self, expected: Mapping[str, str], assignment: bytes, threads: int, packed: PackedModel | None = None) -> None:
        for name, version in versions().items():
            if expected.get(name) != version:
                raise EyelineError(
                    f"The worker on {socket.gethostname()} has {name} {version}; the run was started with {expected.get(name)}.",
                    "Install the same version on every machine.",
                )
        torch.set_num_threads(threads)
        try:
            description = pickle.loads(assignment)  # noqa: S301 - written by the process that started this worker
        except (AttributeError, ImportError) as error:
            raise EyelineError(
                f"The worker on {socket.gethostname()} does not know the classes of this run ({error}).",
                "A statistic of your own must be in a module that every worker can import.",
            ) from error
        try:
            self._compute: Callable[[Any], Any] = description.open(packed)
        except EyelineError as error:
            raise EyelineError(f"The worker on {socket.gethostname()} cannot begin.", *str(error).splitlines()) from error

    def answer(self, shard: Any) -> tuple[EventKind, Any]:
        """Compute a shard; returns the kind and the value of an event."""
        try:
            return "done", self._compute(shard)
        except EyelineError as error:
            return "refused", error
        except Exception as error:  # noqa: BLE001 - a document that breaks the computation is found and named by the run
            return "broke", reason(error)


def begin(
    expected: Mapping[str, str], assignment: bytes, threads: int, packed: PackedModel | None = None
) -> tuple[Worker | None, tuple[EventKind, Any]]:
    """A worker, and the kind and the value of its first event."""
    try:
        return Worker(expected, assignment, threads, packed), ("ready", None)
    except EyelineError as error:
        return None, ("refused", error)
    except Exception as error:  # noqa: BLE001 - whatever it is, the run must report it
        return None, ("refused", EyelineError(f"The worker on {socket.gethostname()} cannot begin.", reason(error)))


def versions() -> dict[str, str]:
    """The versions that must be the same in every worker. torch without its build: those for CPUs and for GPUs work together."""
    return {"eyeline": __version__, "torch": torch.__version__.partition("+")[0], "transformers": transformers.__version__}


def reason(error: BaseException) -> str:
    """An error in one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:300]}" if text else type(error).__name__


# ---- What a worker is sent when it starts


NEEDS_MODEL = "Workers open this model by its name or path: each machine of the run needs it there."


@dataclass(frozen=True)
class Assignment:
    """The work of an analysis, and the model that it needs.

    source     how to open it by name; None: it comes packed
    identity   of the model where the run was started: a worker computes that of the model that it has, and both must be the same
    """

    work: Work[Any, Any]
    source: ModelSource | None
    identity: str

    def open(self, packed: PackedModel | None) -> Callable[[Any], Any]:
        """The function that computes a shard."""
        if packed is not None:
            model = unpack(packed)
            check_identity(model, self.identity)
            return self.work.open(model)
        if self.source is None:
            raise ModelError("A worker was sent no model.", "This is an error of eyeline.")
        try:
            model = open_again(self.source, self.identity)
        except ModelError as error:
            raise ModelError(*str(error).splitlines(), NEEDS_MODEL) from error
        return self.work.open(model)


def assignment_by_name(work: Work[Any, Any], model: Model) -> bytes:
    """For workers that open the model by its name; an error where it has none."""
    if model.source is None:
        raise ModelError(
            f"{model.name} is in memory only: no worker can open it.",
            "Save it (model.hf.save_pretrained(folder), model.tokenizer.save_pretrained(folder)) and give the folder in its place.",
        )
    return pickle.dumps(Assignment(work, model.source, model.identity()))


def assignment_packed(work: Work[Any, Any], model: Model) -> bytes:
    """For workers that are sent the model."""
    return pickle.dumps(Assignment(work, None, model.identity()))


# ---- Packed models


#: Attributes of a module by which transformers remembers that its hooks are installed.
HOOKED = ("_is_hooked", "_output_capturing_hooks_installed")

HOOKS = ("_forward_hooks", "_forward_pre_hooks")

HOOK_OPTIONS = {
    "_forward_hooks": ("_forward_hooks_with_kwargs", "_forward_hooks_always_called"),
    "_forward_pre_hooks": ("_forward_pre_hooks_with_kwargs",),
}


@dataclass(frozen=True)
class PackedModel:
    """An open model: the processes of one machine can share its arrays, and need none of its files.

    skeleton: the pickled parts of a model and its tokeniser, without the tensors; arrays: the bytes of each tensor
    """

    skeleton: bytes
    arrays: tuple[np.ndarray, ...]
    source: ModelSource | None

    @property
    def n_bytes(self) -> int:
        return len(self.skeleton) + sum(array.nbytes for array in self.arrays)


def pack(model: Model) -> PackedModel | None:
    """The model as it is now; None where it cannot be packed: it has hooks, code of its own, or quantised or sparse tensors."""
    if has_foreign_code(model._hf) or (model.source is not None and model.source.trust_remote_code):
        return None
    file = io.BytesIO()
    pickler = _ModelPickler(file, protocol=5)
    try:
        pickler.dump((model._hf, model._tokenizer, model.name, model.revision))
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
