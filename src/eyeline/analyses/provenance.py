"""What a run was computed with: model, corpus, options and versions."""

from __future__ import annotations

import platform

import numpy as np
import torch
import transformers

from eyeline.models.model import Model
from eyeline.results.facts import CorpusFacts, ModelFacts, Options, RunFacts
from eyeline.text.corpora.corpus import Corpus
from eyeline.version import __version__


def provenance(model: Model, corpus: CorpusFacts, options: Options) -> RunFacts:
    """The facts that are known before a run starts; counts, notices and the rest are added with `dataclasses.replace`."""
    versions = {
        "eyeline": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "numpy": np.__version__,
    }
    return RunFacts(model_facts(model), corpus, options, versions=versions, notices=model.notices)


def model_facts(model: Model) -> ModelFacts:
    """What identifies a model in the facts of a run."""
    return ModelFacts(
        name=model.name,
        revision=model.revision,
        class_name=type(model.hf).__name__,
        dtype=str(model.hf.dtype).removeprefix("torch."),
        sha256=str(model.fingerprint),
        stacks={stack: tuple(sizes) for stack, sizes in model.gives.stacks.items()},
    )


def corpus_facts(corpus: Corpus) -> CorpusFacts:
    """What identifies a corpus in the facts of a run."""
    return CorpusFacts(corpus.name, corpus.sha256, documents=corpus.n_documents, unit=corpus.unit)
