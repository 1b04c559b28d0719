"""What `eyeline.analyse` can measure, and what a statistic of your own is built from: `eyeline.statistics.Entropy()`."""

from eyeline.measure.corpus.average_attention import AverageAttention
from eyeline.measure.corpus.distances import HeadDistances, js_between_heads
from eyeline.measure.corpus.effects import HeadEffects, Pruning
from eyeline.measure.corpus.entropy import Entropy
from eyeline.measure.corpus.head_scores import HeadScores
from eyeline.measure.corpus.importance import Importance
from eyeline.measure.corpus.max_logit import MaxLogit
from eyeline.measure.corpus.position_alone import PositionAlone
from eyeline.measure.corpus.run import merge_runs
from eyeline.measure.grammar.score import most_attended
from eyeline.measure.runs.table import Table
from eyeline.measure.statistics.rows import Rows
from eyeline.measure.statistics.statistic import Batch, Statistic

__all__ = [
    "AverageAttention",
    "Batch",
    "Entropy",
    "HeadDistances",
    "HeadEffects",
    "HeadScores",
    "Importance",
    "MaxLogit",
    "PositionAlone",
    "Pruning",
    "Rows",
    "Statistic",
    "Table",
    "js_between_heads",
    "merge_runs",
    "most_attended",
]
