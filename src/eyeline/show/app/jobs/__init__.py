"""Analyses that visitors start: they wait, run, stop, and are kept."""
