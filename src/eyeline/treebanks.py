"""Sentences with dependencies: `eyeline.treebanks.read_treebank("en_ewt-ud-dev.conllu")`."""

from eyeline.sample.treebank import sample_treebank, write_sample
from eyeline.text.treebank.read import read_treebank
from eyeline.text.treebank.sentence import Sentence
from eyeline.text.treebank.treebank import Treebank

__all__ = ["Sentence", "Treebank", "read_treebank", "sample_treebank", "write_sample"]
