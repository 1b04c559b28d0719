"""Figures of a run and the graph of a head, drawn and saved: `eyeline.figures.save_figure(run, "entropy", "entropy.png")`."""

from eyeline.plots.figures import figure
from eyeline.plots.graph.attention_graph import AttentionGraph, attention_graph
from eyeline.plots.pictures import save_figure

__all__ = ["AttentionGraph", "attention_graph", "figure", "save_figure"]
