"""What `eyeline.analyse` can measure, and what a statistic of your own is built from: `eyeline.statistics.Entropy()`."""

from eyeline.analyses.corpus.batch import Batch
from eyeline.analyses.corpus.merge import merge_runs
from eyeline.analyses.corpus.rows import Rows
from eyeline.analyses.corpus.statistic import Statistic
from eyeline.analyses.corpus.statistics.average_attention import AverageAttention
from eyeline.analyses.corpus.statistics.entropy import Entropy
from eyeline.analyses.corpus.statistics.head_distances import HeadDistances
from eyeline.analyses.corpus.statistics.head_effects import HeadEffects
from eyeline.analyses.corpus.statistics.importance import Importance
from eyeline.analyses.corpus.statistics.pruning import Pruning
from eyeline.results.table import Table

__all__ = [
    "AverageAttention",
    "Batch",
    "Entropy",
    "HeadDistances",
    "HeadEffects",
    "Importance",
    "Pruning",
    "Rows",
    "Statistic",
    "Table",
    "merge_runs",
]
