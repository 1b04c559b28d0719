"""See what a Transformer looks at.

    import sightline as sl
    model = sl.load()
    trace = model.trace("The cat sat on the mat.")

The names below are imported when they are first used, so that `import sightline` itself stays quick and needs no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from sightline.analyses.average_attention import AverageAttention
    from sightline.analyses.entropy import Entropy
    from sightline.analyses.head_distances import HeadDistances
    from sightline.analyses.importance import Importance
    from sightline.analyses.run import analyse
    from sightline.capture.cache import TraceCache
    from sightline.capture.layer import LayerAttention
    from sightline.capture.load import load, wrap
    from sightline.capture.model import Model
    from sightline.capture.storage import open_trace
    from sightline.capture.trace import Stack, Trace
    from sightline.errors import SightlineError
    from sightline.results.run import Run, open_run
    from sightline.text.corpora import Corpus, read_corpus
    from sightline.text.tokenized import TokenizedText

#: Public name → the module that defines it.
_HOME = {
    "AverageAttention": "sightline.analyses.average_attention",
    "Corpus": "sightline.text.corpora",
    "Entropy": "sightline.analyses.entropy",
    "HeadDistances": "sightline.analyses.head_distances",
    "Importance": "sightline.analyses.importance",
    "LayerAttention": "sightline.capture.layer",
    "Model": "sightline.capture.model",
    "Run": "sightline.results.run",
    "SightlineError": "sightline.errors",
    "Stack": "sightline.capture.trace",
    "TokenizedText": "sightline.text.tokenized",
    "Trace": "sightline.capture.trace",
    "TraceCache": "sightline.capture.cache",
    "analyse": "sightline.analyses.run",
    "load": "sightline.capture.load",
    "open_run": "sightline.results.run",
    "open_trace": "sightline.capture.storage",
    "read_corpus": "sightline.text.corpora",
    "wrap": "sightline.capture.load",
}

__all__ = [
    "AverageAttention",
    "Corpus",
    "Entropy",
    "HeadDistances",
    "Importance",
    "LayerAttention",
    "Model",
    "Run",
    "SightlineError",
    "Stack",
    "TokenizedText",
    "Trace",
    "TraceCache",
    "__version__",
    "analyse",
    "load",
    "open_run",
    "open_trace",
    "read_corpus",
    "wrap",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'sightline' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
