"""What a worker is sent when it starts: the work, and how it opens the model."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from eyeline.analyses.engines.packed_model import PackedModel, unpack
from eyeline.analyses.engines.work import Work
from eyeline.errors import ModelError
from eyeline.models.load import open_again
from eyeline.models.model import Model, ModelSource

NEEDS_MODEL = "Workers open this model by its name or path: each machine of the run needs it there."


@dataclass(frozen=True)
class Assignment:
    """The work of an analysis, and the model that it needs.

    source        how to open it by name; None: it comes packed
    fingerprint   of the model where the run was started
    """

    work: Work[Any, Any]
    source: ModelSource | None
    fingerprint: str

    def open(self, packed: PackedModel | None) -> Callable[[Any], Any]:
        """The function that folds a shard."""
        if packed is not None:
            return self.work.open(unpack(packed))
        if self.source is None:
            raise ModelError("A worker was sent no model.", "This is an error of eyeline.")
        try:
            model = open_again(self.source, self.fingerprint)
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
    return pickle.dumps(Assignment(work, model.source, str(model.fingerprint)))


def assignment_packed(work: Work[Any, Any]) -> bytes:
    """For workers that are sent the model."""
    return pickle.dumps(Assignment(work, None, ""))
