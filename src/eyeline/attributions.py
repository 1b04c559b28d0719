"""Beside attention: the quantities by name, how faithful each is, the scores of decoders' heads, and paths between two heads."""

from eyeline.measure.causes.circuit import contrast, patch_path
from eyeline.measure.causes.faithfulness import Faithfulness
from eyeline.measure.causes.quantities import METHODS
from eyeline.measure.corpus.head_scores import head_scores

__all__ = ["METHODS", "Faithfulness", "contrast", "head_scores", "patch_path"]
