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
    from sightline.analyses.compare import compare
    from sightline.analyses.coreference import coreference
    from sightline.analyses.entropy import Entropy
    from sightline.analyses.head_distances import HeadDistances
    from sightline.analyses.importance import Importance
    from sightline.analyses.merge import merge_runs
    from sightline.analyses.probes.run import probe
    from sightline.analyses.run import analyse
    from sightline.analyses.space import joint_space
    from sightline.analyses.syntax import syntax
    from sightline.capture.cache import TraceCache
    from sightline.capture.layer import LayerAttention
    from sightline.capture.load import load, wrap
    from sightline.capture.model import Model
    from sightline.capture.storage import open_trace
    from sightline.capture.trace import Stack, Trace
    from sightline.errors import SightlineError
    from sightline.plots.attention_graph import attention_graph
    from sightline.results.run import Run, open_run
    from sightline.results.space import Space
    from sightline.results.space_storage import open_space
    from sightline.sample.treebank import sample_treebank
    from sightline.text.coreference import MarkedCorpus, read_coreference
    from sightline.text.corpora import Corpus, read_corpus
    from sightline.text.mention import MarkedDocument, Mention
    from sightline.text.tokenized import TokenizedText
    from sightline.text.treebank import Sentence, Treebank, read_treebank
    from sightline.views import View, head_view, model_view, neuron_view, space_view

#: Public name → the module that defines it.
_HOME = {
    "AverageAttention": "sightline.analyses.average_attention",
    "Corpus": "sightline.text.corpora",
    "Entropy": "sightline.analyses.entropy",
    "HeadDistances": "sightline.analyses.head_distances",
    "Importance": "sightline.analyses.importance",
    "LayerAttention": "sightline.capture.layer",
    "MarkedCorpus": "sightline.text.coreference",
    "MarkedDocument": "sightline.text.mention",
    "Mention": "sightline.text.mention",
    "Model": "sightline.capture.model",
    "Run": "sightline.results.run",
    "Sentence": "sightline.text.treebank",
    "SightlineError": "sightline.errors",
    "Space": "sightline.results.space",
    "Stack": "sightline.capture.trace",
    "TokenizedText": "sightline.text.tokenized",
    "Trace": "sightline.capture.trace",
    "TraceCache": "sightline.capture.cache",
    "Treebank": "sightline.text.treebank",
    "View": "sightline.views",
    "analyse": "sightline.analyses.run",
    "attention_graph": "sightline.plots.attention_graph",
    "coreference": "sightline.analyses.coreference",
    "compare": "sightline.analyses.compare",
    "head_view": "sightline.views",
    "joint_space": "sightline.analyses.space",
    "load": "sightline.capture.load",
    "merge_runs": "sightline.analyses.merge",
    "model_view": "sightline.views",
    "neuron_view": "sightline.views",
    "open_run": "sightline.results.run",
    "open_space": "sightline.results.space_storage",
    "open_trace": "sightline.capture.storage",
    "read_coreference": "sightline.text.coreference",
    "probe": "sightline.analyses.probes.run",
    "read_corpus": "sightline.text.corpora",
    "read_treebank": "sightline.text.treebank",
    "sample_treebank": "sightline.sample.treebank",
    "space_view": "sightline.views",
    "syntax": "sightline.analyses.syntax",
    "wrap": "sightline.capture.load",
}

__all__ = [
    "AverageAttention",
    "Corpus",
    "Entropy",
    "HeadDistances",
    "Importance",
    "LayerAttention",
    "MarkedCorpus",
    "MarkedDocument",
    "Mention",
    "Model",
    "Run",
    "Sentence",
    "SightlineError",
    "Space",
    "Stack",
    "TokenizedText",
    "Trace",
    "TraceCache",
    "Treebank",
    "View",
    "__version__",
    "analyse",
    "attention_graph",
    "compare",
    "coreference",
    "head_view",
    "joint_space",
    "load",
    "merge_runs",
    "model_view",
    "neuron_view",
    "open_run",
    "open_space",
    "open_trace",
    "probe",
    "read_coreference",
    "read_corpus",
    "read_treebank",
    "sample_treebank",
    "space_view",
    "syntax",
    "wrap",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'sightline' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
