"""See what a Transformer looks at.

    import eyeline as el
    model = el.load()
    trace = model.trace("The cat sat on the mat.")

The names below are imported when they are first used, so that `import eyeline` itself stays quick and needs no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from eyeline.version import __version__

if TYPE_CHECKING:
    from eyeline.analyses.compare.run import compare
    from eyeline.analyses.coreference.run import coreference
    from eyeline.analyses.corpus.merge import merge_runs
    from eyeline.analyses.corpus.run import analyse
    from eyeline.analyses.corpus.statistics.average_attention import AverageAttention
    from eyeline.analyses.corpus.statistics.entropy import Entropy
    from eyeline.analyses.corpus.statistics.head_distances import HeadDistances
    from eyeline.analyses.corpus.statistics.importance import Importance
    from eyeline.analyses.grammar.run import syntax
    from eyeline.analyses.probes.run import probe
    from eyeline.analyses.space.run import joint_space
    from eyeline.capture.layer import LayerAttention
    from eyeline.capture.trace import Stack, Trace
    from eyeline.capture.trace_file import open_trace
    from eyeline.errors import EyelineError
    from eyeline.hosts.report.write import write_report
    from eyeline.models.load import load
    from eyeline.models.model import Model
    from eyeline.models.trace_cache import TraceCache
    from eyeline.models.wrap import wrap
    from eyeline.plots.figures import figure
    from eyeline.plots.graph.attention_graph import attention_graph
    from eyeline.plots.pictures import save_figure
    from eyeline.results.run import Run, open_run
    from eyeline.results.space.file import open_space
    from eyeline.results.space.space import Space
    from eyeline.sample.treebank import sample_treebank
    from eyeline.text.coreference.mention import MarkedDocument, Mention
    from eyeline.text.coreference.read import MarkedCorpus, read_coreference
    from eyeline.text.corpora.corpus import Corpus
    from eyeline.text.corpora.read import read_corpus
    from eyeline.text.tokenized import TokenizedText
    from eyeline.text.treebank.read import read_treebank
    from eyeline.text.treebank.sentence import Sentence
    from eyeline.text.treebank.treebank import Treebank
    from eyeline.views import View, head_view, model_view, neuron_view, space_view

#: Public name → the module that defines it.
_HOME = {
    "AverageAttention": "eyeline.analyses.corpus.statistics.average_attention",
    "Corpus": "eyeline.text.corpora.corpus",
    "Entropy": "eyeline.analyses.corpus.statistics.entropy",
    "HeadDistances": "eyeline.analyses.corpus.statistics.head_distances",
    "Importance": "eyeline.analyses.corpus.statistics.importance",
    "LayerAttention": "eyeline.capture.layer",
    "MarkedCorpus": "eyeline.text.coreference.read",
    "MarkedDocument": "eyeline.text.coreference.mention",
    "Mention": "eyeline.text.coreference.mention",
    "Model": "eyeline.models.model",
    "Run": "eyeline.results.run",
    "Sentence": "eyeline.text.treebank.sentence",
    "EyelineError": "eyeline.errors",
    "Space": "eyeline.results.space.space",
    "Stack": "eyeline.capture.trace",
    "TokenizedText": "eyeline.text.tokenized",
    "Trace": "eyeline.capture.trace",
    "TraceCache": "eyeline.models.trace_cache",
    "Treebank": "eyeline.text.treebank.treebank",
    "View": "eyeline.views",
    "analyse": "eyeline.analyses.corpus.run",
    "attention_graph": "eyeline.plots.graph.attention_graph",
    "coreference": "eyeline.analyses.coreference.run",
    "compare": "eyeline.analyses.compare.run",
    "figure": "eyeline.plots.figures",
    "head_view": "eyeline.views",
    "joint_space": "eyeline.analyses.space.run",
    "load": "eyeline.models.load",
    "merge_runs": "eyeline.analyses.corpus.merge",
    "model_view": "eyeline.views",
    "neuron_view": "eyeline.views",
    "open_run": "eyeline.results.run",
    "open_space": "eyeline.results.space.file",
    "open_trace": "eyeline.capture.trace_file",
    "read_coreference": "eyeline.text.coreference.read",
    "probe": "eyeline.analyses.probes.run",
    "read_corpus": "eyeline.text.corpora.read",
    "read_treebank": "eyeline.text.treebank.read",
    "sample_treebank": "eyeline.sample.treebank",
    "save_figure": "eyeline.plots.pictures",
    "space_view": "eyeline.views",
    "syntax": "eyeline.analyses.grammar.run",
    "wrap": "eyeline.models.wrap",
    "write_report": "eyeline.hosts.report.write",
}

__all__ = [
    "AverageAttention",
    "Corpus",
    "Entropy",
    "EyelineError",
    "HeadDistances",
    "Importance",
    "LayerAttention",
    "MarkedCorpus",
    "MarkedDocument",
    "Mention",
    "Model",
    "Run",
    "Sentence",
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
    "figure",
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
    "save_figure",
    "space_view",
    "syntax",
    "wrap",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'eyeline' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
