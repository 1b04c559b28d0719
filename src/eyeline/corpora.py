"""Texts to measure: `eyeline.corpora.read_corpus("corpus.txt")`."""

from eyeline.sample.text import sample_text
from eyeline.text.corpora.corpus import Corpus, Document
from eyeline.text.corpora.read import read_corpus

__all__ = ["Corpus", "Document", "read_corpus", "sample_text"]
