"""Quantities beside attention: their names, the scores of decoders' heads."""

from eyeline.analyses.causes.head_scores import head_scores
from eyeline.analyses.causes.quantities.methods import METHODS

__all__ = ["METHODS", "head_scores"]
