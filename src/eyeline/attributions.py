"""Quantities beside attention: their names, how faithful each is to a model's answers, the scores of decoders' heads."""

from eyeline.analyses.causes.faithfulness import Faithfulness
from eyeline.analyses.causes.head_scores import head_scores
from eyeline.analyses.causes.quantities.methods import METHODS

__all__ = ["METHODS", "Faithfulness", "head_scores"]
