"""See what a Transformer looks at.

    import sightline as sl
    model = sl.load()
    trace = model.trace("The cat sat on the mat.")

The names below are imported when they are first used, so that `import sightline` itself stays quick and needs no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from sightline.version import __version__

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
    from sightline.plots.attention_graph import attention_graph
    from sightline.results.run import Run, open_run
    from sightline.text.corpora import Corpus, read_corpus
    from sightline.text.tokenized import TokenizedText
    from sightline.views import View, head_view, model_view, neuron_view, space_view

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
    "View": "sightline.views",
    "analyse": "sightline.analyses.run",
    "attention_graph": "sightline.plots.attention_graph",
    "head_view": "sightline.views",
    "load": "sightline.capture.load",
    "model_view": "sightline.views",
    "neuron_view": "sightline.views",
    "open_run": "sightline.results.run",
    "open_trace": "sightline.capture.storage",
    "read_corpus": "sightline.text.corpora",
    "space_view": "sightline.views",
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
    "View",
    "__version__",
    "analyse",
    "attention_graph",
    "head_view",
    "load",
    "model_view",
    "neuron_view",
    "open_run",
    "open_trace",
    "read_corpus",
    "space_view",
    "wrap",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'sightline' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
