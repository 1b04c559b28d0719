"""Sentences with dependencies: `eyeline.treebanks.read_treebank("en_ewt-ud-dev.conllu")`."""

from eyeline.text.corpora.sample_treebank import sample_treebank, write_sample
from eyeline.text.corpora.treebank import Sentence, Treebank, read_treebank

__all__ = ["Sentence", "Treebank", "read_treebank", "sample_treebank", "write_sample"]
