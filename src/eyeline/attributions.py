"""Beside attention: the quantities by name, how faithful each is, the scores of decoders' heads, and paths between two heads."""

from eyeline.analyses.causes.circuits.contrast import contrast
from eyeline.analyses.causes.circuits.patching import patch_path
from eyeline.analyses.causes.faithfulness import Faithfulness
from eyeline.analyses.causes.head_scores import head_scores
from eyeline.analyses.causes.quantities.methods import METHODS

__all__ = ["METHODS", "Faithfulness", "contrast", "head_scores", "patch_path"]
