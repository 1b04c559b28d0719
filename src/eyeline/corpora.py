"""Texts to measure: `eyeline.corpora.read_corpus("corpus.txt")`."""

from eyeline.text.corpora.corpus import Corpus, Document
from eyeline.text.corpora.read import read_corpus
from eyeline.text.corpora.sample import sample_text, write_text

__all__ = ["Corpus", "Document", "read_corpus", "sample_text", "write_text"]
